"""Datagrams through ss-redir: of all sizes, many at once, answered by others than were asked; and what answers may cost."""
import contextlib
import re
import socket

import kit
import pytest
from lab import family_of
from rules import BY_HAND, Nft
from services import TARGET_PORT, UdpEcho, start_redir, start_server

pytestmark = pytest.mark.ours
IP_TRANSPARENT, IPV6_TRANSPARENT = (socket.IPPROTO_IP, 19), (socket.IPPROTO_IPV6, 75)
GUISES = 256  # sockets for answers, at most
BURST = 64


def redirected(lab, stage, **config):
    redir = start_redir(lab, stage, **config)
    Nft(lab.router).tproxy("udp", redir.port)
    return redir


class Talk:
    """A client's socket, and whom the target sees: the server's socket for this client."""

    def __init__(self, lab, stage, version):
        self.host = lab.TARGET[version]
        family = family_of(self.host)
        self.client = stage.add(lab.client.socket(family, socket.SOCK_DGRAM))
        self.target = stage.add(lab.target.socket(family, socket.SOCK_DGRAM))
        self.target.bind((self.host, TARGET_PORT))
        self.client.sendto(b"hello", (self.host, TARGET_PORT))
        data, self.server = self.target.recvfrom(100)
        assert data == b"hello"
        assert self.answered(self.target, b"first")

    def answered(self, sock, data):
        """True if an answer from this socket of the target machine arrives, as one from there."""
        sock.sendto(data, self.server)
        got, peer = self.client.recvfrom(65535)
        return got == data and peer[:2] == sock.getsockname()[:2]


@pytest.mark.parametrize("size", (0, 1, 1400, 9000, 60000))
def test_sizes(lab, stage, version, size):
    redirected(lab, stage)
    data = (b"0123456789" * 6000)[:size]
    assert stage.add(UdpEcho(lab, lab.TARGET[version])).ask(lab.client, data) == data


def test_both_versions_on_one_listener(lab, stage):
    redirected(lab, stage)
    for version in (4, 6, 4, 6):
        with contextlib.closing(UdpEcho(lab, lab.TARGET[version])) as target:
            assert target.ask(lab.client, b"hello") == b"hello"


@pytest.mark.parametrize("method, password", (
    ("2022-blake3-aes-256-gcm", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="), ("chacha20-ietf-poly1305", "x")))
def test_bursts(lab, stage, version, method, password):
    """Equal ones in a row, which the kernel may merge and cut: all arrive, as they were."""
    redirected(lab, stage, server=start_server(lab, stage, method=method, password=password))
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    with contextlib.closing(lab.client.socket(family_of(target.host), socket.SOCK_DGRAM)) as sock:
        for _ in range(4):
            sent = [number.to_bytes(2, "big") * 600 for number in range(BURST)]
            for data in sent:
                sock.sendto(data, (target.host, target.port))
            got = [sock.recvfrom(65535) for _ in sent]
            assert sorted(data for data, _ in got) == sent
            assert {peer[:2] for _, peer in got} == {(target.host, target.port)}


def test_many_targets_of_one_client(lab, stage, version):
    redirected(lab, stage)
    targets = [stage.add(UdpEcho(lab, host, port)) for host in (lab.TARGET[version], lab.OTHER[version])
               for port in range(7100, 7110)]
    with contextlib.closing(lab.client.socket(family_of(lab.TARGET[version]), socket.SOCK_DGRAM)) as sock:
        for target in targets:
            sock.sendto(target.host.encode(), (target.host, target.port))
        got = {(peer[:2], data) for data, peer in (sock.recvfrom(100) for _ in targets)}
    assert got == {((t.host, t.port), t.host.encode()) for t in targets}
    assert {source for t in targets for source in t.sources} == {lab.EXIT[version]}


def test_answers_of_others(lab, stage, version):
    """Who learns where the client's datagrams come from may write to it (full cone)."""
    redirected(lab, stage)
    talk = Talk(lab, stage, version)
    other = stage.add(lab.target.socket(family_of(talk.host), socket.SOCK_DGRAM))
    other.bind((lab.OTHER[version], 4444))
    assert talk.answered(other, b"it is me")
    assert talk.answered(talk.target, b"and me again")


def test_a_flood_of_sources(lab, stage, version):
    """Each of which costs a socket, but never more than there are for it; they go when nobody is left to answer."""
    redir = redirected(lab, stage, udp_timeout=10)
    talk = Talk(lab, stage, version)
    for port in range(20000, 20000 + 3 * GUISES):
        with contextlib.closing(lab.target.socket(family_of(talk.host), socket.SOCK_DGRAM)) as voice:
            voice.bind((lab.OTHER[version], port))
            assert talk.answered(voice, b"%d" % port)
        assert redir.fds() <= redir.idle_fds + GUISES + 2
    assert redir.fds() > redir.idle_fds + GUISES - 2
    assert talk.answered(talk.target, b"still there")
    redir.rests(within=60)


@pytest.mark.parametrize("source", ("192.168.1.1", "45.66.0.1", "fd00:1::1"))
def test_forged_sources(lab, stage, source):
    """Whoever can forge addresses gets no socket bound to one of the router's own."""
    version = 6 if ":" in source else 4
    redir = redirected(lab, stage)
    talk = Talk(lab, stage, version)
    forger = stage.add(lab.target.socket(family_of(source), socket.SOCK_DGRAM))
    forger.setsockopt(*(IPV6_TRANSPARENT if version == 6 else IP_TRANSPARENT), 1)
    forger.bind((source, 5353))
    forger.sendto(b"forged", talk.server)
    assert talk.answered(talk.target, b"after it")
    assert f"cannot answer from {f'[{source}]' if version == 6 else source}:5353" in redir.log()
    assert not re.search(r":5353\b", lab.router.run("ss", "-Hulpn"))


@pytest.mark.parametrize("kind", BY_HAND, ids=lambda kind: kind.name)
def test_two_clients(lab, stage, kind):
    redir = start_redir(lab, stage)
    kind(lab.router).tproxy("udp", redir.port)
    target = stage.add(UdpEcho(lab, lab.TARGET[4]))
    lab.client.ip("address", "add", "192.168.1.3/24", "dev", "lan")
    socks = []
    for source in ("192.168.1.2", "192.168.1.3"):
        socks.append(stage.add(lab.client.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        socks[-1].bind((source, 5000))  # the same port
    for sock in socks:
        sock.sendto(sock.getsockname()[0].encode(), (target.host, target.port))
    for sock in socks:
        data, peer = sock.recvfrom(100)
        assert (data, peer) == (sock.getsockname()[0].encode(), (target.host, target.port))
