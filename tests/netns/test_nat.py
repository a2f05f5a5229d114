"""The rules of ss-nat, and of ss-redir --nat: what they turn to the program, what they leave alone, and that nothing
that is to be proxied ever leaves otherwise. With nft, and with iptables as where there is no nft.
"""
import collections
import contextlib
import itertools
import pathlib
import re
import signal
import socket

import kit
import pytest
from dnsstub import DnsStub
from lab import family_of
from services import EchoTarget, UdpEcho, start_redir, start_server

pytestmark = pytest.mark.ours
NAT = kit.BUILD / "ss-nat"
TOOLS = ("nft", "iptables")
TPROXY = "0x53530002"


class Nat:
    """ss-nat on the router, with one of the tools."""

    def __init__(self, lab, tool):
        self.lab, self.tool = lab, tool

    def __call__(self, *args, status=0):
        return self.lab.router.run(NAT, f"--{self.tool}", *args, status=status)

    def apply(self, redir, *args, udp=True, version=4):
        return self("-s", self.lab.SERVER[version], "-l", redir.port, *(["-u"] if udp else []), *args)

    def state(self):
        """All that rules could be in, without what counts or numbers."""
        router = self.lab.router
        saves = ["nft -s list ruleset"] if self.tool == "nft" else ["iptables-save", "ip6tables-save"]
        saves += ["ip -4 rule", "ip -6 rule", "ip -4 route show table all", "ip -6 route show table all"]
        text = "\n".join(router.run(*save.split()) for save in saves)
        lines = (line.split(" [")[0] for line in text.splitlines() if not line.startswith("#"))
        # link-local addresses come and settle by themselves
        return [line for line in lines if "fe80:" not in line and "ff00::/8 dev" not in line]


@pytest.fixture(params=TOOLS)
def nat(request, lab):
    return Nat(lab, request.param)


@pytest.fixture(params=("redirect", "tproxy"))
def flags(request):
    return ["-T"] if request.param == "tproxy" else []


def echoes(target, machine):
    with contextlib.closing(target.connect(machine)) as sock:
        sock.sendall(b"hello")
        return kit.read(sock, 5) == b"hello"


def refused(target, machine):
    with pytest.raises(ConnectionError):
        target.connect(machine)
    return True


def unanswered(target, machine):
    with pytest.raises((TimeoutError, PermissionError)):  # the latter where our own kernel has dropped it
        target.ask(machine, b"hello", timeout=0.5)
    return True


def both(lab, stage, host):
    return stage.add(EchoTarget(lab, host)), stage.add(UdpEcho(lab, host))


def test_lan(lab, stage, nat, flags, version):
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage, args=flags)
    nat.apply(redir, *flags)
    for _ in range(2):
        assert echoes(tcp, lab.client)
        assert udp.ask(lab.client, b"hello") == b"hello"
    assert tcp.sources == [lab.EXIT[version]] * 2 and udp.sources == [lab.EXIT[version]]


