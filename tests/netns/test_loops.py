"""No rule and no client makes ss-redir relay to itself: what would is refused, and the log says why."""
import contextlib
import socket

import kit
import pytest
from lab import family_of
from rules import BY_HAND, Nft
from services import EchoTarget, NameServer, UdpEcho, start_redir

pytestmark = pytest.mark.ours


@pytest.fixture(params=BY_HAND, ids=lambda kind: kind.name)
def rules(request, lab):
    return request.param(lab.router)


def knocks(lab, redir, version, times=10):
    """Connect straight to the port of ss-redir; each time it must be refused, and nothing may be left of it."""
    for _ in range(times):
        with contextlib.closing(lab.client.socket(family_of(lab.ROUTER[version]))) as sock:
            sock.connect((lab.ROUTER[version], redir.port))
            data, how = kit.ending(sock, kit.PATIENCE)
            assert data == b"" and how in ("fin", "rst")
    redir.rests()


def serves(lab, target):
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"


def test_without_rules(lab, stage, version):
    """Nothing is tracked, so nothing is known of where it was bound for."""
    redir = start_redir(lab, stage)
    knocks(lab, redir, version)
    assert "refused: it was not turned to us by any rule" in redir.log()


@pytest.mark.parametrize("way", ("redirect", "tproxy"))
def test_straight_to_the_port(lab, stage, rules, way, version):
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=["-T"] if way == "tproxy" else [])
    if way == "redirect":
        rules.redirect(redir.port)
    else:
        rules.tproxy("tcp", redir.port)
    knocks(lab, redir, version)
    assert "refused: it was sent to this port itself" in redir.log()
    serves(lab, target)


def test_another_address_of_the_router(lab, stage, rules):
    """REDIRECT has turned it to the address of the interface, but it was meant for another of ours."""
    redir = start_redir(lab, stage)
    rules.redirect(redir.port)
    with contextlib.closing(lab.client.socket()) as sock:
        sock.connect(("45.66.0.1", redir.port))
        assert kit.ending(sock, 5)[0] == b""
    assert "refused: it was sent to this port itself" in redir.log()


def test_the_same_port_elsewhere(lab, stage, rules, version):
    """Is not a loop."""
    redir = start_redir(lab, stage)
    rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    serves(lab, stage.add(EchoTarget(lab, lab.TARGET[version], port=redir.port)))
    assert stage.add(UdpEcho(lab, lab.TARGET[version], port=redir.port)).ask(lab.client, b"hello") == b"hello"


def test_datagrams_straight_to_the_port(lab, stage, rules, version):
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage)
    rules.tproxy("udp", redir.port)
    with contextlib.closing(lab.client.socket(family_of(target.host), socket.SOCK_DGRAM)) as sock:
        for _ in range(10):
            sock.sendto(b"hello", (lab.ROUTER[version], redir.port))
    kit.eventually(lambda: "dropped: it was sent to this port itself" in redir.log(), "the log tells")
    assert redir.state()["association"] == 0
    assert target.ask(lab.client, b"hello") == b"hello"


@pytest.mark.parametrize("spare", (True, False), ids=("spared", "not spared"))
def test_own_connections(lab, stage, rules, version, spare):
    """Rules for the router itself, which turn what ss-redir sends to its server, too, unless they spare its mark."""
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, version=version)
    rules.redirect(redir.port)
    rules.redirect_own(redir.port, lab.SERVER[version], spare=spare)
    if spare:
        serves(lab, target)
        return
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.ending(sock, 5)[0] == b""
    redir.rests()
    assert "refused: it is what this machine sends to our server" in redir.log()
    assert redir.log().count("refused: it is") == 1


def test_own_connections_by_name(lab, stage):
    """A server that is given by its name is known, too."""
    target = stage.add(EchoTarget(lab, lab.TARGET[4]))
    dns = stage.add(NameServer(lab, lab.TARGET[4], {"ss.test": [lab.SERVER[4]]}))
    redir = start_redir(lab, stage, server_name="ss.test", nameserver=dns.address)
    rules = Nft(lab.router)
    rules.redirect(redir.port)
    rules.redirect_own(redir.port, lab.SERVER[4], spare=False)
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.ending(sock, 5)[0] == b""
    assert "refused: it is what this machine sends to our server" in redir.log()


def test_own_datagrams(lab, stage, version):
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, version=version)
    rules = Nft(lab.router)
    rules.tproxy("udp", redir.port)
    rules.tproxy_own("udp", redir.port, lab.SERVER[version])
    with contextlib.closing(lab.client.socket(family_of(target.host), socket.SOCK_DGRAM)) as sock:
        sock.sendto(b"hello", (target.host, target.port))
        kit.eventually(lambda: "dropped: it is what this machine sends to our server" in redir.log(), redir.log)
    assert redir.state()["association"] == 1
