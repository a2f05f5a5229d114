"""ss-redir between a LAN and the world: what the router's rules turn to it arrives at where it was bound for, from the
server's address; and what comes back comes from whom the client wrote to.
"""
import contextlib
import socket

import kit
import pytest
from rules import BY_HAND, Nft
from services import EchoTarget, UdpEcho, start_redir

pytestmark = pytest.mark.ours
IPPROTO_MPTCP = 262


@pytest.fixture(params=BY_HAND, ids=lambda kind: kind.name)
def rules(request, lab):
    return request.param(lab.router)


@pytest.fixture(params=("redirect", "tproxy"))
def tcp(request, rules):
    """Turns TCP to a port; the flags that ss-redir needs for it."""
    def turn(port):
        if request.param == "redirect":
            rules.redirect(port)
        else:
            rules.tproxy("tcp", port)

    turn.args = ["-T"] if request.param == "tproxy" else []
    return turn


def test_tcp(lab, stage, tcp, version):
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=tcp.args)
    tcp(redir.port)
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""
    assert target.sources == [lab.EXIT[version]]


@pytest.mark.parametrize("args", ([], ["-T"]), ids=("redirect", "tproxy"))
def test_workers(lab, stage, version, args):
    """Several processes; what comes to any of them is answered from whom it was for."""
    tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[version])), stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=[*args, "--workers", "3"])
    rules = Nft(lab.router)
    rules.tproxy("tcp", redir.port) if args else rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    for _ in range(12):
        with contextlib.closing(tcp.connect(lab.client)) as sock:
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"
        assert udp.ask(lab.client, b"hello") == b"hello"
    assert tcp.sources == [lab.EXIT[version]] * 12 and udp.sources == [lab.EXIT[version]]


def test_udp(lab, stage, rules, version):
    target = stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage)
    rules.tproxy("udp", redir.port)
    for _ in range(3):
        assert target.ask(lab.client, b"hello") == b"hello"
    assert target.sources == [lab.EXIT[version]]


def test_multipath(lab, stage, rules, version):
    """For the way to the server; a client's own multipath TCP ends at the proxy, which must know its destination."""
    target = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, mptcp=True)
    rules.redirect(redir.port)
    for protocol in (0, IPPROTO_MPTCP):
        try:
            with lab.client:
                sock = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET, socket.SOCK_STREAM, protocol)
        except OSError as error:
            pytest.skip(f"this kernel has no multipath TCP: {error}")
        with contextlib.closing(sock):
            sock.settimeout(5)
            sock.connect((target.host, target.port))
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"
