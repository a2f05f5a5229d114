"""SOCKS5 on the near side of local: what is offered, asked for and refused (RFC 1928, RFC 1929)."""

import socket

import kit
import pytest
import sip004
from kit import ending, read

ANY = b"\x01\x7f\x00\x00\x01\x00\x09"


@pytest.fixture
def local(stage):
    return stage.local(kit.free_port())


@pytest.mark.ours
@pytest.mark.parametrize(
    "greeting", [b"\x05\x01\x02", b"\x05\x02\x01\x80", b"\x05\x01\x02\x00", b"\x05\x00"]
)
def test_no_method_in_common(stage, local, greeting):
    """SK03; the last one but one has a zero that is no part of its list."""
    sock = stage.connect(local.port)
    sock.sendall(greeting)
    assert ending(sock, kit.PATIENCE) == (b"\x05\xff", "fin")


def test_method_anywhere_in_the_list(stage, local):
    for greeting in (
        b"\x05\x01\x00",
        b"\x05\x03\x80\x02\x00",
        b"\x05\xff" + bytes(range(254, -1, -1)),
    ):
        sock = stage.connect(local.port)
        sock.sendall(greeting)
        assert read(sock, 2) == b"\x05\x00"


@pytest.mark.parametrize(
    "first",
    [b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b"\x00"],
)
def test_another_protocol(stage, local, first):
    """Closed without a word."""
    sock = stage.connect(local.port)
    sock.sendall(first)
    data, how = ending(sock, kit.PATIENCE)
    assert data == b"" and how != "open"


@pytest.mark.ours
@pytest.mark.parametrize("cmd", [0, 2, 4, 255])
def test_unknown_commands(stage, local, cmd):
    """SK07: BIND is no ASSOCIATE; the reply is whole (3.3.5 sends four bytes of it)."""
    sock = stage.connect(local.port)
    kit.greet(sock)
    sock.sendall(bytes([5, cmd, 0]) + ANY)
    assert ending(sock, kit.PATIENCE) == (b"\x05\x07\x00\x01" + bytes(6), "fin")


@pytest.mark.ours
def test_associate_while_udp_is_off(stage, local):
    """SK15"""
    sock = stage.connect(local.port)
    kit.greet(sock)
    sock.sendall(b"\x05\x03\x00\x01" + bytes(6))
    data, how = ending(sock, kit.PATIENCE)
    assert data[:2] == b"\x05\x07" and len(data) == 10 and how == "fin"


@pytest.mark.ours
@pytest.mark.parametrize("kind", [0, 2, 5, 0x11, 255])
def test_unknown_address_types(stage, local, kind):
    sock = stage.connect(local.port)
    kit.greet(sock)
    sock.sendall(bytes([5, 1, 0, kind]) + ANY[1:])
    data, how = ending(sock, kit.PATIENCE)
    assert data[:2] == b"\x05\x08" and len(data) == 10 and how != "open"


@pytest.mark.ours
def test_wrong_version_in_the_request(stage, local):
    sock = stage.connect(local.port)
    kit.greet(sock)
    sock.sendall(b"\x04\x01\x00" + ANY)
    assert ending(sock, kit.PATIENCE)[1] != "open"


def test_connect_is_granted_at_once(stage, local):
    """Before any contact with the server, which is not there: 05 00 00 01 and zeros."""
    for target in (ANY, b"\x03\x06a.test\x00\x50", b"\x04" + bytes(15) + b"\x01\x00\x50"):
        sock = stage.connect(local.port)
        kit.greet(sock)
        sock.sendall(b"\x05\x01\x00" + target)
        assert read(sock, 10) == b"\x05\x00\x00\x01" + bytes(6)


def test_address_goes_as_it_came(stage):
    """IPv4, IPv6 and names of every length reach the server in the form the application used."""
    stand_in = stage.stand_in(lambda peer, host, port: (host, port))
    local = stage.local(stand_in.port)
    for host in (
        "192.0.2.1",
        "2001:db8::1",
        "a.test",
        "UPPER.Test",
        "x" * 63 + ".test",
        "n" * 250 + ".test",
    ):
        sock = stage.connect(local.port)
        kit.greet(sock)
        kit.socks_request(sock, sip004.header(host, 65535))
        assert stand_in.result() == (host, 65535)


def test_silent_clients_cost_little(stage, memory):
    """A thousand that say nothing (SE09)."""
    kit.raise_nofile()
    local = stage.local(kit.free_port())
    before = local.anon()
    socks = [stage.connect(local.port) for _ in range(1000)]
    kit.eventually(lambda: local.fds() >= local.idle_fds + 1000, "all are accepted")
    assert local.anon() - before < 1000 * 4096
    for sock in socks:
        sock.close()
    local.rests()


@pytest.mark.ours
@pytest.mark.parametrize("password, answers", [("wrong", False), (kit.PASSWORD, True)])
def test_no_answer_is_named(stage, password, answers):
    """In the log of ss-local, a server that understands nothing does not look like a short talk."""
    server, target = stage.server(), stage.target()
    local = stage.local(server, args=["-v"], password=password)
    with kit.socks(local.port, target.host, target.port) as sock:
        sock.sendall(b"hello")
        if answers:
            assert kit.read(sock, 5) == b"hello"
        sock.shutdown(socket.SHUT_WR)
        assert kit.read_all(sock) == b""
    kit.eventually(lambda: "5 bytes up" in local.log(), local.log)
    assert ("the server ended it before the first answer" in local.log()) != answers