def test_own_traffic(lab, stage, nat, flags, version):
    """With -o what the router sends is proxied; what ss-redir sends, by either IP, is not turned back to it."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage, args=flags)
    nat("-s", "192.0.2.1", "-l", redir.port, "-u", "-o", *flags)  # not the server: only its mark keeps it out
    for machine in lab.router, lab.client:
        assert echoes(tcp, machine)
        assert udp.ask(machine, b"hello") == b"hello"
    assert tcp.sources == [lab.EXIT[version]] * 2 and udp.sources == [lab.EXIT[version]]
    nat.apply(redir, *flags)
    tcp.sources.clear()
    assert echoes(tcp, lab.router)
    assert tcp.sources[0] not in (lab.EXIT[version], lab.CLIENT[version])


def test_an_own_mark(lab, stage, nat, version):
    """fwmark says another mark for connections; answers over UDP, also of others than were asked, have the usual one."""
    other = (lab.OTHER[version], 7008)
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    udp = stage.add(UdpEcho(lab, lab.TARGET[version], answer_from=[other]))
    redir = start_redir(lab, stage, fwmark=77)
    nat("-s", "192.0.2.1", "-l", redir.port, "-u", "-o", "--fwmark", 77)
    assert echoes(tcp, lab.client)
    with contextlib.closing(lab.client.socket(family_of(udp.host), socket.SOCK_DGRAM)) as sock:
        sock.sendto(b"hello", (udp.host, udp.port))
        assert {sock.recvfrom(100)[1][:2] for _ in range(2)} == {(udp.host, udp.port), other}


def test_what_is_not_proxied(lab, stage, nat, flags, version, tmp_path):
    tcp, udp = both(lab, stage, lab.TARGET[version])
    away, away_udp = both(lab, stage, lab.OTHER[version])
    redir = start_redir(lab, stage, args=flags)
    networks = tmp_path / "networks"
    networks.write_text(f"# the other one\n{lab.OTHER[4]}\n{lab.OTHER[6]} # too\n")
    for how in ["-b", f"{lab.OTHER[4]},{lab.OTHER[6]}"], ["-i", networks]:
        away.sources.clear()
        nat.apply(redir, *how, *flags)
        assert echoes(tcp, lab.client) and tcp.sources.pop() == lab.EXIT[version]
        assert echoes(away, lab.client) and away.sources == [lab.CLIENT[version]]
        assert away_udp.ask(lab.client, b"hello") == b"hello" and away_udp.sources == [lab.CLIENT[version]]
    # -w is stronger
    nat.apply(redir, "-b", "0.0.0.0/0 ::/0", "-w", f"{lab.TARGET[4]} {lab.TARGET[6]}", *flags)
    assert echoes(tcp, lab.client) and tcp.sources == [lab.EXIT[version]]
    assert udp.ask(lab.client, b"hello") == b"hello" and udp.sources == [lab.EXIT[version]]


def test_servers_are_not_proxied(lab, stage, nat, version):
    """Whatever -w says."""
    redir = start_redir(lab, stage)
    nat.apply(redir, "-w", "0.0.0.0/0,::/0", version=version)
    with lab.server:
        target = stage.add(kit.Target(kit.echo, lab.SERVER[version]))
    with contextlib.closing(lab.client.socket(family_of(target.host))) as sock:
        sock.connect((target.host, target.port))
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"
    assert not redir.log().count("refused")


def test_whose(lab, stage, nat, version):
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage)
    client = f"{lab.CLIENT[4]} {lab.CLIENT[6]}"
    for whose, source in (
        ("w" + client, lab.EXIT), ("b" + client, lab.CLIENT), ("w192.168.1.77,fd00:1::77", lab.CLIENT),
        ("b192.168.1.77", lab.EXIT), ("W192.168.0.0/16,fd00::/8", lab.EXIT),
    ):
        tcp.sources.clear()
        udp.sources.clear()
        nat.apply(redir, "-a", whose, "-I", "lan")
        assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello")
        assert tcp.sources == udp.sources == [source[version]]


def test_three_kinds_of_sources(lab, stage, nat, version):
    """b is stronger than w and w than f, to whom no list of targets applies; those that are in none: see w."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage)
    client, away = f"{lab.CLIENT[4]} {lab.CLIENT[6]}", f"{lab.TARGET[4]} {lab.TARGET[6]}"
    for args, source in (
        (["-a", "f" + client], lab.EXIT), (["-a", "f" + client, "-b", away], lab.EXIT),
        (["-a", "f" + client, "-a", "w" + client, "-b", away], lab.CLIENT),
        (["-a", "f" + client, "-a", "b" + client], lab.CLIENT),
        (["-a", "w", "-a", "f" + client, "--listed-only"], lab.EXIT), (["-a", "w"], lab.CLIENT),
    ):
        tcp.sources.clear()
        udp.sources.clear()
        nat.apply(redir, *args)
        assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello")
        assert tcp.sources == udp.sources == [source[version]], args


