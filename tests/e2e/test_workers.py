"""Several processes that serve: they share the load and what they must know, and one that dies is replaced."""
import contextlib
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import threading
import time

import kit
import pytest
import sip004
import sip022
import test_users
from datagrams import Client, UdpTarget, associate, seal, silent, udp
from kit import METHOD, PASSWORD, ending

pytestmark = pytest.mark.ours
TWO = {"workers": 2}
UDP = {"workers": 2, "mode": "tcp_and_udp"}


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers(program, n=2):
    """The processes that serve, when all do: their answers are in the line of state."""
    kit.eventually(lambda: len(children(program.pid)) == n, f"{n} workers")
    program.state()
    return children(program.pid)


def sockets(pid):
    """Descriptors of TCP connections."""
    n = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            n += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return n


def kill_one(program):
    """Kill a worker; its successor is there when this returns."""
    before = set(workers(program))
    victim = random.choice(sorted(before))
    os.kill(victim, signal.SIGKILL)
    kit.eventually(lambda: len(set(children(program.pid)) - {victim}) == 2, "it is replaced")
    return victim


# ---- load


def test_load_is_shared(stage):
    """Connections to both, within 20 %."""
    kit.raise_nofile()
    server = stage.server(**TWO)
    pair = workers(server)
    idle = [sockets(pid) for pid in pair]
    for _ in range(600):
        stage.connect(server.port)
    kit.eventually(lambda: sum(map(sockets, pair)) - sum(idle) == 600, "all are accepted")
    for pid, before in zip(pair, idle):
        assert 240 <= sockets(pid) - before <= 360
    assert server.state()["session"] == 600


def test_main_process_serves_nobody(stage):
    server, local = stage.pair(**TWO)
    target = stage.target()
    for program in (server, local):
        workers(program)  # it listens before it has them, and what it needs for them
    idle = {program: program.fds() for program in (server, local)}
    socks = [stage.socks(local, target) for _ in range(8)]
    for sock in socks:
        sock.sendall(b"ping")
        assert kit.read(sock, 4) == b"ping"
    for program in (server, local):
        assert program.fds() == idle[program]
        assert program.state()["session"] == 8
    for sock in socks:
        sock.close()
    kit.eventually(lambda: server.state()["session"] == local.state()["session"] == 0, "all are closed")


def test_auto(stage):
    processors = len(os.sched_getaffinity(0))
    server = stage.server(workers="auto", prefix=["taskset", "-c", str(min(os.sched_getaffinity(0)))])
    assert kit.works(server) and children(server.pid) == []
    if processors < 2:
        pytest.skip("SKIPPED: there is one processor only")
    server = stage.server(workers="auto")
    kit.eventually(lambda: 2 <= len(children(server.pid)) <= processors, "one for each processor")


def test_a_port_in_use_is_seen(stage):
    """Workers share it with each other, and not with another program of the same user."""
    first = stage.server(**TWO)
    config = {**first.config, "server_port": first.port}
    second = stage.program("server", config)
    assert second.wait() == 255
    assert "Address already in use" in second.log()
    third = stage.program("server", {**config, "workers": 1})
    assert third.wait() == 255


# ---- salts


