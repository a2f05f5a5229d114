"""Lengths on the wire: 1 to 16383, never empty, never longer (CR06)."""

import os
import threading

import kit
import sip004
from kit import MIB, PASSWORD

SIZE = 4 * MIB


def check(sizes, total):
    assert min(sizes) >= 1 and max(sizes) <= sip004.CHUNK_MAX
    assert sum(sizes) == total


def test_from_local(stage, method):
    stand_in = stage.stand_in(
        lambda peer, host, port: (len(peer.read(SIZE)), peer.opener.sizes), method
    )
    local = stage.local(stand_in.port, method=method)
    sock = stage.add(kit.socks(local.port, "a.test", 81))
    threading.Thread(target=kit.send_bulk, args=(sock, SIZE), daemon=True).start()
    received, sizes = stand_in.result()
    check(sizes, received + len(sip004.header("a.test", 81)))


def test_from_server(stage, method):
    server = stage.server(method=method)
    target = stage.target(lambda conn: (conn.recv(1), kit.send_bulk(conn, SIZE)))
    peer = stage.peer(server, target.host, target.port, b"x", method=method)
    assert len(peer.read_all()) == SIZE
    check(peer.opener.sizes, SIZE)


def test_every_length_is_accepted(stage):
    """The lengths around every bound, in one stream and in odd pieces."""
    server = stage.server()
    sizes = [1, 2, 15, 16, 17, 1399, 1400, 8191, 8192, 16349, 16350, 16382, 16383]
    payloads = [os.urandom(size) for size in sizes]
    target = stage.target(kit.read_all)
    sock = stage.connect(server.port)
    request, sealer = sip004.request("aes-256-gcm", PASSWORD, target.host, target.port)
    stream = request + b"".join(map(sealer.chunk, payloads))
    for at in range(0, len(stream), 1777):
        sock.sendall(stream[at : at + 1777])
    sock.shutdown(1)
    assert target.result() == b"".join(payloads)