def test_listed_only(lab, stage, nat, flags, version):
    """Of all targets only those of -w are proxied; -b are exceptions."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage, args=flags)
    target = f"{lab.TARGET[4]} {lab.TARGET[6]}"
    for args, source in (
        ([], lab.CLIENT), (["-w", target], lab.EXIT), (["-w", "0.0.0.0/0 ::/0"], lab.EXIT),
        (["-w", "0.0.0.0/0 ::/0", "-b", target], lab.CLIENT),
    ):
        tcp.sources.clear()
        udp.sources.clear()
        nat.apply(redir, "--listed-only", *args, *flags)
        assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello")
        assert tcp.sources == udp.sources == [source[version]], args


def test_own_traffic_in_part(lab, stage, nat, version):
    """TCP alone; and all targets though others may reach only some."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage)
    for args, proxied in (
        (["--output-tcp"], (True, False)), (["-o", "--listed-only"], (False, False)),
        (["--output-all", "--listed-only"], (True, True)),
        (["--output-all", "--output-tcp", "--listed-only"], (True, False)),
        (["--output-all", "--listed-only", "-b", f"{lab.TARGET[4]} {lab.TARGET[6]}"], (False, False)),
    ):
        tcp.sources.clear()
        udp.sources.clear()
        nat.apply(redir, *args)
        assert echoes(tcp, lab.router) and udp.ask(lab.router, b"hello")
        assert (tcp.sources == [lab.EXIT[version]], udp.sources == [lab.EXIT[version]]) == proxied, args


def test_interfaces(lab, stage, nat, version):
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage)
    for interfaces, source in (["-I", "la+"], lab.EXIT), (["-I", "wan"], lab.CLIENT), (["-I", "wan", "-I", "lan"], lab.EXIT):
        nat.apply(redir, *interfaces)
        assert echoes(tcp, lab.client)
        assert tcp.sources.pop() == source[version]


def test_only_ipv4(lab, stage, nat, version):
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage)
    nat.apply(redir, "-o")
    nat.apply(redir, "-4", "-o")  # the rules for IPv6 go
    assert echoes(tcp, lab.client) and echoes(tcp, lab.router)
    assert (tcp.sources == [lab.EXIT[4]] * 2) == (version == 4)


@pytest.mark.parametrize("output", (False, True), ids=("", "own"))
def test_killed(lab, stage, nat, flags, version, output):
    """Nobody listens: TCP is refused, datagrams are dropped, nothing goes out unproxied."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage, args=flags)
    nat.apply(redir, *flags, *(["-o"] if output else []))
    machine = lab.router if output else lab.client
    assert echoes(tcp, machine) and udp.ask(machine, b"hello") == b"hello"
    tcp.sources.clear()
    udp.sources.clear()
    redir.kill()
    for _ in range(2):
        with pytest.raises((ConnectionError, TimeoutError) if flags else ConnectionError):
            tcp.connect(machine, timeout=1 if flags else kit.PATIENCE)
        assert unanswered(udp, machine)
    assert tcp.sources == [] and udp.sources == []
    nat("-f")
    assert echoes(tcp, machine) and udp.ask(machine, b"hello") == b"hello"


def test_without_the_way_in(lab, stage, nat, version):
    """Somebody has taken away the routing rule: what is marked does not go out."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_redir(lab, stage, args=["-T"])
    nat.apply(redir, "-T", "-o")
    assert udp.ask(lab.client, b"hello") == b"hello"
    udp.sources.clear()
    lab.router.ip(f"-{version}", "rule", "del", "fwmark", TPROXY)
    for machine in lab.client, lab.router:
        assert unanswered(udp, machine)
        with pytest.raises((ConnectionError, TimeoutError, PermissionError)):
            tcp.connect(machine, timeout=0.5)
    assert tcp.sources == [] and udp.sources == []


def test_what_was_open_before(lab, stage, nat, flags, version):
    """A connection that went out by itself is ended, not left to go on."""
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage, args=flags)
    with contextlib.closing(tcp.connect(lab.client)) as sock:
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"
        nat.apply(redir, *flags)
        with pytest.raises(ConnectionError):
            for _ in range(2):
                sock.sendall(b"again")
                sock.recv(5)


def test_from_outside(lab, stage, nat, flags, version):
    """Connections from the world to the network are not touched, nor their answers."""
    redir = start_redir(lab, stage, args=flags)
    nat.apply(redir, *flags, "-I", "lan")
    with lab.client:
        target = stage.add(kit.Target(kit.echo, lab.CLIENT[version]))
    with contextlib.closing(lab.target.socket(family_of(target.host))) as sock:
        sock.connect((target.host, target.port))
        sock.sendall(b"hello")
        assert kit.read(sock, 5) == b"hello"


