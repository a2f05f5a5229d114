"""SIP022 packets against a written peer: sessions, windows, moving clients, servers that are started anew, users."""
import base64
import os

import pytest
import sip004
from datagrams import Client, Session, UdpTarget, block, silent, udp

pytestmark = pytest.mark.ours

UDP = {"mode": "tcp_and_udp"}
METHODS = {"2022-blake3-aes-128-gcm": 16, "2022-blake3-aes-256-gcm": 32}
WINDOW = 2048


def key(size, fill):
    return bytes([fill]) * size


def text(raw):
    return base64.b64encode(raw).decode()


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


class Peer:
    """A client of ss-server with a session."""

    def __init__(self, stage, server, method, keys, echo):
        self.server, self.session, self.echo = ("127.0.0.1", server.port), Session(method, keys), echo
        self.sock = stage.add(udp())
        self.head = sip004.header(echo.host, echo.port)

    def send(self, data=b"x", sock=None, **options):
        packet = self.session.seal(self.head + data, **options)
        (sock or self.sock).sendto(packet, self.server)
        return packet

    def answer(self, sock=None):
        """(server's session, number, payload); the session answered is ours, and the source the target."""
        session, number, answered, host, port, payload = self.session.open((sock or self.sock).recv(70000))
        assert answered == self.session.id and (host, port) == (self.echo.host, self.echo.port)
        return session, number, payload

    def ask(self, data=b"x", sock=None, **options):
        self.send(data, sock, **options)
        assert self.echo.take()[0] == data
        return self.answer(sock)


@pytest.fixture
def peer(stage, method):
    size = METHODS[method]
    server = stage.server(method=method, password=text(key(size, 1)), **UDP)
    peer = Peer(stage, server, method, [key(size, 1)], stage.add(UdpTarget()))
    peer.program = server
    return peer


def test_a_session(peer):
    first, number, payload = peer.ask(b"one")
    assert (number, payload) == (0, b"one")
    second, number, payload = peer.ask(b"two", padding=700)
    assert (second, number, payload) == (first, 1, b"two")
    assert peer.ask(b"")[2] == b""


@pytest.mark.parametrize("start", [0, 1, 7, 1 << 40])
def test_any_number_may_be_the_first(peer, start):
    peer.session.number = start
    peer.ask(b"first")
    peer.ask(b"second")


def test_window(peer):
    peer.ask(number=5000)
    for number in (4999, 5000 - WINDOW + 1, 3500):
        peer.ask(number=number)
    for number in (5000, 4999, 3500, 5000 - WINDOW, 0):  # seen, or too old
        peer.send(number=number)
    peer.echo.silent()
    peer.ask(number=9000)
    peer.send(number=5000)
    peer.echo.silent()


def test_what_is_wrong_burns_no_number(peer):
    peer.ask(number=1)
    for wrong in ({"kind": 1}, {"ahead": 40}, {"ahead": -40}):
        peer.send(number=2, **wrong)
    good = peer.session.seal(peer.head + b"x", number=2)
    peer.sock.sendto(good[:-1] + bytes([good[-1] ^ 1]), peer.server)
    peer.echo.silent()
    peer.ask(number=2)
    for number, right in ((3, 25), (4, -25)):
        peer.ask(ahead=right, number=number)


def test_a_client_may_move(stage, peer):
    """After a packet that is right, and not by one that is replayed or forged."""
    first, _, _ = peer.ask(b"here")
    elsewhere = stage.add(udp())
    old = peer.send(b"again", number=100)
    peer.echo.take(), peer.answer()
    elsewhere.sendto(old, peer.server)  # a replay
    elsewhere.sendto(old[:-1] + b"\0", peer.server)
    peer.echo.silent()
    assert peer.ask(b"still here", number=101)[0] == first
    silent(elsewhere, 0.1)
    assert peer.ask(b"there", elsewhere, number=102)[0] == first
    silent(peer.sock, 0.1)
    assert peer.program.state()["association"] == 1


def test_sessions_have_ports_of_their_own(stage, peer, method):
    other = Peer(stage, peer.program, method, peer.session.keys, peer.echo)
    other.sock = peer.sock  # even from the same address
    ports = set()
    for one in (peer, other):
        one.send(b"x")
        ports.add(peer.echo.take()[1])
        one.answer()
    assert len(ports) == 2


