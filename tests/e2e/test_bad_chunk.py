"""A chunk that does not open, after a handshake that did: nothing of it gets through, and nobody
takes it for an end.
"""

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, ending

LONG = 0.8 * kit.PATIENCE  # a connection that ends does so before; its test waits for longer


def broken(chunk, at):
    chunk = bytearray(chunk)
    chunk[at] ^= 0x80
    return bytes(chunk)


@pytest.mark.parametrize("at", [0, 17, 18, 30, -1])
def test_server_falls_silent(stage, at):
    """As for a forged handshake: what is sent is discarded, no reset, no early end. What was whole
    has been delivered.
    """
    server = stage.server()
    target = stage.target(lambda conn: ending(conn, LONG))
    sock = stage.connect(server.port)
    request, sealer = sip004.request(METHOD, PASSWORD, target.host, target.port, b"good")
    sock.sendall(request)
    kit.eventually(lambda: target.conns, "the target is reached")
    sock.sendall(broken(sealer.chunk(b"bad" * 10), at) + sealer.chunk(b"behind it"))
    assert ending(sock, 1) == (b"", "open")
    sock.settimeout(kit.PATIENCE)
    sock.sendall(b"x" * 100_000)
    assert ending(sock, 0.5) == (b"", "open")
    assert target.result()[0] == b"good"
    sock.shutdown(1)
    assert ending(sock, kit.PATIENCE)[1] == "fin"
    server.rests()


@pytest.mark.ours
def test_target_of_a_broken_stream_sees_an_abort(stage):
    server = stage.server()
    target = stage.target(lambda conn: ending(conn, LONG))
    sock = stage.connect(server.port)
    request, sealer = sip004.request(METHOD, PASSWORD, target.host, target.port, b"good")
    sock.sendall(request)
    kit.eventually(lambda: target.conns, "the target is reached")
    sock.sendall(broken(sealer.chunk(b"bad"), 0))
    assert target.result() == (b"good", "rst")


@pytest.mark.parametrize("at", [0, 17, 18, 30, -1])
def test_local_closes(stage, at):
    """The application gets what was whole, then an abort."""

    def answer(peer, host, port):
        peer.send(b"good")
        peer.read(1)
        peer.sock.sendall(broken(peer.sealer.chunk(b"bad" * 10), at))
        return ending(peer.sock, LONG)

    stand_in = stage.stand_in(answer)
    local = stage.local(stand_in.port)
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    assert kit.read(sock, 4) == b"good"
    sock.sendall(b"x")
    data, how = ending(sock, kit.PATIENCE)
    assert data == b"" and how == ("rst" if kit.is_ours("local") else "fin")
    assert stand_in.result()[1] != "open"
    sock.close()
    local.rests()


@pytest.mark.parametrize("bits", [0x4000, 0x8000, 0xC000])
def test_reserved_bits_of_a_length(stage, bits):
    """A length above 0x3fff, rightly sealed: refused as forged."""
    if not kit.is_ours("server"):
        pytest.skip("shadowsocks-libev masks the two upper bits")
    server = stage.server()
    target = stage.target(lambda conn: ending(conn, LONG))
    sock = stage.connect(server.port)
    request, sealer = sip004.request(METHOD, PASSWORD, target.host, target.port, b"good")
    sock.sendall(request + sealer.chunk(b"long", bits | 4))
    assert ending(sock, 0.5) == (b"", "open")
    assert target.result()[0] == b"good"