def own_rules(lab, tool):
    """What the machine had before: rules in the same places."""
    if tool == "nft":
        lab.router.run("nft", "-f", "-", text="""table inet mine {
            chain prerouting { type nat hook prerouting priority dstnat; tcp dport 9 redirect to :9; }
            chain forward { type filter hook forward priority filter; meta mark 7 drop; }\n}\n""")
        return
    for program in "iptables", "ip6tables":
        for table, chain in itertools.product(("nat", "mangle"), ("PREROUTING", "OUTPUT")):
            lab.router.run(program, "-t", table, "-A", chain, "-p", "tcp", "--dport", "9", "-j", "ACCEPT")
        lab.router.run(program, "-t", "mangle", "-A", "POSTROUTING", "-j", "ACCEPT")
        lab.router.run(program, "-A", "FORWARD", "-m", "mark", "--mark", "7", "-j", "DROP")


@pytest.mark.parametrize("first, second", [
    (["-u", "-o"], ["-u", "-o"]), (["-u", "-o"], []), ([], ["-T", "-u", "-I", "lan", "-a", "w192.168.1.2"]),
])
def test_twice_and_gone(lab, nat, first, second):
    """Whatever was applied before, the second is as if it were alone; removed, all is as before."""
    own_rules(lab, nat.tool)
    server = ["-s", lab.SERVER[4], "-l", "1080"]
    before = nat.state()
    nat("-f")
    assert nat.state() == before
    nat(*server, *second)
    alone = nat.state()
    assert alone != before
    nat(*server, *second)
    assert nat.state() == alone
    nat(*server, *first)
    nat(*server, *second)
    if nat.tool == "nft":
        assert nat.state() == alone
    for _ in range(2):
        nat("-f")
        assert nat.state() == before


def test_the_script_does_the_same(lab, nat):
    flags = ["-s", lab.SERVER[4], "-l", "1080", "-u", "-o", "-b", "1.2.3.0/24"]
    nat(*flags)
    applied = nat.state()
    nat("-f")
    script = nat(*flags, "--print")
    assert nat.state() != applied
    for _ in range(2):
        lab.router.run("sh", text=script)
        assert nat.state() == applied
    lab.router.run("sh", text=nat("-f", "--print"))
    assert not any("53530002" in line for line in nat.state())


def test_nothing_is_applied_by_mistake(lab, nat, tmp_path):
    networks = tmp_path / "networks"
    networks.write_text("10.0.0.0/8\n10.0.0.0/8x\n")
    server = ["-s", lab.SERVER[4], "-l", "1080"]
    before = nat.state()
    assert f"{networks}:2: '10.0.0.0/8x' is neither" in nat(*server, "-i", networks, status=1)
    for wrong, why in (
        (["-b", "nonsense"], "-b has 'nonsense'"), (["-a", "192.168.1.2"], "must begin with w"), (["-I", "a b"], "interface"),
        (["-U"], "-U needs"), (["--fwmark", "0x53530001"], ""), (["-l", "70000"], "port"), (["-e", "x\n-F"], "-e"),
        (["--no-such"], "no-such"),
    ):
        assert why in nat(*server, *wrong, status=1)
    assert "server is missing" in nat("-l", "1080", status=1)
    assert "port of ss-redir is missing" in nat("-s", "1.2.3.4", status=1)
    assert nat.state() == before


def test_failure_is_told_in_its_words(lab, nat):
    """The rule of routing cannot be made: `ip` says why, so does ss-nat, and it ends with 1."""
    said = lab.router.run("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", NAT, f"--{nat.tool}",
                          "-s", "1.2.3.4", "-l", "1080", "-u", status=1)
    assert said.startswith("ss-nat: ip -4 route replace local") and "permitted" in said