def test_users(stage, method):
    size = METHODS[method]
    psk, alice, bob, nobody = (key(size, fill) for fill in (1, 2, 3, 4))
    server = stage.server(method=method, password=text(psk), **UDP, users=[
        {"name": "alice", "password": text(alice)}, {"name": "bob", "password": text(bob)},
    ])
    echo = stage.add(UdpTarget())
    peers = [Peer(stage, server, method, [psk, user], echo) for user in (alice, bob)]
    for peer in peers:
        peer.ask(b"hello")
    for keys in ([psk, nobody], [psk], [nobody, alice]):
        Peer(stage, server, method, keys, echo).send(repr(keys).encode())
    peers[0].send(b"as bob", keys=[psk, bob])  # another user in alice's session
    echo.silent()
    peers[0].ask(b"still")
    local = stage.local(server, method=method, password=f"{text(psk)}:{text(alice)}", **UDP)
    assert stage.add(Client(local.port)).echoes(echo, b"through local")


class Server:
    """A server for ss-local: receives and sends by hand."""

    def __init__(self, stage, method, **config):
        size = METHODS[method]
        self.method, self.key = method, key(size, 1)
        self.sock = stage.add(udp())
        self.local = stage.local(self.sock.getsockname()[1], method=method, password=text(self.key), **UDP,
                                 **config)
        self.app = stage.add(Client(self.local.port))

    def hear(self):
        """The session of the next packet."""
        packet, self.client = self.sock.recvfrom(70000)
        return block(self.key, packet[:16], decrypt=True)[:8]

    def start(self):
        return Session(self.method, [self.key], server=True)

    def answer(self, session, to, data=b"answer", **options):
        head = sip004.header("192.0.2.7", 99)
        self.sock.sendto(session.seal(head + data, answers=to, **options), self.client)


@pytest.fixture
def stand_in(stage, method):
    server = Server(stage, method)
    server.app.send(("192.0.2.7", 99), b"x")
    server.to = server.hear()
    return server


def test_local_takes_answers_once(stand_in):
    session = stand_in.start()
    for number in (7, 5, 6):
        stand_in.answer(session, stand_in.to, number=number)
        assert stand_in.app.receive() == (b"answer", ("192.0.2.7", 99))
    for number in (5, 6, 7):
        stand_in.answer(session, stand_in.to, number=number)
    stand_in.app.silent()


def test_local_refuses(stand_in):
    session = stand_in.start()
    for wrong in ({"to": os.urandom(8)}, {"to": stand_in.to, "kind": 0}, {"to": stand_in.to, "ahead": 40}):
        stand_in.answer(session, **wrong)
    stand_in.app.silent()
    stand_in.answer(session, stand_in.to, number=0)
    assert stand_in.app.receive()[0] == b"answer"


def test_local_keeps_its_session(stand_in):
    for _ in range(3):
        stand_in.app.send(("192.0.2.8", 100), b"x")
        assert stand_in.hear() == stand_in.to


def test_local_survives_a_new_server(stand_in):
    """Two server sessions at once, and no third while both are fresh."""
    old, new, third = stand_in.start(), stand_in.start(), stand_in.start()
    for session in (old, new, old, new):
        stand_in.answer(session, stand_in.to)
        assert stand_in.app.receive()[0] == b"answer"
    stand_in.answer(third, stand_in.to)
    stand_in.app.silent()
    stand_in.answer(new, stand_in.to)
    assert stand_in.app.receive()[0] == b"answer"


@pytest.mark.parametrize("policy, padded", [("dns", [53]), ("none", []), ("all", [53, 54]), (None, [53])])
def test_padding(stage, method, policy, padded):
    """The length of what goes to a name server tells nothing, unless the user wants it otherwise."""
    server = Server(stage, method, **({"udp_padding": policy} if policy else {}))
    lengths = {53: set(), 54: set()}
    for port in lengths:
        for _ in range(10):
            server.app.send(("192.0.2.7", port), b"query")
            lengths[port].add(len(server.sock.recv(70000)))
    for port, seen in lengths.items():
        assert len(seen) > 5 if port in padded else len(seen) == 1
