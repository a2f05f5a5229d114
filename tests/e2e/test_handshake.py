"""The first bytes may come in any pieces: SOCKS5 on the near side of local, the sealed header on
the near side of server.
"""

import os
import signal
import time

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, connect, drip, ending, read, reset, socks_reply

TARGETS = [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("127.0.0.1", "localhost")]


@pytest.mark.parametrize("listen, host", TARGETS)
def test_socks_byte_by_byte(stage, listen, host):
    _, local = stage.pair()
    target = stage.target(host=listen)
    sock = stage.connect(local.port)
    drip(sock, b"\x05\x01\x00")
    assert read(sock, 2) == b"\x05\x00"
    drip(sock, b"\x05\x01\x00" + sip004.header(host, target.port))
    assert socks_reply(sock) == 0
    drip(sock, b"hello")
    assert read(sock, 5) == b"hello"


def test_socks_all_at_once(stage):
    """Greeting, request and payload in one segment."""
    _, local = stage.pair()
    target = stage.target()
    sock = stage.connect(local.port)
    sock.sendall(b"\x05\x01\x00\x05\x01\x00" + sip004.header(target.host, target.port) + b"payload")
    assert read(sock, 2) == b"\x05\x00"
    assert socks_reply(sock) == 0
    assert read(sock, 7) == b"payload"


@pytest.mark.parametrize("cut", [1, 4, 5, 9])
def test_socks_payload_behind_a_cut_request(stage, cut):
    """The last bytes of the request and a large payload come together."""
    _, local = stage.pair()
    target = stage.target()
    sock = stage.connect(local.port)
    request = b"\x05\x01\x00" + sip004.header(target.host, target.port)
    payload = os.urandom(100_000)
    kit.greet(sock)
    sock.sendall(request[:cut])
    time.sleep(0.05)
    sock.sendall(request[cut:] + payload)
    assert socks_reply(sock) == 0
    assert read(sock, len(payload)) == payload


@pytest.mark.parametrize("listen, host", TARGETS)
def test_sealed_byte_by_byte(stage, listen, host):
    server = stage.server()
    target = stage.target(host=listen)
    sock = stage.connect(server.port)
    request, _ = sip004.request(METHOD, PASSWORD, host, target.port, b"hi")
    drip(sock, request)
    peer = sip004.Peer(sock, METHOD, PASSWORD)
    assert peer.read(2) == b"hi"


@pytest.mark.ours
@pytest.mark.parametrize("cut", [1, 2, 3, 8, 12])
def test_header_cut_over_chunks(stage, cut):
    """shadowsocks-libev answers this with silence; whoever buffers serves it."""
    server = stage.server()
    target = stage.target()
    sock = stage.connect(server.port)
    sealer = sip004.Sealer(METHOD, PASSWORD)
    plain = sip004.name_header("localhost", target.port) + b"hi"
    sock.sendall(sealer.salt + sealer.chunk(plain[:cut]))
    time.sleep(0.05)
    sock.sendall(sealer.chunk(plain[cut:]))
    assert sip004.Peer(sock, METHOD, PASSWORD).read(2) == b"hi"


@pytest.mark.ours
def test_empty_chunks(stage):
    """A chunk of no bytes is no end and no fault (CR04)."""
    server = stage.server()
    target = stage.target()
    sock = stage.connect(server.port)
    sealer = sip004.Sealer(METHOD, PASSWORD)
    header = sip004.header(target.host, target.port)
    sock.sendall(
        sealer.salt
        + sealer.chunk(b"")
        + sealer.chunk(header + b"a")
        + sealer.chunk(b"")
        + sealer.chunk(b"b")
    )
    assert sip004.Peer(sock, METHOD, PASSWORD).read(2) == b"ab"
    server.idles(seconds=0.5)


def test_answer_in_pieces(stage):
    """Salt and length of the answer come in several reads (CR18)."""

    def answer(peer, host, port):
        peer.read(1)
        drip(peer.sock, peer.sealer.salt + peer.sealer.chunk(b"answer"))
        peer.sock.recv(1)

    local = stage.local(stage.stand_in(answer).port)
    sock = stage.add(kit.socks(local.port, "a.test", 81))
    sock.sendall(b"q")
    assert read(sock, 6) == b"answer"


def test_cut_requests_leave_nothing(stage):
    """Requests that stop in the middle and are reset, to both programs (TC05)."""
    server, local = stage.pair()
    request, _ = sip004.request(METHOD, PASSWORD, "127.0.0.1", 9, b"hi")
    for program, whole in (
        (server, request),
        (local, b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x09"),
    ):
        for length in range(1, len(whole) - 1):
            sock = connect(program.port)
            sock.sendall(whole[:length])
            reset(sock)
        program.rests()
    assert kit.works(server, local)


def test_short_streams(stage):
    """Fewer bytes than a salt, then an end or a reset (CR02)."""
    server = stage.server()
    for length in range(61):
        sock = connect(server.port)
        sock.sendall(os.urandom(length))
        if length % 3:
            sock.shutdown(1)
            assert ending(sock, kit.PATIENCE) == (b"", "fin")
            sock.close()
        else:
            reset(sock)
    server.rests()
    assert kit.works(server)


def test_reset_before_accept(stage):
    """Connections that are gone when the program comes to accept them (TC19)."""
    server, local = stage.pair()
    for program in (server, local):
        program.signal(signal.SIGSTOP)
        for _ in range(50):
            reset(connect(program.port))
        program.signal(signal.SIGCONT)
    assert kit.works(server, local)
    server.rests()
    local.rests()
