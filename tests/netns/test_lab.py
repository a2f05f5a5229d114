"""The lab itself: without rules everything reaches everything, from its own address, and nothing reaches the machine."""
import contextlib
import socket

import kit
import pytest
from services import EchoTarget, UdpEcho


def test_tcp_passes_unproxied(lab, stage, version):
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"
    assert target.sources == [lab.CLIENT[version]]


def test_udp_passes_unproxied(lab, stage, version):
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    assert target.ask(lab.client, b"hello") == b"hello"
    assert target.sources == [lab.CLIENT[version]]


def test_nothing_leaves(lab):
    """No machine sees an interface of the one that tests it."""
    for machine in (lab.client, lab.router, lab.server, lab.target):
        names = {line.split(":")[1].split("@")[0].strip() for line in machine.ip("-o", "link").splitlines()}
        assert names <= {"lo", "lan", "wan", "far", "sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0",
                         "ip6_vti0", "ip6gre0", "dummy0"}, names
    with lab.client, pytest.raises(OSError):
        socket.create_connection((lab.ROUTER[4], kit.free_port()), timeout=2)
