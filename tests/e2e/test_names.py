"""Names as targets: which questions are asked, what happens while no answer comes, which address is
taken.
"""

import os
import random
import subprocess
import time

import kit
import pytest
import sip004
from dnsstub import A, AAAA
from kit import ending, reset


def ask(stage, server, name, port, payload=b"hi", **options):
    """A sealed connection to the server that asks for this name, as a name."""
    sock = stage.connect(server.port, **options)
    peer = sip004.Peer(sock, kit.METHOD, kit.PASSWORD)
    peer.send(sip004.name_header(name, port) + payload)
    return peer


def answered(stage, server, name, port):
    return ask(stage, server, name, port).read(2) == b"hi"


def with_dns(stage, table, **config):
    """(server that asks our name server, name server, an echo target)."""
    dns_options = {key: config.pop(key) for key in ("delay", "truncate", "ttl", "tcp_delay") if key in config}
    dns = stage.dns(table, **dns_options)
    return stage.server(nameserver=dns.address, **config), dns, stage.target()


def test_through_both(stage):
    dns = stage.dns({"name.test": ["127.0.0.1"]})
    server, local = stage.pair(nameserver=dns.address)
    target = stage.target()
    sock = stage.socks(local, target, host="name.test")
    sock.sendall(b"hi")
    assert kit.read(sock, 2) == b"hi"


@pytest.mark.parametrize("ipv6_first", [False, True])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_one_family_only(stage, address, ipv6_first):
    """DN05: the family that is preferred need not exist."""
    dns = stage.dns({"one.test": [address]})
    server = stage.server(nameserver=dns.address, ipv6_first=ipv6_first)
    target = stage.target(host=address)
    assert answered(stage, server, "one.test", target.port)


@pytest.mark.ours
@pytest.mark.parametrize("ipv6_first, first", [(False, "127.0.0.1"), (True, "::1")])
def test_order_of_families(stage, ipv6_first, first):
    server, _, _ = with_dns(stage, {"both.test": ["127.0.0.1", "::1"]}, ipv6_first=ipv6_first)
    target = stage.target(port=kit.free_port())
    other = stage.target(host="::1", port=target.port)
    assert answered(stage, server, "both.test", target.port)
    assert {True: target, False: other}[first == "127.0.0.1"].conns


def test_slow_answers(stage):
    server, _, target = with_dns(stage, {"slow.test": ["127.0.0.1"]}, delay=1)
    clock = kit.Stopwatch()
    assert answered(stage, server, "slow.test", target.port)
    assert clock() < 4  # after five seconds it would be asked again


def test_no_answer_at_all(stage):
    """DN03: the connection ends in a bounded time, the processor idles, others are served."""
    server, _, _ = with_dns(stage, {"dead.test": "drop"}, timeout=3)
    idle = server.idle_fds
    peers = [ask(stage, server, "dead.test", 80) for _ in range(20)]
    assert kit.works(server)
    assert server.load(1) < 0.1
    for peer in peers:
        assert ending(peer.sock, kit.PATIENCE)[1] != "open"
        peer.sock.close()
    kit.eventually(
        lambda: server.fds() <= idle + 2, lambda: f"{server.fds()} descriptors, {idle} before"
    )


@pytest.mark.ours
def test_no_answer_ends_by_timeout(stage):
    """Look-up and connect have min(10 s, timeout) together."""
    server, _, _ = with_dns(stage, {"dead.test": "drop"}, timeout=2)
    clock, watch = kit.Clock(), kit.Stopwatch()
    assert ending(ask(stage, server, "dead.test", 80).sock, kit.PATIENCE) == (b"", "fin")
    assert 1.5 < clock() and watch() < 6
    server.rests()


@pytest.mark.parametrize("what", ["nx", "empty"])
def test_no_such_name(stage, what):
    """The connection is closed at once."""
    server, _, _ = with_dns(stage, {"no.test": "nx" if what == "nx" else []})
    clock = kit.Stopwatch()
    assert ending(ask(stage, server, "no.test", 80).sock, kit.PATIENCE) == (b"", "fin")
    assert clock() < 4