@pytest.mark.parametrize("udp", ([], ["-u"], ["-U", "-S", "2a0e:67::9", "-L", "1081"]))
@pytest.mark.parametrize("tool", TOOLS)
def test_all_flags_are_understood(lab, tool, udp):
    """By nft -c, and by iptables-restore --test: every combination of what changes the rules."""
    choices = ([[], ["-T"]], [[], ["-o"]], [[], ["-4"]], [[], ["-a", "w192.168.1.2"], ["-a", "bfd00::/8"]],
               [[], ["-I", "lan", "-I", "w+", "-b", "1.2.3.4 ::/0", "-w", "0.0.0.0/0", "--fwmark", "9"]])
    texts = collections.defaultdict(str)  # for each program, all its rules one after the other
    for choice in itertools.product(*choices):
        script = lab.router.run(NAT, "--print", f"--{tool}", "-s", "45.66.0.2", "-l", "1080", *udp, *itertools.chain(*choice))
        for program, text in re.findall(r"^(\S+)[^\n]* <<'END'\n(.*?)^END$", script, re.M | re.S):
            texts[program] += text
    check = {"nft": ["-c", "-f", "-"], "iptables-restore": ["--test"], "ip6tables-restore": ["--test"]}
    for program, text in texts.items():
        lab.router.run(program, *check[program], text=text)
    assert set(texts) == ({"nft"} if tool == "nft" else set(check) - {"nft"})


def test_conditions_of_iptables(lab, stage, version):
    nat = Nat(lab, "iptables")
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    redir = start_redir(lab, stage)
    for dport, source in (tcp.port, lab.EXIT), (tcp.port + 1, lab.CLIENT):
        lab.router.run(NAT, "-s", lab.SERVER[4], "-l", redir.port, "-e", f"--dport {dport}")
        assert echoes(tcp, lab.client) and tcp.sources.pop() == source[version]
    nat("-f")


def test_names_count_with_all_their_addresses(lab):
    script = lab.router.run(NAT, "--print", "--nft", "-s", "localhost", "-l", "1080")
    servers = script.split("set proxied4")[0]
    assert "127.0.0.1/32" in servers and "::1/128" in servers


def test_a_country(lab, stage, nat, version, tmp_path):
    """A list as long as the routes of a country is taken, and decides."""
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    away = stage.add(EchoTarget(lab, lab.OTHER[version]))
    networks = tmp_path / "networks"
    lines = [f"{a}.{b}.0.0/17\n" for a in range(1, 44) for b in range(100)] + [f"2400:{a:x}::/33\n" for a in range(3000)]
    networks.write_text("".join(lines) + f"{lab.OTHER[version]}\n")
    redir = start_redir(lab, stage)
    nat.apply(redir, "-i", networks)
    assert echoes(tcp, lab.client) and echoes(away, lab.client)
    assert tcp.sources == [lab.EXIT[version]] and away.sources == [lab.CLIENT[version]]


# --- ss-redir --nat

def has_rules(lab, tool="nft"):
    rules = {"nft": "table inet shadowsocks" in lab.router.run("nft", "list", "tables"),
             "iptables": "SS_NAT_WHERETO" in lab.router.run("ip6tables-save")}
    assert rules[tool] == (TPROXY in lab.router.ip("rule")) == (TPROXY in lab.router.ip("-6", "rule"))
    return rules[tool]


def start_with_rules(lab, stage, tool="nft", **options):
    redir = start_redir(lab, stage, **options)
    kit.eventually(lambda: "nat: the rules are in place" in redir.log(), "ss-redir has its rules")
    assert has_rules(lab, tool)
    return redir


@pytest.mark.parametrize("user", (None, "nobody"))
@pytest.mark.parametrize("tool", TOOLS)
def test_redir_has_its_rules(lab, stage, version, user, tool):
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_with_rules(lab, stage, tool, args=["--nat", "--nat-opts", f"-I lan -o --{tool}"],
                             **({"user": user} if user else {}))
    for machine in lab.client, lab.router:
        assert echoes(tcp, machine) and udp.ask(machine, b"hello") == b"hello"
    assert tcp.sources == [lab.EXIT[version]] * 2 and udp.sources == [lab.EXIT[version]]
    redir.stop()
    assert not has_rules(lab, tool)
    assert echoes(tcp, lab.client) and tcp.sources[-1] == lab.CLIENT[version]


