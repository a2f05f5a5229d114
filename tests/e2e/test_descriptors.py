"""Out of descriptors: the program lives, does not spin, and serves again when some are free."""

import contextlib

import kit
import pytest
import sip004

FEW = 40


def overload(stage, port, wanted):
    """As many connections as can be had, each with something to say; what happens to them is open."""
    socks = []
    for _ in range(wanted):
        with contextlib.suppress(OSError):
            socks.append(stage.connect(port, timeout=0.3))
    return socks


def check_recovery(program, socks, works):
    program.idles()  # also while it has no descriptors
    assert program.alive()
    for sock in socks:
        sock.close()
    kit.eventually(works, "a new connection is served")
    program.rests()


def served(*programs):
    def works():
        try:
            return kit.works(*programs)
        except (OSError, EOFError):
            return False

    return works


def test_server_runs_out_while_connecting(stage):
    """Each request takes a second descriptor for its target (TC07)."""
    server = stage.server(nofile=FEW)
    target = stage.target()
    socks = overload(stage, server.port, 2 * FEW)
    for sock in socks:
        with contextlib.suppress(OSError):
            sock.sendall(
                sip004.request(kit.METHOD, kit.PASSWORD, target.host, target.port, b"q")[0]
            )
    check_recovery(server, socks, served(server))


@pytest.mark.parametrize("program", ["server", "local"])
def test_silent_connections_fill_it(stage, program):
    server = stage.server(nofile=FEW if program == "server" else None)
    local = stage.local(server, nofile=FEW if program == "local" else None)
    full = server if program == "server" else local
    check_recovery(full, overload(stage, full.port, 2 * FEW), served(server, local))


def test_local_runs_out_while_connecting(stage):
    server = stage.server()
    local = stage.local(server, nofile=FEW)
    target = stage.target()
    socks = overload(stage, local.port, 2 * FEW)
    for sock in socks:
        with contextlib.suppress(OSError):
            sock.sendall(
                b"\x05\x01\x00\x05\x01\x00" + sip004.header(target.host, target.port) + b"q"
            )
    check_recovery(local, socks, served(server, local))


@pytest.mark.ours
def test_the_unauthenticated_go_first(stage):
    """Silent connections make room for one that knows the key."""
    server = stage.server(nofile=FEW)
    overload(stage, server.port, 2 * FEW)
    kit.eventually(served(server), "an authentic request is served")