def served_once(stage, server, target, request, copies, cut):
    """Send copies of a request, each on its own connection: what comes before the cut, then the rest of all at
    once; how many were answered.
    """
    socks = [stage.connect(server.port) for _ in range(copies)]
    for sock in socks:
        sock.sendall(request[:cut])
    start = threading.Barrier(copies)

    def send(sock):
        start.wait()
        sock.sendall(request[cut:])

    threads = [threading.Thread(target=send, args=(sock,)) for sock in socks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert select.select(socks, [], [], kit.PATIENCE)[0], "one is served"
    return sum(bool(ending(sock, 0.2)[0]) for sock in socks)


def test_replay_at_another_worker(stage):
    """CR08, CR10: later, and at once; twelve copies come to both workers but once in 2000 runs."""
    server = stage.server(**TWO)
    for _ in range(3):
        target = stage.target()
        request, _ = sip004.request(METHOD, PASSWORD, target.host, target.port, b"once")
        assert served_once(stage, server, target, request, 12, cut=40) == 1
        for _ in range(8):
            sock = stage.connect(server.port)
            sock.sendall(request)
            assert ending(sock, 0.1) == (b"", "open")
        assert len(target.conns) == 1


def test_replay_of_2022_at_another_worker(stage):
    method, key = "2022-blake3-aes-256-gcm", bytes(range(32))
    server = stage.server(method=method, password=test_users.base64.b64encode(key).decode(), **TWO)
    target = stage.target()
    text = sip022.variable(sip004.header(target.host, target.port), b"once")
    request, _ = sip022.request(method, [key], text)
    assert served_once(stage, server, target, request, 12, cut=0) == 1  # in pieces it would not be served at all
    assert len(target.conns) == 1


# ---- death


def test_killed_under_traffic(stage):
    """Others go on; new connections are served at once; salts are known still."""
    server = stage.server(**TWO)
    target = stage.target()
    old, _ = sip004.request(METHOD, PASSWORD, target.host, target.port, b"old")
    sock = stage.connect(server.port)
    sock.sendall(old)
    assert sip004.Peer(sock, METHOD, PASSWORD).read(3) == b"old"
    peers = [stage.peer(server, target.host, target.port, b"hello") for _ in range(16)]
    for peer in peers:
        assert peer.read(5) == b"hello"
    kill_one(server)
    alive = 0
    for peer in peers:
        with contextlib.suppress(OSError, EOFError):
            peer.send(b"again")
            alive += peer.read(5) == b"again"
    assert 0 < alive < 16
    for _ in range(8):
        assert kit.works(server)
        sock = stage.connect(server.port)
        sock.sendall(old)
        assert ending(sock, 0.1)[0] == b""
    assert "was killed by signal 9: replaced" in server.log()


def test_whoever_waits_is_served_by_the_successor(stage):
    """A worker stands still, connections wait at its listener, it is killed: nobody who waited is lost."""
    server = stage.server(**TWO)
    target = stage.target()
    victim = workers(server)[0]
    os.kill(victim, signal.SIGSTOP)
    peers = [stage.peer(server, target.host, target.port, b"hello") for _ in range(12)]
    os.kill(victim, signal.SIGKILL)
    for peer in peers:
        assert peer.read(5) == b"hello"


def test_killed_again_and_again(stage):
    """In the middle of handshakes, which take the lock that all share."""
    server = stage.server(**TWO)
    target = stage.target()
    stop, served, wrong = threading.Event(), [0], []

    def ask():
        while not stop.is_set():
            with contextlib.suppress(OSError, EOFError, sip004.Forged):
                with kit.connect(server.port, timeout=5) as sock:
                    peer = sip004.Peer(sock, METHOD, PASSWORD).open(target.host, target.port, b"ping")
                    if peer.read(4) == b"ping":
                        served[0] += 1
                    else:
                        wrong.append(peer)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(7):
        before = served[0]
        kit.eventually(lambda: served[0] > before + 20, "some are served")
        kill_one(server)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    for _ in range(8):
        assert kit.works(server)
    kit.eventually(lambda: server.state()["session"] == 0, "nothing is left")


def test_main_process_killed(stage):
    """Nobody is left behind, and the port is free."""
    server = stage.program("server", {"server": "127.0.0.1", "server_port": (port := kit.free_port()),
                                      "password": PASSWORD, "method": METHOD, **TWO}, port=port)
    pair = workers(server)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    kit.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pair), "they end")
    assert not kit.listening(port)


