"""Whatever is killed, at any time: descriptors, sessions and blocks come back to where they were,
and service goes on.

The soak is seeded ($SS_SEED, printed); $SS_SOAK is its length in seconds.
"""

import contextlib
import os
import random
import signal
import socket
import threading
import time

import kit
import pytest
import sip004
from kit import MIB, ending, read_all, reset, send_bulk

SEED = int(os.environ.get("SS_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
SECONDS = float(os.environ.get("SS_SOAK", "15"))
WORKERS = 40
ENOUGH = 20 * SECONDS  # connections; a slow machine takes longer for them


def busy(stage, local, target, count=20):
    """Connections with data on its way in both directions."""
    socks = [stage.socks(local, target) for _ in range(count)]
    for sock in socks:
        threading.Thread(target=suppressed, args=(send_bulk, sock, 64 * MIB), daemon=True).start()
    time.sleep(0.2)
    return socks


def suppressed(action, *args):
    with contextlib.suppress(OSError, EOFError, AssertionError):
        return action(*args)


def test_server_killed(stage):
    """Every client of local is told, and local serves again with the next server."""
    server, local = stage.pair()
    socks = busy(stage, local, stage.target(kit.read_all))
    server.signal(signal.SIGKILL)
    server.kill()
    for sock in socks:
        assert ending(sock, kit.PATIENCE)[1] != "open"
        sock.close()
    local.rests()
    again = stage.server(server_port=server.port)
    assert kit.works(again, local)


def test_local_killed(stage):
    server, local = stage.pair()
    busy(stage, local, stage.target(kit.read_all))
    local.signal(signal.SIGKILL)
    local.kill()
    server.rests()
    assert kit.works(server, stage.local(server))


@pytest.mark.parametrize("end", [reset, socket.socket.close])
def test_clients_gone(stage, end):
    server, local = stage.pair()
    for sock in busy(stage, local, stage.target(kit.read_all)):
        end(sock)
    server.rests()
    local.rests()


@pytest.mark.parametrize("end", [reset, socket.socket.close])
def test_targets_gone(stage, end):
    server, local = stage.pair()
    target = stage.target(lambda conn: (conn.recv(1000), time.sleep(0.2), end(conn)))
    for sock in busy(stage, local, target):
        assert ending(sock, kit.PATIENCE)[1] != "open"
        sock.close()
    server.rests()
    local.rests()


def test_name_server_gone(stage):
    """Look-ups that are out end; with a name server in the same place they work again."""
    dns = kit.DnsStub({"*": "drop"})
    server = stage.server(nameserver=dns.address, timeout=3)
    peers = []
    for i in range(20):
        peers.append(sip004.Peer(stage.connect(server.port), kit.METHOD, kit.PASSWORD))
        peers[-1].send(sip004.name_header(f"n{i}.test", 80) + b"x")
    kit.eventually(lambda: dns.asked, "names are looked up")
    dns.close()
    for peer in peers:
        assert ending(peer.sock, kit.PATIENCE)[1] == "fin"
        peer.sock.close()
    assert kit.works(server)
    kit.eventually(
        lambda: server.fds() <= server.idle_fds + 2, lambda: f"{server.fds()} descriptors"
    )


# ---- the soak


class Soak:
    """Workers that open connections of every kind and end them in every way, until the time is
    over.
    """

    def __init__(self, stage):
        self.stage = stage
        names = {
            "good.test": ["127.0.0.1"],
            "two.test": ["127.9.9.9", "127.0.0.1"],
            "six.test": ["::1"],
            "dead.test": "drop",
            "bad.test": "servfail",
        }
        self.dns = stage.dns(names, delay=0.02)
        self.server, self.local = stage.pair(nameserver=self.dns.address, timeout=2)
        self.targets = [
            stage.target(handler)
            for handler in (
                kit.echo,
                kit.read_all,
                lambda c: send_bulk(c, MIB),
                lambda c: (c.recv(9), reset(c)),
                lambda c: None,
                lambda c: (c.recv(1), time.sleep(1)),
                lambda c: (send_bulk(c, MIB), reset(c)),
                kit.receive_digest,
            )
        ]
        self.hole = stage.add(kit.BlackHole("127.9.9.8"))
        self.places = (
            [("127.0.0.1", None)] * 6
            + [("good.test", None)] * 3
            + [
                ("two.test", None),
                ("nx.test", 80),
                ("dead.test", 80),
                ("bad.test", 80),
                ("six.test", 9),
                ("127.0.0.1", 9),
                (self.hole.host, self.hole.port),
            ]
        )
        self.deadline = time.monotonic() + SECONDS
        self.rounds = 0

    def worker(self, seed):
        dice = random.Random(seed)
        actions = [self.through_local] * 8 + [self.sealed] * 4 + [self.garbage, self.cut_socks]
        while (now := time.monotonic()) < self.deadline or self.rounds < ENOUGH and now < self.deadline + 2 * kit.PATIENCE:
            suppressed(dice.choice(actions), dice)
            self.rounds += 1

    def place(self, dice):
        host, port = dice.choice(self.places)
        return host, port or dice.choice(self.targets).port

    def converse(self, dice, sock, send):
        """Some bytes each way, some pauses, one of the ways to end."""
        sock.settimeout(dice.choice((0.1, 0.5, 3)))
        for _ in range(dice.randrange(4)):
            action = dice.randrange(4)
            if action == 0:
                send(dice.randbytes(dice.choice((1, 100, 16383, 16384, 200_000))))
            elif action == 1:
                suppressed(sock.recv, dice.choice((1, 1000, 100_000)))
            elif action == 2:
                time.sleep(dice.random() / 10)
            else:
                sock.shutdown(socket.SHUT_WR)
                suppressed(read_all, sock)

    def ended(self, dice, sock):
        if dice.random() < 0.4:
            reset(sock)
        else:
            sock.close()

    def through_local(self, dice):
        sock = kit.socks(self.local.port, *self.place(dice), small=dice.random() < 0.1)
        try:
            self.converse(dice, sock, sock.sendall)
        finally:
            self.ended(dice, sock)

    def sealed(self, dice):
        sock = kit.connect(self.server.port)
        try:
            peer = sip004.Peer(sock, kit.METHOD, kit.PASSWORD).open(
                *self.place(dice), dice.randbytes(10)
            )
            self.converse(dice, sock, peer.send)
            if dice.random() < 0.3:
                sock.sendall(peer.sealer.chunk(b"x" * 1000)[: dice.randrange(1, 1034)])
            if dice.random() < 0.2:
                sock.sendall(dice.randbytes(500))
        finally:
            self.ended(dice, sock)

    def garbage(self, dice):
        sock = kit.connect(self.server.port)
        try:
            sock.sendall(dice.randbytes(dice.randrange(500)))
            time.sleep(dice.random() / 5)
        finally:
            self.ended(dice, sock)

    def cut_socks(self, dice):
        sock = kit.connect(self.local.port)
        try:
            whole = b"\x05\x01\x00\x05\x01\x00\x03\x09good.test\x00\x50"
            sock.sendall(whole[: dice.randrange(1, len(whole))])
        finally:
            self.ended(dice, sock)


def test_soak(stage):
    print(f"SS_SEED={SEED}")
    soak = Soak(stage)
    workers = [threading.Thread(target=soak.worker, args=(SEED + i,)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert soak.rounds >= ENOUGH, f"only {soak.rounds} connections"
    for target in soak.targets:
        target.close()
    assert kit.works(soak.server, soak.local)
    # c-ares may keep a socket to its name server
    soak.server.idle_fds += 2
    soak.server.rests()
    soak.local.rests()
