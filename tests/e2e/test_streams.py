"""Stream ciphers: every method through both programs and against a written peer; silence where nothing can be proved."""
import os
import re
import socket
import subprocess
import time

import kit
import pytest
import sip004
import streams
from kit import MIB, PASSWORD, bulk, bulk_digest, drip, ending, read, read_all, receive_digest, send_bulk
from test_silence import watch

pytestmark = pytest.mark.ours  # shadowsocks-libev has half of them, and closes where ours is silent

FEW = ["rc4", "rc4-md5", "aes-256-cfb", "chacha20-ietf", "none"]  # one of each kind


def built():
    """The stream methods that --version lists."""
    text = subprocess.run([*kit.command("server"), "--version"], capture_output=True, text=True, timeout=kit.PATIENCE).stdout
    found = re.search(r"methods: (.*)", text)
    return [m for m in found[1].split() if not re.search("gcm|poly1305", m)] if found else []


@pytest.mark.parametrize("method", built() + ["AES-128-CFB128", "plain", "dummy"])
def test_through_both(stage, method):
    _, local = stage.pair(method=method)
    for size in (0, 1, 100_000):
        target = stage.target(lambda conn, size=size: (receive_digest(conn, size), send_bulk(conn, size))[0])
        sock = stage.socks(local, target, timeout=60)
        send_bulk(sock, size)
        assert receive_digest(sock, size) == (size, bulk_digest(size))
        assert sock.recv(1) == b""
        assert target.result() == (size, bulk_digest(size))


def test_all_are_built():
    """28 with Blowfish, which mbed TLS 3 has not."""
    assert len(built()) + ("bf-cfb" not in built()) == 28


@pytest.mark.parametrize("method", [m for m in streams.METHODS if m in built()])
def test_server_against_a_written_peer(stage, method):
    """A megabyte comes back; the request comes in one piece, or byte by byte."""
    server = stage.server(method=method)
    target = stage.target()
    sent = b"".join(bulk(MIB))
    for pieces in (False, True):
        first, up = streams.request(method, PASSWORD, target.host, target.port, b"hello")
        sock = stage.connect(server.port, timeout=60)
        if pieces:
            drip(sock, first)
        else:
            first += up.update(sent)
            sock.sendall(first)
        sock.shutdown(socket.SHUT_WR)
        assert streams.opened(method, PASSWORD, read_all(sock)) == b"hello" + (b"" if pieces else sent)
    server.rests()


@pytest.mark.parametrize("method", FEW)
def test_local_against_a_written_peer(stage, method):
    """The address and the payload come in one flight; the answer may come byte by byte."""

    def server_side(conn):
        iv = streams.METHODS[method][1]
        wire = b""
        while len(wire) < iv + 13 + 5:
            wire += conn.recv(1000)
        down = streams.Direction(method, PASSWORD)
        drip(conn, down.iv + down.update(b"answer"))
        return streams.opened(method, PASSWORD, wire)

    stand_in = stage.target(server_side)
    local = stage.local(stand_in.port, method=method)
    sock = stage.add(kit.socks(local.port, "name.test", 80))
    sock.sendall(b"hello")
    assert read(sock, 6) == b"answer"
    assert stand_in.result() == sip004.header("name.test", 80) + b"hello"


@pytest.mark.parametrize("method", FEW)
def test_every_target_that_fails_meets_silence(stage, method):
    """Malformed, refused, unresolvable, replayed: no byte, no end; a FIN is answered by a FIN at once."""
    dns = stage.dns({})
    server = stage.server(method=method, nameserver=dns.address)
    target = stage.target()
    iv = streams.METHODS[method][1]

    def sealed(plain):
        up = streams.Direction(method, PASSWORD)
        return up.iv + up.update(plain)

    replayed = streams.request(method, PASSWORD, target.host, target.port, b"x")[0]
    with stage.connect(server.port) as sock:
        sock.sendall(replayed)
        assert len(read(sock, iv + 1)) == iv + 1
    wanted = {
        "refused": sealed(sip004.header("127.0.0.1", kit.free_port()) + b"x"),
        "refused, no payload": sealed(sip004.header("127.0.0.1", kit.free_port())),
        "no such name": sealed(sip004.header("nowhere.test", 80) + b"x"),
        "port 0": sealed(sip004.header("127.0.0.1", 0)),
        "type 0": sealed(b"\x00" * 20), "type 0x11": sealed(b"\x11" + bytes(20)),
        "empty name": sealed(b"\x03\x00\x00\x50"), "bad name": sealed(sip004.name_header("-", 80)),
        "half a header": sealed(b"\x01\x7f"),
    }
    if iv:
        wanted |= {"replay": replayed, "half an IV": replayed[: iv // 2], "an IV": os.urandom(iv)}
    for ends in (False, True):
        if ends:
            wanted.pop("replay", None)
        socks = {what: stage.connect(server.port) for what in wanted}
        for what, data in wanted.items():
            if ends and iv:
                data = os.urandom(iv) + data[iv:] if what in ("an IV", "half an IV") else data
            socks[what].sendall(data)
        if ends:
            time.sleep(0.3)
            for sock in socks.values():
                sock.shutdown(socket.SHUT_WR)
        seen = watch(socks, 30 if ends else 3)
        assert {what: kind for what, (_, kind) in seen.items()} == (dict.fromkeys(wanted, "fin") if ends else {})
        if not ends:
            for sock in socks.values():
                kit.reset(sock)
            wanted = {what: sealed_again(method, data) for what, data in wanted.items()}  # the same would be replays
    server.rests()


def sealed_again(method, wire):
    iv = streams.METHODS[method][1]
    if not iv or len(wire) <= iv:
        return wire
    up = streams.Direction(method, PASSWORD)
    return up.iv + up.update(streams.opened(method, PASSWORD, wire))


@pytest.mark.parametrize("method", ["rc4-md5", "rc4"])
def test_rc4_states_come_back(stage, method):
    """With room for 8 sessions there are 16 states; hundreds of connections of every ending use them."""
    server = stage.server(method=method, max_sessions=8)
    local = stage.local(server, method=method, max_sessions=8)
    target, rude = stage.target(), stage.target(lambda conn: (conn.recv(1), kit.reset(conn)))
    for turn in range(60):
        sock = stage.socks(local, target)
        sock.sendall(b"x" * 1000)
        read(sock, 1000)
        kit.reset(sock) if turn % 2 else sock.close()
        junk = stage.connect(server.port)
        junk.sendall(os.urandom(40))
        junk.close()
        with stage.socks(local, rude) as sock:
            sock.sendall(b"x")
            assert ending(sock, kit.PATIENCE)[1] in ("rst", "fin")
    local.rests()
    server.rests()


def test_silence_lasts_from_accept(stage):
    """A target that fails late does not make the silence longer: at rest, all are gone with their peers."""
    server = stage.server(method="aes-256-cfb")
    socks = []
    for i in range(20):
        sock = stage.connect(server.port)
        sock.sendall(streams.request("aes-256-cfb", PASSWORD, "127.0.0.1", kit.free_port(), b"x" * i)[0])
        socks.append(sock)
    kit.eventually(lambda: server.state()["session"] == 20, lambda: server.state())
    assert "authentication error" not in server.log()
    for sock in socks:
        kit.reset(sock)
    server.rests()
