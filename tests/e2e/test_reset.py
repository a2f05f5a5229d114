"""A reset passes through as a reset, and never takes with it what was delivered before; a cut chunk
is one as well.
"""

import socket
import time

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, ending, read, reset

BODY = b"y" * 100_000


def send_then_reset(conn):
    """The receiver has all before the reset, as a reset may overtake what is still on its way."""
    read(conn, 1)
    conn.sendall(BODY)
    kit.eventually(lambda: kit.unsent(conn) == 0, "all is acknowledged")
    time.sleep(0.3)
    reset(conn)


@pytest.mark.parametrize("small", [False, True])
def test_delivered_data_survives_a_reset(stage, small):
    """TC21, with a client that is late to read; with a small window its relay still holds most of
    it then.
    """
    _, local = stage.pair()
    target = stage.target(send_then_reset)
    sock = stage.socks(local, target, small=small)
    sock.sendall(b"x")
    time.sleep(1)
    assert read(sock, len(BODY)) == BODY


@pytest.mark.ours
def test_reset_by_the_target_reaches_the_client(stage):
    server, local = stage.pair()
    target = stage.target(send_then_reset)
    sock = stage.socks(local, target)
    sock.sendall(b"x")
    assert ending(sock, kit.PATIENCE) == (BODY, "rst")
    server.rests()
    local.rests()


@pytest.mark.ours
def test_reset_by_the_client_reaches_the_target(stage):
    server, local = stage.pair()
    target = stage.target(lambda conn: ending(conn, 0.8 * kit.PATIENCE))
    sock = stage.socks(local, target)
    sock.sendall(BODY)
    kit.eventually(lambda: target.conns, "the target is reached")
    kit.eventually(lambda: kit.unsent(sock) == 0, "all is acknowledged")
    time.sleep(0.3)
    reset(sock)
    assert target.result() == (BODY, "rst")
    server.rests()
    local.rests()


@pytest.mark.ours
def test_reset_through_each_alone(stage):
    server = stage.server()
    target = stage.target(send_then_reset)
    peer = stage.peer(server, target.host, target.port, b"x")
    assert peer.read(len(BODY)) == BODY
    with pytest.raises(ConnectionResetError):
        peer.some()

    def answer(peer, host, port):
        peer.send(b"answer")
        peer.read(1)
        reset(peer.sock)

    local = stage.local(stage.stand_in(answer).port)
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    assert read(sock, 6) == b"answer"
    sock.sendall(b"x")
    assert ending(sock, kit.PATIENCE) == (b"", "rst")


@pytest.mark.ours
@pytest.mark.parametrize("length", [1, 16, 33, 40, 50, 51, 60])
def test_answer_that_ends_inside_a_chunk(stage, length):
    """The application must not take a cut answer for a whole one."""

    def answer(peer, host, port):
        peer.sock.sendall((peer.sealer.salt + peer.sealer.chunk(b"x" * 100))[:length])
        peer.sock.shutdown(socket.SHUT_WR)
        peer.sock.recv(1)

    local = stage.local(stage.stand_in(answer).port)
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    assert ending(sock, kit.PATIENCE) == (b"", "rst")
    local.rests()


@pytest.mark.ours
def test_request_that_ends_inside_a_chunk(stage):
    """So must the target."""
    server = stage.server()
    target = stage.target(lambda conn: ending(conn, 0.8 * kit.PATIENCE))
    sock = stage.connect(server.port)
    request, sealer = sip004.request(METHOD, PASSWORD, target.host, target.port, b"whole")
    sock.sendall(request + sealer.chunk(b"cut")[:-1])
    sock.shutdown(socket.SHUT_WR)
    assert target.result() == (b"whole", "rst")
    server.rests()