def test_name_server_that_fails(stage):
    server, _, _ = with_dns(stage, {"bad.test": "servfail"})
    assert ending(ask(stage, server, "bad.test", 80).sock, kit.PATIENCE)[1] == "fin"
    assert kit.works(server)


def test_client_gone_while_resolving(stage):
    """TC15: half of the names exist, half do not."""
    server, dns, _ = with_dns(stage, {"slow.test": ["127.0.0.1"]}, delay=0.5)
    idle = server.idle_fds
    for i in range(60):
        reset(ask(stage, server, "slow.test" if i % 2 else f"nx{i}.test", 9).sock)
        time.sleep(random.random() / 50)
    kit.eventually(lambda: len(dns.asked) > 10, "names are looked up")
    time.sleep(0.6)
    kit.eventually(
        lambda: server.fds() <= idle + 2, lambda: f"{server.fds()} descriptors, {idle} before"
    )
    assert kit.works(server)
    if kit.is_ours("server"):
        kit.eventually(
            lambda: not server.state()["session"] and not server.state()["look-up"],
            lambda: server.state(),
        )


@pytest.mark.ours
def test_many_askers_one_question(stage):
    """The same name is asked once, then kept for as long as it says."""
    server, dns, target = with_dns(stage, {"same.test": ["127.0.0.1"]}, delay=0.2, ttl=5)
    peers = [ask(stage, server, "same.test", target.port) for _ in range(30)]
    assert all(peer.read(2) == b"hi" for peer in peers)
    assert answered(stage, server, "SAME.test", target.port)
    assert dns.questions("same.test", A) == 1 and dns.questions("same.test", AAAA) == 1
    time.sleep(5.1)
    assert answered(stage, server, "same.test", target.port)
    assert dns.questions("same.test", A) == 2


@pytest.mark.ours
def test_more_names_than_look_ups(stage):
    """Different names at once, more than the half of all places that one asker may have: the ones above the limit wait
    their turn. The questions are made before, because a name waits for ten seconds at most, and each of its questions
    for five: beside much else the test itself took longer.
    """
    server, _, target = with_dns(stage, {"*": ["127.0.0.1"]}, delay=0.3)
    peers = [sip004.Peer(stage.connect(server.port), kit.METHOD, kit.PASSWORD) for _ in range(160)]
    for i, peer in enumerate(peers):
        peer.unsent += peer.sealer.chunks(sip004.name_header(f"n{i}.test", target.port) + b"hi")
    for peer in peers:
        peer.send(b"")
    assert all(peer.read(2) == b"hi" for peer in peers)


@pytest.mark.ours
def test_first_address_refuses(stage):
    """DN09: thirty addresses, all but the last refuse."""
    server, _, target = with_dns(
        stage, {"many.test": [f"127.0.0.{i}" for i in range(2, 31)] + ["127.0.0.1"]}
    )
    clock = kit.Stopwatch()
    assert answered(stage, server, "many.test", target.port)
    assert clock() < 4  # with a stagger between each and the next it would be seven


@pytest.mark.ours
def test_first_address_is_silent(stage):
    """The next one is tried after a short stagger (RFC 8305), not after a time-out."""
    server, _, _ = with_dns(stage, {"two.test": ["127.9.9.9", "127.0.0.1"]})
    target = stage.target(port=kit.free_port())
    stage.add(kit.BlackHole("127.9.9.9", target.port))
    clock = kit.Stopwatch()
    assert answered(stage, server, "two.test", target.port)
    assert clock() < 5


def test_sixty_addresses(stage):
    """More than is kept of one name: no overflow."""
    server, _, _ = with_dns(stage, {"sixty.test": [f"127.1.0.{i}" for i in range(60)]})
    ending(ask(stage, server, "sixty.test", 9).sock, kit.PATIENCE)
    assert kit.works(server)


