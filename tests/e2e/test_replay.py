"""A salt is accepted once: not again later, not twice at a time, not the program's own, and so on
the client's side, too.
"""

import select
import time

import kit
import sip004
from kit import METHOD, PASSWORD, ending


def test_same_bytes_again(stage):
    """CR10: at once, while the first connection lives, and after it has ended."""
    server = stage.server()
    target = stage.target()
    request, _ = sip004.request(METHOD, PASSWORD, target.host, target.port, b"once")
    first = stage.connect(server.port)
    first.sendall(request)
    assert sip004.Peer(first, METHOD, PASSWORD).read(4) == b"once"
    for _ in range(2):
        again = stage.connect(server.port)
        again.sendall(request)
        assert ending(again, 0.5) == (b"", "open")
        first.close()
    assert len(target.conns) == 1


def test_same_salt_with_another_request(stage):
    server = stage.server()
    target = stage.target()
    salt = bytes(range(32))
    for payload, served in ((b"one", True), (b"two", False)):
        sock = stage.connect(server.port)
        sock.sendall(sip004.request(METHOD, PASSWORD, target.host, target.port, payload, salt)[0])
        if served:
            assert sip004.Peer(sock, METHOD, PASSWORD).read(3) == payload
        else:
            assert ending(sock, 0.5) == (b"", "open")
    assert len(target.conns) == 1


def test_two_half_sent_copies(stage):
    """CR08: exactly one of them is served, wherever the copies were cut."""
    server = stage.server()
    target = stage.target()
    for served, cut in enumerate((31, 32, 42, 49, 50, 60), start=1):
        request, _ = sip004.request(METHOD, PASSWORD, target.host, target.port, b"copy")
        copies = [stage.connect(server.port) for _ in range(2)]
        for sock in copies:
            sock.sendall(request[:cut])
        time.sleep(0.1)
        for sock in copies:
            sock.sendall(request[cut:])
        answering = select.select(copies, [], [], kit.PATIENCE)[0]
        assert answering, f"nobody is served, cut at {cut}"
        answers = [ending(sock, 0.2)[0] for sock in copies]
        assert sorted(map(bool, answers)) == [False, True], f"cut at {cut}"
        assert len(target.conns) == served


def test_forged_copy_does_not_burn_the_salt(stage):
    """Only what authenticates is remembered: a copy with a broken box does not lock the real
    request out.
    """
    server = stage.server()
    target = stage.target()
    request, _ = sip004.request(METHOD, PASSWORD, target.host, target.port, b"real")
    forged = bytearray(request)
    forged[40] ^= 1
    sock = stage.connect(server.port)
    sock.sendall(forged)
    assert ending(sock, 0.3) == (b"", "open")
    sock = stage.connect(server.port)
    sock.sendall(request)
    assert sip004.Peer(sock, METHOD, PASSWORD).read(4) == b"real"


def test_reflected_answer(stage):
    """CR12: what the server sent opens as a request by its form, and is refused for its salt."""
    server = stage.server()
    lured, target = stage.target(), stage.target()
    peer = stage.peer(
        server, target.host, target.port, sip004.header(lured.host, lured.port) + b"boo"
    )
    answer = b""
    while len(answer) < 32 + 34 + 10:
        answer += peer.sock.recv(1 << 16)
    sock = stage.connect(server.port)
    sock.sendall(answer)
    assert ending(sock, 0.5) == (b"", "open")
    assert not lured.conns


def test_answer_replayed_to_the_client(stage):
    """A server that is not ours gives the recorded answer again: local refuses it."""
    recorded = []

    def answer(peer, host, port):
        peer.read(1)
        recorded.append(peer.sealer.salt + peer.sealer.chunk(b"answer"))
        peer.sock.sendall(recorded[0])
        peer.sock.recv(1)

    local = stage.local(stage.stand_in(answer).port)
    for answers in (b"answer", b""):
        sock = stage.add(kit.socks(local.port, "a.test", 80))
        sock.sendall(b"q")
        assert kit.read(sock, len(answers)) == answers
        assert ending(sock, 0.5)[0] == b""