def test_redir_is_killed(lab, stage, version):
    """Its rules stay, and hold; those of the next one replace them, and go with it."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    redir = start_with_rules(lab, stage, nat=True, tcp_tproxy=True)
    redir.kill()
    assert has_rules(lab)
    with pytest.raises((ConnectionError, TimeoutError)):
        tcp.connect(lab.client, timeout=1)
    assert unanswered(udp, lab.client) and tcp.sources == [] and udp.sources == []
    redir = start_with_rules(lab, stage, nat=True)
    assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello") == b"hello"
    assert tcp.sources == udp.sources == [lab.EXIT[version]]
    redir.stop()
    assert not has_rules(lab)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_rules_of_the_next(lab, stage, version, tool):
    """Another one is started before the first ends: the rules are those of the latter, and stay."""
    tcp, udp = both(lab, stage, lab.TARGET[version])
    first, second = (start_with_rules(lab, stage, tool, args=["--nat", "--nat-opts", f"--{tool}"]) for _ in range(2))
    first.signal(signal.SIGTERM)
    assert first.wait(kit.PATIENCE) == 0 and "what is there stays" in first.log() and has_rules(lab, tool)
    assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello") == b"hello"
    assert tcp.sources == udp.sources == [lab.EXIT[version]]
    second.stop()
    assert not has_rules(lab, tool)


@pytest.mark.parametrize("tool", TOOLS)
def test_ipv6_is_switched_off(lab, stage, tool):
    """As on many routers, by sysctl: IPv4 is proxied; should IPv6 come back, nothing of it leaves unproxied."""
    def switch(off):
        with lab.router:
            for where in "all", "default", "lo", "lan", "wan":
                pathlib.Path("/proc/sys/net/ipv6/conf", where, "disable_ipv6").write_text(off)

    switch("1")
    tcp, udp = both(lab, stage, lab.TARGET[4])
    redir = start_redir(lab, stage, args=["-T", "--nat", "--nat-opts", f"--{tool}"])
    kit.eventually(lambda: "nat: the rules are in place" in redir.log(), redir.log)
    assert echoes(tcp, lab.client) and udp.ask(lab.client, b"hello") == b"hello"
    assert tcp.sources == udp.sources == [lab.EXIT[4]]
    switch("0")
    lab.router.ip("address", "add", "fd00:1::1/64", "dev", "lan", "nodad")
    lab.router.ip("address", "add", "2a0e:66::1/64", "dev", "wan", "nodad")
    lab.router.ip("-6", "route", "add", "default", "via", "2a0e:66::2")
    tcp, udp = both(lab, stage, lab.TARGET[6])
    with pytest.raises(OSError):
        tcp.connect(lab.client, timeout=1)
    assert unanswered(udp, lab.client) and tcp.sources == udp.sources == []
    redir.stop()
    assert TPROXY not in lab.router.ip("rule") and echoes(tcp, lab.client)


@pytest.mark.parametrize("config, why", [
    ({"nat_opts": "-b nonsense"}, "nat_opts: "), ({"nat_opts": "-f"}, "have no place here"),
    ({"nat_opts": "-T"}, "-T has no place here"),
    ({"nat_opts": "-i /nowhere"}, "cannot open /nowhere"), ({"user": "no-such-user"}, "could not be found"),
])
def test_redir_does_not_start(lab, stage, config, why):
    """What fails before, and what fails when the rules are in place: none stay."""
    keys = {"server": "45.66.0.2", "server_port": 1, "local_port": kit.free_port(), "password": "p", "method": kit.METHOD,
            "nat": True, "mode": "tcp_and_udp", **config}
    with lab.router:
        redir = stage.program("redir", keys)
    assert redir.wait(kit.PATIENCE) == 255
    assert why in redir.log()
    assert ("rules are removed" in redir.log()) == ("user" in config)
    assert not has_rules(lab)


def test_own_questions_are_not_turned_back(lab, stage, version):
    """The server has a name; the router's own traffic is proxied, ss-redir's questions about it are not."""
    tcp = stage.add(EchoTarget(lab, lab.TARGET[version]))
    server, keys = start_server(lab, stage)
    with lab.target:
        names = stage.add(DnsStub({"server.example": [lab.SERVER[4], lab.SERVER[6]]}, ttl=1, host=lab.OTHER[4]))
    with lab.router:
        redir = start_redir(lab, stage, server=(server, {"server": "server.example", **keys}),
                            args=["--nat", "--nat-opts", "-o"], nameserver=names.address)
    kit.eventually(lambda: "nat: the rules are in place" in redir.log(), "ss-redir has its rules")

    def asked_again():
        assert echoes(tcp, lab.client)
        return len(names.asked) > 4

    kit.eventually(asked_again, "it asks again", within=60)
    assert set(tcp.sources) == {lab.EXIT[version]} and names.askers == {"45.66.0.1"}