@pytest.mark.ours
def test_truncated_answer(stage):
    """An answer cut for UDP is asked for again over TCP."""
    server, _, target = with_dns(stage, {"cut.test": ["127.0.0.1"]}, truncate=True)
    assert answered(stage, server, "cut.test", target.port)


@pytest.mark.ours
def test_truncated_answer_from_afar(stage):
    """Over TCP it is waited for as long as over UDP."""
    server, dns, target = with_dns(stage, {"far.test": ["127.0.0.1"]}, truncate=True, tcp_delay=2)
    assert answered(stage, server, "far.test", target.port)
    assert len(set(dns.ids)) == 2, "an answer to any of the questions must count"


@pytest.mark.parametrize(
    "name, listen", [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1")]
)
def test_literals_and_localhost_need_no_dns(stage, name, listen):
    server, dns, _ = with_dns(stage, {})
    target = stage.target(host=listen)
    assert answered(stage, server, name, target.port)
    assert not dns.asked


@pytest.mark.ours
@pytest.mark.parametrize(
    "name", ["127.1", "0x7f.1", "2130706433", "-a.test", "a..test", ".test", "a b.test", "a\0b"]
)
def test_odd_spellings_go_nowhere(stage, name):
    """SK09: what is no name and no canonical address reaches neither the target nor the name
    server.
    """
    server, dns, target = with_dns(stage, {"*": ["127.0.0.1"]})
    peer = ask(stage, server, name, target.port)
    ending(peer.sock, 0.5)
    assert not target.conns and not dns.asked
    assert kit.works(server)


def test_long_names(stage):
    """SK05: 253 bytes are asked for as they are, more are refused, nothing is cut."""
    longest = ".".join(["a" * 61, "b" * 63, "c" * 63, "d" * 63])
    assert len(longest) == 253
    server, dns, target = with_dns(stage, {longest: ["127.0.0.1"]})
    local = stage.local(server)
    assert answered(stage, server, longest, target.port)
    sock = stage.socks(local, target, host=longest)
    sock.sendall(b"ok")
    assert kit.read(sock, 2) == b"ok"
    for name in ("a" * 255, "a" * 254, ".".join(["b" * 62] * 4) + ".ccc", "a" * 64 + ".test"):
        ending(ask(stage, server, name, target.port).sock, 0.2)
        kit.socks(local.port, name, target.port).close()
    assert {len(name) for name, _ in dns.asked} <= {253, 254, 255}
    assert kit.works(server, local)


def test_no_search_suffix(stage):
    """The name is asked for as it is first."""
    server, dns, _ = with_dns(stage, {})
    ending(ask(stage, server, "plain", 80).sock, kit.PATIENCE)
    assert dns.asked and dns.asked[0][0] == "plain"


@pytest.mark.ours
def test_hosts_file(stage, tmp_path):
    """DN11: /etc/hosts is read without DNS, whatever its case and line ends, and quickly when it is
    large.
    """
    hosts = tmp_path / "hosts"
    filler = "".join(
        f"10.{i >> 16}.{i >> 8 & 255}.{i & 255} filler{i}.test\n" for i in range(20000)
    )
    hosts.write_text(
        f"# comment\r\n127.0.0.1 Only-Here.test alias.test\r\n::1 six.test\n{filler}127.0.0.1 last.test"
    )
    mount = ["unshare", "--mount", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$0" "$@"']
    if os.geteuid() or subprocess.run(mount + ["true"], capture_output=True).returncode:
        pytest.skip("another /etc/hosts needs root and a mount namespace")
    dns = stage.dns({})
    server = stage.server(nameserver=dns.address, prefix=mount)
    target, six = stage.target(), stage.target(host="::1")
    for name, port in (
        ("only-here.test", target.port),
        ("ALIAS.test", target.port),
        ("six.test", six.port),
    ):
        assert answered(stage, server, name, port)
    before = server.cpu()
    assert answered(stage, server, "last.test", target.port)
    assert server.cpu() - before < 0.1
    assert not dns.asked
