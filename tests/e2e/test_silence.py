"""Whoever does not know the key learns nothing: no byte, no reset, no end of which the time depends
on what was sent.
"""

import os
import selectors
import time

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, ending

LENGTHS = [
    0,
    1,
    7,
    8,
    9,
    15,
    16,
    17,
    22,
    31,
    32,
    33,
    34,
    41,
    48,
    49,
    50,
    51,
    52,
    59,
    66,
    67,
    68,
    83,
    99,
    100,
    160,
    221,
    300,
    402,
    700,
    999,
    1000,
    16433,
    20000,
    70000,
]
SHORTEST, LONGEST = 40, 100  # seconds: the handshake time lies between


def probes(stage, server):
    """{what: bytes}: random data of every length, and everything that is nearly right."""
    target = stage.target()
    request, sealer = sip004.request(METHOD, PASSWORD, target.host, target.port, b"x")
    replayed = stage.connect(server.port)
    replayed.sendall(request)
    assert sip004.Peer(replayed, METHOD, PASSWORD).read(1) == b"x"
    header = sip004.header(target.host, target.port)

    def fresh(plain, length=None):
        sealer = sip004.Sealer(METHOD, PASSWORD)
        return sealer.salt + sealer.chunk(plain, length)

    def flipped(at):
        whole = bytearray(fresh(header + b"x"))
        whole[at] ^= 1
        return bytes(whole)

    return {
        **{f"random {length}": os.urandom(length) for length in LENGTHS},
        "replay": request,
        "replay and more": request + sealer.chunk(b"more"),
        "replay, cut": request[:60],
        "salt changed": flipped(0),
        "length box changed": flipped(35),
        "payload box changed": flipped(52),
        "last tag changed": flipped(-1),
        "wrong length": fresh(header, 3),
        "length above the limit": fresh(header, 0x4000 | 7),
        "address type 0": fresh(b"\x00" * 7),
        "address type 2": fresh(b"\x02\x7f\x00\x00\x01\x00\x50"),
        "empty name": fresh(b"\x03\x00\x00\x50"),
        "half a header": fresh(b"\x01\x7f\x00"),
        "another password": sip004.request(METHOD, "wrong", target.host, target.port, b"x")[0],
        "another method": sip004.request("aes-128-gcm", PASSWORD, target.host, target.port, b"x")[
            0
        ],
    }


def watch(socks, seconds, also=b""):
    """{what: (seconds, "data", "fin" or "rst")} of those that did anything. `also` is sent once a
    second.
    """
    selector, seen, clock, sent = selectors.DefaultSelector(), {}, kit.Clock(), 0
    for what, sock in socks.items():
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_READ, what)
    while clock() < seconds and len(seen) < len(socks):
        for key, _ in selector.select(0.1):
            try:
                kind = "data" if key.fileobj.recv(100) else "fin"
            except ConnectionError:
                kind = "rst"
            seen[key.data] = (clock(), kind)
            selector.unregister(key.fileobj)
        if also and clock() > sent + 1:
            sent += 1
            for what in socks.keys() - seen.keys():
                socks[what].send(also)
    return seen


def open_all(stage, server, wanted):
    socks = {what: stage.connect(server.port) for what in wanted}
    for what, data in wanted.items():
        socks[what].sendall(data)
    return socks


def test_nothing_within_five_seconds(stage):
    """SE05; half of the probers go on sending, so that unread input would show as a reset."""
    server = stage.server()
    wanted = probes(stage, server)
    quiet, busy = open_all(stage, server, wanted), open_all(stage, server, wanted)
    started = kit.Clock()
    assert watch(busy, 2.5, also=os.urandom(50)) == {}
    assert watch(quiet, 5 - started()) == {}
    assert kit.works(server)


def test_an_end_is_answered_by_an_end(stage):
    """Whatever was sent before it, and not by a reset."""
    server = stage.server()
    wanted = probes(stage, server)
    del (
        wanted["replay and more"],
        wanted["replay, cut"],
    )  # their salt is the one of "replay"; one of a kind will do
    socks = open_all(stage, server, wanted)
    time.sleep(0.2)
    for sock in socks.values():
        sock.shutdown(1)
    late = kit.Stopwatch()
    seen = watch(socks, SHORTEST - 10)
    assert {what: kind for what, (_, kind) in seen.items()} == dict.fromkeys(wanted, "fin")
    assert late() < 5


def test_end_in_the_same_segment(stage):
    server = stage.server()
    for length in (0, 10, 40, 60, 300):
        sock = stage.connect(server.port)
        sock.sendall(os.urandom(length))
        sock.shutdown(1)
        assert ending(sock, SHORTEST - 10) == (b"", "fin")


@pytest.mark.ours
def test_silenced_connections_need_no_descriptor_for_long(stage):
    """They are in the count of sessions, and gone with their peer."""
    server = stage.server()
    socks = open_all(stage, server, {i: os.urandom(100) for i in range(50)})
    kit.eventually(lambda: server.state()["session"] == 50, lambda: server.state())
    for sock in socks.values():
        kit.reset(sock)
    server.rests()


@pytest.mark.ours
@pytest.mark.long
@pytest.mark.skipif(not os.environ.get("SS_LONG"), reason="SS_LONG is not set: takes up to 110 s")
def test_all_are_closed_at_the_same_time(stage):
    """The handshake time counts from accept and is the same for all, whatever they have sent."""
    server = stage.server()
    wanted = probes(stage, server)
    del wanted["random 0"]
    opened = kit.Clock()
    socks = open_all(stage, server, wanted)
    opening = opened()
    seen = watch(socks, LONGEST + 5)
    times = [when for when, _ in seen.values()]
    assert {kind for _, kind in seen.values()} == {"fin"} and len(seen) == len(wanted)
    assert SHORTEST <= min(times) + opening and max(times) <= LONGEST + 1
    assert max(times) - min(times) <= opening + 1.5
