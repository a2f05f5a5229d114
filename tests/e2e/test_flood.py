"""Floods of bad input: few lines of log (SE07), little memory (SE09), little processor time."""

import os

import kit
import pytest
from kit import connect, reset

FLOOD = 3000


@pytest.mark.ours
def test_log_is_rationed(stage):
    """The first ten of an address are told in full, for tools that count them; of the others their
    number.
    """
    server = stage.server()
    for _ in range(FLOOD):
        sock = connect(server.port)
        sock.sendall(os.urandom(100))
        sock.shutdown(1)
        sock.recv(1)
        sock.close()
    server.rests()
    lines = server.log().splitlines()
    assert len(lines) < 300
    assert 10 <= sum("failed to handshake with 127.0.0.1: " in line for line in lines) <= 100


@pytest.mark.ours
def test_verbose_log_is_not_the_default(stage):
    server, local = stage.pair()
    target = stage.target()
    for _ in range(300):
        sock = kit.socks(local.port, target.host, target.port)
        sock.sendall(b"x")
        kit.read(sock, 1)
        sock.close()
    assert len(server.log().splitlines()) < 50 and len(local.log().splitlines()) < 50


@pytest.mark.parametrize(
    "data", [b"", b"x" * 20, b"x" * 200], ids=["silent", "less than a salt", "forged"]
)
def test_memory_of_strangers(stage, memory, data):
    """A connection without a key costs less than 4 KB, and nothing afterwards."""
    if not kit.is_ours("server"):
        pytest.skip("shadowsocks-libev takes 10 KB and more for each")
    server = stage.server()
    kit.raise_nofile()
    before = server.anon()
    socks = [connect(server.port) for _ in range(FLOOD)]
    for sock in socks:
        sock.sendall(data)
    kit.eventually(lambda: server.fds() >= server.idle_fds + FLOOD, "all are accepted")
    grown = server.anon() - before
    for sock in socks:
        reset(sock)
    assert grown < FLOOD * 4096, f"{grown // FLOOD} bytes for each"
    server.rests()


def test_megabytes_behind_a_forgery(stage, memory):
    """What a silenced peer sends is thrown away, not kept."""
    server = stage.server()
    before = server.anon()
    socks = [stage.connect(server.port) for _ in range(8)]
    for sock in socks:
        for _ in range(8):
            sock.sendall(os.urandom(kit.MIB))
    assert server.anon() - before < 2 * kit.MIB
