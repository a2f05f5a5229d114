"""What ss-redir may do, as whom; the marks and classes of what it sends; and that it leaves connections alone."""
import contextlib
import re
import socket
import time

import kit
import pytest
from lab import family_of
from rules import BY_HAND, MARK, Nft
from services import EchoTarget, UdpEcho, start_redir, start_server

pytestmark = pytest.mark.ours
WITHOUT = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin")
NET_ADMIN = 1 << 12


def config(lab, **more):
    return {"server": lab.SERVER[4], "server_port": 1, "password": "x", "local_address": "::",
            "local_port": kit.free_port(), **more}


@pytest.mark.parametrize("args, what", ((["-T"], "-T"), (["-u"], "UDP"), (["-U"], "UDP")))
def test_without_the_right_tproxy_is_refused(lab, stage, args, what):
    with lab.router:
        redir = stage.program("redir", config(lab), args, prefix=WITHOUT)
    assert redir.wait(kit.PATIENCE) == 255
    assert re.search(rf"{what} is by TPROXY, for which .* CAP_NET_ADMIN", redir.stderr()), redir.stderr()
    assert redir.stderr().count("\n") == 1, redir.stderr()


def serves(lab, target):
    with contextlib.closing(target.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"


def test_without_the_right_redirect_goes_on(lab, stage):
    target = stage.add(EchoTarget(lab, lab.TARGET[4]))
    redir = start_redir(lab, stage, mode="tcp_only", prefix=WITHOUT)
    Nft(lab.router).redirect(redir.port)
    serves(lab, target)
    assert "connections will not be marked" in redir.log()


def test_another_user_keeps_that_right_alone(lab, stage, version):
    """Sockets for answers, and connections with a mark, are opened after the user has changed."""
    try:
        lab.router.run("setpriv", "--reuid=65534", "--clear-groups", "true")
    except AssertionError as error:
        pytest.skip(f"this user cannot become another: {error}")
    tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[version])), stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=["-T", "-a", "65534"])
    rules = Nft(lab.router)
    rules.tproxy("tcp", redir.port)
    rules.tproxy("udp", redir.port)
    kit.eventually(lambda: redir.status("Uid") == "65534", "the user has changed")
    assert int(redir.status("CapEff"), 16) == int(redir.status("CapPrm"), 16) == NET_ADMIN
    serves(lab, tcp)
    assert udp.ask(lab.client, b"hello") == b"hello"


def counters(machine):
    """The packets that each named counter has seen."""
    said = machine.run("nft", "list", "counters")
    return {name: int(packets) for name, packets in re.findall(r"counter c_(\w+) {\s*packets (\d+)", said)}


def count(machine, hook, **rules):
    named = "".join(f"\tcounter c_{name} {{}}\n" for name in rules)
    counted = "".join(f"\t\t{rule} counter name c_{name}\n" for name, rule in rules.items())
    machine.run("nft", "-f", "-", text=f"table inet seen {{\n{named}\tchain one {{\n\t\ttype filter hook {hook} priority 0;\n"
                f"{counted}\t}}\n}}\n")


@pytest.mark.parametrize("given, mark", (({}, MARK), ({"fwmark": 7}, 7), ({"fwmark": 0}, MARK)))
def test_marks(lab, stage, version, given, mark):
    """All that is sent to servers has the mark; answers have the one that rules spare."""
    tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[version])), stage.add(UdpEcho(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, version=version, **given)
    rules = Nft(lab.router)
    rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    count(lab.router, "output",
          marked=f"oifname wan meta l4proto {{ tcp, udp }} meta mark {mark}",
          unmarked=f"oifname wan meta l4proto {{ tcp, udp }} meta mark != {mark}",
          answers=f"oifname lan meta l4proto udp meta mark {MARK}",
          others=f"oifname lan meta l4proto udp meta mark != {MARK}")
    serves(lab, tcp)
    assert udp.ask(lab.client, b"hello") == b"hello"
    seen = counters(lab.router)
    assert seen["marked"] > 3 and seen["unmarked"] == 0 and seen["answers"] == 1 and seen["others"] == 0, seen


def test_dscp(lab, stage, version):
    """Each port of the map has a class for what it sends; the port of -l has none."""
    special = kit.free_port()
    redir = start_redir(lab, stage, version=version, dscp={str(special): "EF"})
    assert f"listening at [::]:{special}" in redir.log()
    tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[version])), stage.add(UdpEcho(lab, lab.TARGET[version]))
    rules, family = Nft(lab.router), "ip6" if version == 6 else "ip"
    count(lab.server, "input",
          tcp=f"iifname wan meta l4proto tcp {family} dscp ef", udp=f"iifname wan meta l4proto udp {family} dscp ef")
    rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    serves(lab, tcp)
    assert udp.ask(lab.client, b"hello") == b"hello"
    assert counters(lab.server) == {"tcp": 0, "udp": 0}
    lab.router.run("nft", "flush", "ruleset")
    rules.redirect(special)
    rules.tproxy("udp", special)
    serves(lab, tcp)
    assert udp.ask(lab.client, b"hello") == b"hello"
    seen = counters(lab.server)
    assert seen["tcp"] > 2 and seen["udp"] == 1, seen
