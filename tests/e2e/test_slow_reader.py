"""A reader that is slow slows its writer down, and costs no more than what was read for it once."""

import threading
import time

import kit
import pytest
from kit import MIB, bulk_digest, read, receive_digest, send_bulk

STALLED = 60
BUDGET = (
    288 * 1024
)  # bytes per stalled connection and program: one full batch that could not be written


def sip(sock, size):
    """Read with a pause every 200 KB."""
    data = b""
    while len(data) < size:
        data += read(sock, min(200_000, size - len(data)))
        time.sleep(0.01)
    return data


def test_both_ways_in_sips(stage):
    """Short writes lose and repeat nothing (TC11)."""
    size = 8 * MIB
    whole = b"".join(kit.bulk(size))

    def target_side(conn):
        sender = threading.Thread(target=send_bulk, args=(conn, size))
        sender.start()
        got = sip(conn, size)
        sender.join()
        return got

    server, local = stage.pair()
    target = stage.target(target_side)
    sock = stage.socks(local, target, small=True, timeout=5 * kit.PATIENCE)
    sender = threading.Thread(target=send_bulk, args=(sock, size))
    sender.start()
    assert sip(sock, size) == whole
    sender.join()
    assert target.result(5 * kit.PATIENCE) == whole
    sock.close()
    server.rests()
    local.rests()


def come_to_rest(*programs):
    """Wait until they use no processor time."""

    def still():
        before = sum(p.cpu() for p in programs)
        time.sleep(0.2)
        return sum(p.cpu() for p in programs) - before < 0.001

    kit.eventually(still, "the programs stand still")


@pytest.mark.parametrize("way", ["down", "up"])
def test_stalled_connections_hold_little(stage, memory, way):
    """Memory is bounded while nobody reads, nothing is lost when they do, and then all blocks are
    back.
    """
    size = 4 * MIB
    reading = threading.Event()

    def target_side(conn):
        if way == "down":
            return send_bulk(conn, size)
        reading.wait(5 * kit.PATIENCE)
        return receive_digest(conn, size)

    server, local = stage.pair(timeout=10 * kit.PATIENCE)  # the last has its turn when all others are through
    assert kit.works(server, local)
    before = {p: p.anon() for p in (server, local)}
    target = stage.target(target_side)
    socks = [stage.socks(local, target, small=True, timeout=5 * kit.PATIENCE) for _ in range(STALLED)]
    if way == "up":
        for sock in socks:
            threading.Thread(target=send_bulk, args=(sock, size), daemon=True).start()
    come_to_rest(server, local)
    for program in (server, local):
        grown = program.anon() - before[program]
        assert (
            grown < STALLED * BUDGET
        ), f"{program.role} grew by {grown // STALLED} bytes per stalled connection"
    reading.set()
    if way == "down":
        assert [receive_digest(sock, size) for sock in socks] == [
            (size, bulk_digest(size))
        ] * STALLED
    else:
        assert [target.result(5 * kit.PATIENCE) for _ in socks] == [(size, bulk_digest(size))] * STALLED
    for sock in socks:
        sock.close()
    server.rests()
    local.rests()


def test_others_are_served_meanwhile(stage):
    """One that does not read stops nobody else."""
    server, local = stage.pair()
    target = stage.target(lambda conn: send_bulk(conn, 64 * MIB))
    stage.socks(local, target, small=True)
    time.sleep(0.2)
    clock = kit.Stopwatch()
    assert kit.works(server, local)
    assert clock() < 3
