"""Every method carries every size, both ways, through both programs and against a peer written
apart from them.
"""

import base64
import hashlib
import threading

import pytest
import sip004
from kit import MIB, PATIENCE, bulk, bulk_digest, read, receive_digest, send_bulk, socks

SIZES = [0, 1, sip004.CHUNK_MAX, sip004.CHUNK_MAX + 1, MIB]


def exchange(sock, size):
    """Send `size` bytes and read as many, at the same time: (bytes, digest) of what came."""
    sender = threading.Thread(target=send_bulk, args=(sock, size))
    sender.start()
    received = receive_digest(sock, size)
    sender.join()
    return received


def check(stage, local, size):
    """The target does the same, and ends the connection."""
    target = stage.target(lambda conn: exchange(conn, size))
    sock = stage.socks(local, target, timeout=5 * PATIENCE)
    assert exchange(sock, size) == (size, bulk_digest(size))
    assert sock.recv(1) == b""
    assert target.result() == (size, bulk_digest(size))


def test_sizes_through_both(stage, method):
    _, local = stage.pair(method=method)
    for size in SIZES:
        check(stage, local, size)


@pytest.mark.parametrize("fast", ["aes-256-gcm", "chacha20-ietf-poly1305"])
def test_64_mib_each_way(stage, fast):
    _, local = stage.pair(method=fast)
    check(stage, local, 64 * MIB)


def test_server_against_a_written_peer(stage, method):
    server = stage.server(method=method)
    target = stage.target(lambda conn: conn.sendall(read(conn, MIB)))
    sent = b"".join(bulk(MIB))
    peer = stage.peer(server, target.host, target.port, sent, method=method)
    assert hashlib.sha256(peer.read_all()).digest() == hashlib.sha256(sent).digest()


def test_local_against_a_written_peer(stage, method):
    stand_in = stage.stand_in(lambda peer, host, port: peer.send(peer.read(MIB)), method)
    local = stage.local(stand_in.port, method=method)
    sock = stage.add(socks(local.port, "name.test", 80))
    send_bulk(sock, MIB)
    assert receive_digest(sock, MIB) == (MIB, bulk_digest(MIB))


@pytest.mark.parametrize("password", ["a", "x" * 64, "p" * 300, "pässwörd", "日本語", 'a"b\\c'])
def test_passwords(stage, password):
    server = stage.server(password=password)
    target = stage.target()
    sock = stage.connect(server.port)
    assert (
        sip004.Peer(sock, "aes-256-gcm", password).open(target.host, target.port, b"hi").read(2)
        == b"hi"
    )


def test_key_instead_of_password(stage):
    """--key and the key `key` are the master key in URL-safe base64; it wins over the password."""
    key = base64.urlsafe_b64encode(sip004.master_key("another", 32)).decode().rstrip("=")
    server = stage.server(key=key)
    local = stage.local(server, args=["--key", key])
    target = stage.target()
    sock = stage.socks(local, target)
    sock.sendall(b"keyed")
    assert read(sock, 5) == b"keyed"
    peer = sip004.Peer(stage.connect(server.port), "aes-256-gcm", "another")
    assert peer.open(target.host, target.port, b"hi").read(2) == b"hi"
