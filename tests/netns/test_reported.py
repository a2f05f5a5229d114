"""Faults that were reported in comparable software, by their names in the shared collection, where they take a router."""
import contextlib
import socket
import time

import kit
import pytest
from lab import family_of
from rules import BY_HAND, Nft
from services import EchoTarget, UdpEcho, start_redir

pytestmark = pytest.mark.ours


@pytest.mark.parametrize("kind", BY_HAND, ids=lambda kind: kind.name)
def test_RD01_ipv6_tproxy_options(lab, stage, kind, version):
    """UDP of both families, on 0.0.0.0 and on ::."""
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, local_address="::" if version == 6 else "0.0.0.0")
    kind(lab.router).tproxy("udp", redir.port)
    assert target.ask(lab.client, b"hello") == b"hello"


@pytest.mark.parametrize("way", ("redirect", "tproxy"))
def test_RD03_straight_to_the_port(lab, stage, way, version):
    """Without any rule, so that the kernel knows of no destination, and with rules: refused, and nothing is left."""
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=["-T"] if way == "tproxy" else [])

    def knock():
        for _ in range(10):
            with contextlib.closing(lab.client.socket(family_of(target.host))) as sock:
                sock.connect((lab.ROUTER[version], redir.port))
                assert kit.ending(sock, 5)[0] == b""
        redir.rests()

    knock()
    rules = Nft(lab.router)
    rules.redirect(redir.port) if way == "redirect" else rules.tproxy("tcp", redir.port)
    knock()
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"


def test_RD05_connect_timer(lab, stage):
    """A connection that is silent for longer than a connect may take lives on."""
    target = stage.add(EchoTarget(lab, lab.TARGET[4]))
    redir = start_redir(lab, stage, timeout=3)
    Nft(lab.router).redirect(redir.port)
    with contextlib.closing(target.connect(lab.client)) as sock:
        for _ in range(2):
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"
            time.sleep(4.5)  # the very silence that is tested
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"
