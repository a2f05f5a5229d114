"""Signals: two stop the program within a second, whatever it does; the others do not end it (DM07)."""

import signal
import threading
import time

import kit
import pytest
import sip004
from kit import MIB, send_bulk

HARMLESS = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGCHLD"]


@pytest.fixture(params=["idle", "busy"])
def pair(request, stage):
    """Both programs; busy: with ten streams through them that do not end."""
    server, local = stage.pair()
    if request.param == "busy":
        target = stage.target(lambda conn: send_bulk(conn, 1 << 40))
        for _ in range(10):
            sock = stage.socks(local, target)
            threading.Thread(target=read_on, args=(sock,), daemon=True).start()
        time.sleep(0.3)
    return server, local


def read_on(sock):
    try:
        while sock.recv(MIB):
            pass
    except OSError:
        pass


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_stop(pair, number):
    for program in pair:
        clock = kit.Stopwatch()
        program.signal(getattr(signal, number))
        assert program.wait() == 0
        assert clock() < 1


def test_stop_while_names_are_looked_up(stage):
    dns = stage.dns({"dead.test": "drop"})
    server = stage.server(nameserver=dns.address)
    peer = sip004.Peer(stage.connect(server.port), kit.METHOD, kit.PASSWORD)
    peer.send(sip004.name_header("dead.test", 80) + b"x")
    kit.eventually(lambda: dns.asked, "the name is looked up")
    clock = kit.Stopwatch()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0 and clock() < 1


@pytest.mark.ours
def test_stop_while_the_servers_name_is_looked_up(stage):
    """DN13: at the start, with dead name servers."""
    dns = stage.dns({"*": "drop"})
    config = {
        "server": "server.test",
        "server_port": 9,
        "local_port": kit.free_port(),
        "password": "x",
        "method": kit.METHOD,
        "nameserver": dns.address,
    }
    local = stage.program("local", config)
    kit.eventually(lambda: dns.asked, "the name is looked up")
    clock = kit.Stopwatch()
    local.signal(signal.SIGTERM)
    assert local.wait() == 0 and clock() < 1


@pytest.mark.ours
@pytest.mark.parametrize("number", HARMLESS)
def test_live_on(pair, number):
    server, local = pair
    for program in pair:
        for _ in range(3):
            program.signal(getattr(signal, number))
            time.sleep(0.02)
    assert kit.works(server, local)


@pytest.mark.ours
def test_line_of_state(stage):
    """SIGUSR1 counts what there is."""
    server, local = stage.pair()
    target = stage.target()
    socks = [stage.socks(local, target) for _ in range(5)]
    for sock in socks:
        sock.sendall(b"x")
        kit.read(sock, 1)
    for program in (server, local):
        state = program.state()
        assert (
            state["session"] == 5
            and state["association"] == 0
            and state["block"] == 0
            and state["look-up"] == 0
        )
        assert state["descriptor"] == program.fds()
        assert state["salt"] == 10
    for sock in socks:
        sock.close()
    server.rests()
    local.rests()


@pytest.mark.ours
def test_signals_stay_as_they_came(stage):
    """SIGHUP that the starter ignores (nohup) stays ignored or reloads; it does not end the program
    either way.
    """
    port = kit.free_port()
    config = {
        "server": "127.0.0.1",
        "server_port": port,
        "password": kit.PASSWORD,
        "method": kit.METHOD,
    }
    server = stage.serve("server", config, port=port, prefix=["nohup"])
    server.signal(signal.SIGHUP)
    time.sleep(0.05)
    assert kit.works(server)
