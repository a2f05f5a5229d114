"""ss-redir between a LAN and the world: what the router's rules turn to it arrives at where it was bound for, from the
server's address; and what comes back comes from whom the client wrote to.
"""
import contextlib
import json
import signal
import socket

import kit
import pytest
from rules import BY_HAND, Nft
from services import EchoTarget, UdpEcho, start_redir, start_server

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
            sock.settimeout(kit.PATIENCE)
            sock.connect((target.host, target.port))
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"


@pytest.mark.parametrize("args", ([], ["-T"]), ids=("redirect", "tproxy"))
def test_other_server(lab, stage, args):
    """A reload leads to another server, and cuts nobody."""
    tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[4])), stage.add(UdpEcho(lab, lab.TARGET[4]))
    first, second = (start_server(lab, stage) for _ in range(2))
    redir = start_redir(lab, stage, args=[*args, "-v"], server=first)
    rules = Nft(lab.router)
    rules.tproxy("tcp", redir.port) if args else rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    stays = stage.add(tcp.connect(lab.client))
    stays.sendall(b"old")
    assert kit.read(stays, 3) == b"old" and udp.ask(lab.client, b"old") == b"old"
    (redir.home / "config.json").write_text(json.dumps({**redir.config, **second[1]}))
    redir.signal(signal.SIGHUP)
    kit.eventually(lambda: "reloaded: other servers" in redir.log(), redir.log)
    with contextlib.closing(tcp.connect(lab.client)) as sock:
        sock.sendall(b"new")
        assert kit.read(sock, 3) == b"new" and udp.ask(lab.client, b"new") == b"new"
        stays.sendall(b"still")
        assert kit.read(stays, 5) == b"still"
        stays.close()
        first[0].stop()
        sock.sendall(b"more")
        assert kit.read(sock, 4) == b"more"


def test_other_server_with_rules(lab, stage):
    """What --nat has put in place names the old one, and cannot be changed without root's rights."""
    target, first = stage.add(EchoTarget(lab, lab.TARGET[4])), start_server(lab, stage)
    redir = start_redir(lab, stage, args=["--nat"], server=first)
    (redir.home / "config.json").write_text(json.dumps({**redir.config, "password": "another"}))
    redir.signal(signal.SIGHUP)
    kit.eventually(lambda: "other servers, with --nat: that takes a new start" in redir.log(), redir.log)
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"x")
        assert kit.read(sock, 1) == b"x"
