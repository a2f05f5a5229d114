"""An end of one direction passes through both relays, and the other direction lives on."""

import threading
import time

import kit
import pytest
from kit import MIB, bulk_digest, read, read_all, receive_digest, send_bulk

LATE = 0.2  # the other side answers only so long after the end, so that it cannot have crossed


def answer_after_end(conn):
    """All that came, then a megabyte back."""
    got = read_all(conn)
    time.sleep(LATE)
    send_bulk(conn, MIB)
    return got


def listen_after_end(conn):
    """Ends first, then reads to the end."""
    conn.sendall(b"head")
    conn.shutdown(1)
    return receive_digest(conn)


def test_client_ends_first(stage):
    _, local = stage.pair()
    target = stage.target(answer_after_end)
    sock = stage.socks(local, target)
    sock.sendall(b"hello")
    sock.shutdown(1)
    assert receive_digest(sock) == (MIB, bulk_digest(MIB))
    assert target.result() == b"hello"


def test_client_ends_without_a_byte(stage):
    """The end comes with the request itself; the target is still reached."""
    _, local = stage.pair()
    target = stage.target(answer_after_end)
    sock = stage.socks(local, target)
    sock.shutdown(1)
    assert receive_digest(sock) == (MIB, bulk_digest(MIB))
    assert target.result() == b""


def test_target_ends_first(stage):
    _, local = stage.pair()
    target = stage.target(listen_after_end)
    sock = stage.socks(local, target)
    assert read_all(sock) == b"head"
    time.sleep(LATE)
    send_bulk(sock, MIB)
    sock.shutdown(1)
    assert target.result() == (MIB, bulk_digest(MIB))


def test_server_alone(stage):
    """Both ways with the peer written in Python."""
    server = stage.server()
    target = stage.target(answer_after_end)
    peer = stage.peer(server, target.host, target.port, b"hello")
    peer.sock.shutdown(1)
    assert len(peer.read_all()) == MIB
    assert target.result() == b"hello"
    target = stage.target(listen_after_end)
    peer = stage.peer(server, target.host, target.port, b"ab")
    assert peer.read_all() == b"head"
    time.sleep(LATE)
    peer.send(b"cd")
    peer.sock.shutdown(1)
    assert target.result()[0] == 4


def test_local_alone(stage):
    def answer(peer, host, port):
        got = peer.read_all()
        time.sleep(LATE)
        peer.send(b"x" * MIB)
        return got

    stand_in = stage.stand_in(answer)
    local = stage.local(stand_in.port)
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    sock.sendall(b"hello")
    sock.shutdown(1)
    assert read_all(sock) == b"x" * MIB
    assert stand_in.result() == b"hello"


def test_end_before_the_first_answer_byte(stage):
    """The far side ends without ever sending a salt: a clean end."""
    stand_in = stage.stand_in(lambda peer, host, port: (peer.sock.shutdown(1), peer.read_all())[1])
    local = stage.local(stand_in.port)
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    sock.sendall(b"one")
    assert kit.ending(sock, kit.PATIENCE) == (b"", "fin")
    sock.sendall(b"two")
    sock.shutdown(1)
    assert stand_in.result() == b"onetwo"


@pytest.mark.ours
def test_half_closed_and_idle_is_reclaimed(stage):
    """`timeout` bounds a half-closed connection without traffic (TC03)."""
    server, local = stage.pair(timeout=4)
    over = threading.Event()
    stage.callback(over.set)
    target = stage.target(lambda conn: (read_all(conn), over.wait(10 * kit.PATIENCE)))
    for _ in range(20):
        sock = stage.socks(local, target)
        sock.sendall(b"x")
        sock.shutdown(1)
    kit.eventually(lambda: len(target.conns) == 20, "20 connections at the target")
    server.rests()
    local.rests()


@pytest.mark.ours
def test_half_closed_and_busy_is_kept(stage):
    def trickle(conn):
        got = read_all(conn)
        for _ in range(14):
            conn.sendall(b".")
            time.sleep(0.5)
        return got

    _, local = stage.pair(timeout=5)
    target = stage.target(trickle)
    sock = stage.socks(local, target)
    sock.sendall(b"x")
    sock.shutdown(1)
    assert read_all(sock) == b"." * 14


@pytest.mark.parametrize("talker", ["target", "client"])
def test_traffic_in_one_direction_is_traffic(stage, talker):
    """An open connection outlives `timeout` while one side talks, and while nobody does (TC17)."""

    def talk(conn):
        for _ in range(8):
            conn.sendall(b".")
            time.sleep(0.5)

    def target_side(conn):
        read(conn, 1)
        time.sleep(3.5)
        return talk(conn) if talker == "target" else read(conn, 8)

    _, local = stage.pair(timeout=3)
    target = stage.target(target_side)
    sock = stage.socks(local, target)
    sock.sendall(b"x")
    if talker == "client":
        talk(sock)
        assert target.result() == b"." * 8
    else:
        assert read_all(sock) == b"." * 8


def test_peer_end_between_chunks_is_an_end(stage):
    """The client of a server ends between chunks: FIN to the target, nothing lost."""
    server = stage.server()
    target = stage.target(read_all)
    peer = stage.peer(server, target.host, target.port, b"all of it")
    peer.sock.shutdown(1)
    assert target.result() == b"all of it"