# ---- signals


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_stop(stage, number):
    server, local = stage.pair(**UDP)
    target = stage.target(lambda conn: kit.send_bulk(conn, 1 << 40))
    for _ in range(8):
        sock = stage.socks(local, target)
        assert kit.read(sock, 1000)
    everybody = [pid for program in (server, local) for pid in workers(program)]
    for program in (server, local):
        clock = kit.Stopwatch()
        program.signal(getattr(signal, number))
        assert program.wait() == 0 and clock() < 1
    assert not any(os.path.exists(f"/proc/{pid}") for pid in everybody)


def test_stop_with_one_that_hangs(stage):
    server = stage.server(**TWO)
    os.kill(workers(server)[0], signal.SIGSTOP)
    clock = kit.Stopwatch()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0 and clock() < 2.5  # it is given one
    assert "did not end in time: killed" in server.log()


def test_daemon(stage, tmp_path):
    port, pid_file = kit.free_port(), tmp_path / "pid"
    argv = [*kit.command("server"), "-s", "127.0.0.1", "-p", str(port), "-k", PASSWORD, "-m", METHOD,
            "--workers", "2", "-f", str(pid_file)]
    done = subprocess.run(argv, capture_output=True, timeout=kit.PATIENCE)
    assert done.returncode == 0, done.stderr
    pid = int(pid_file.read_text())
    try:
        kit.eventually(lambda: len(children(pid)) == 2, "two workers")
        for worker in [pid, *children(pid)]:
            assert [os.readlink(f"/proc/{worker}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
        os.kill(children(pid)[0], signal.SIGTERM)
        kit.eventually(lambda: len(children(pid)) == 2, "replaced")
        assert pid_file.read_text().strip() == str(pid)
    finally:
        os.kill(pid, signal.SIGTERM)
    kit.eventually(lambda: not os.path.exists(f"/proc/{pid}"), "it ends")
    assert not pid_file.exists()


def test_reload_reaches_all(stage):
    """Also one that comes later."""
    server = test_users.serve(stage, 1, **TWO)
    target = stage.target()
    first = test_users.client(stage, server, f"{test_users.key(0)}:{test_users.key(1)}")
    second = test_users.client(stage, server, f"{test_users.key(0)}:{test_users.key(2)}")
    assert test_users.echoes(stage.socks(first, target))
    assert test_users.is_refused(stage, second, target)
    (server.home / "config.json").write_text(
        test_users.json.dumps({**server.config, "users": test_users.users(2)}))
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: server.log().count("reloaded: 1 users") == 3, lambda: server.log()[-2000:])
    for killed in (False, True):
        if killed:
            kill_one(server)
        for _ in range(8):
            assert test_users.echoes(stage.socks(second, target))
        socks = [stage.socks(first, target) for _ in range(8)]
        for sock in socks:
            sock.sendall(b"ping")
        for sock in socks:
            assert ending(sock, 0.1)[0] == b""


def test_a_bad_file_reaches_nobody(stage):
    server = test_users.serve(stage, 1, **TWO)
    test_users.reload(server, "{", "not reloaded")
    assert server.log().count("not reloaded") == 1
    local = test_users.client(stage, server, f"{test_users.key(0)}:{test_users.key(1)}")
    for _ in range(6):
        assert kit.works(server, local)


def test_users_are_counted_together(stage):
    """By all workers, also what one had counted that has died."""
    server = test_users.serve(stage, 1, 2, **TWO)
    target = stage.target()
    locals_ = [test_users.client(stage, server, f"{test_users.key(0)}:{test_users.key(n)}") for n in (1, 2)]

    def moved():
        for number, local in enumerate(locals_, start=1):
            for _ in range(8):
                sock = stage.socks(local, target)
                assert test_users.echoes(sock, b"x" * 100 * number)
                sock.close()

    def said(times):
        server.state()
        line = "user user{0}: {1} bytes up, {1} down"
        return all(line.format(n, 800 * n * times) in server.log() for n in (1, 2))

    moved()
    kit.eventually(lambda: said(1), lambda: server.log()[-1000:])
    kill_one(server)
    moved()
    kit.eventually(lambda: said(2), lambda: server.log()[-1000:])


# ---- UDP


def test_udp(stage):
    """Through ports that belong to different workers."""
    ports = [kit.free_port() for _ in range(3)]
    places = [{"server": "127.0.0.1", "server_port": port, "password": PASSWORD} for port in ports]
    stage.server(server_port=ports[0], servers=places, **UDP)
    echo = stage.add(UdpTarget())
    for port in ports:
        local = stage.local(port, **UDP)
        apps = [stage.add(Client(local.port)) for _ in range(6)]
        for app in apps:
            for _ in range(3):
                assert app.echoes(echo, b"x" * 700)
        assert local.state()["association"] == 6


def test_udp_replay(stage):
    server = stage.server(**UDP)
    echo = stage.add(UdpTarget())
    packet = seal(METHOD, PASSWORD, sip004.header(echo.host, echo.port) + b"once")
    for number in range(10):
        sock = stage.add(udp())
        sock.sendto(packet, ("127.0.0.1", server.port))
        if number == 0:
            assert echo.take()[0] == b"once"
            assert sock.recv(2000)
        else:
            silent(sock, 0.05)


def test_udp_after_a_death(stage):
    server, local = stage.pair(**UDP)
    echo = stage.add(UdpTarget())
    for _ in range(3):
        app = stage.add(Client(local.port))
        assert app.echoes(echo, b"before")
        for program in (server, local):
            kill_one(program)
        assert app.echoes(echo, b"after")


def test_udp_associate_at_any_worker(stage):
    """The connection goes to the worker that has the datagrams; associations end with the last of them."""
    _, local = stage.pair(**UDP)
    echo = stage.add(UdpTarget())
    controls = [associate(stage, local.port) for _ in range(12)]
    assert {where for _, where in controls} == {("127.0.0.1", local.port)}
    apps = [stage.add(Client(local.port)) for _ in range(3)]
    for app in apps:
        assert app.echoes(echo, b"x")
    assert local.state()["association"] == 3
    counts = sorted(sockets(pid) for pid in workers(local))
    assert counts[1] - counts[0] >= 12
    for sock, _ in controls[1:]:
        sock.close()
    kit.eventually(lambda: local.state()["session"] == 1, "one is left")
    assert local.state()["association"] == 3
    controls[0][0].close()
    kit.eventually(lambda: local.state()["association"] == 0, "they end with the last")
    assert local.state()["session"] == 0


def test_udp_is_for_those_who_logged_in(stage):
    login = {"user": "u", "password": "p"}
    _, local = stage.pair(socks_auth=[login], **UDP)
    echo = stage.add(UdpTarget())
    app = stage.add(Client(local.port))
    app.send((echo.host, echo.port), b"x")
    app.silent()
    for _ in range(6):
        sock, _ = associate(stage, local.port, login=("u", "p"))
        assert app.echoes(echo, b"x")
        sock.close()
        kit.eventually(lambda: local.state()["session"] == 0, "it is closed")


def test_udp_associate_ends_with_its_worker(stage):
    """Whoever holds the connection sees it end when the associations are gone."""
    _, local = stage.pair(**UDP)
    socks = [associate(stage, local.port)[0] for _ in range(4)]
    owner = max(workers(local), key=sockets)
    os.kill(owner, signal.SIGKILL)
    for sock in socks:
        assert ending(sock, kit.PATIENCE)[1] in ("fin", "rst")
    assert associate(stage, local.port)


def test_udp_associate_without_udp(stage):
    _, local = stage.pair(**TWO)
    for _ in range(6):
        sock = stage.connect(local.port)
        kit.greet(sock)
        assert kit.socks_request(sock, sip004.header("0.0.0.0", 0), cmd=3) == 7
