"""The package for OpenWrt: its init script under busybox's ash with a stand-in for procd, on configurations as the old
package shadowsocks-libev has them; the rules that its sections ss_rules become; its Makefile."""

import json
import os
import pathlib
import stat
import subprocess
import sys

import kit
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/netns"))
HERE = pathlib.Path(__file__).parent / "openwrt"
PACKAGE = ROOT / "dist/openwrt"
INIT = PACKAGE / "files/shadowsocks-libev.init"


def section(kind, name=None, **options):
    lines = [f"config {kind}" + (f" '{name}'" if name else "")]
    for option, value in options.items():
        quoted = [str(one).replace("'", "'\\''") for one in (value if isinstance(value, list) else [value])]
        lines += [f"\t{'list' if isinstance(value, list) else 'option'} {option} '{one}'" for one in quoted]
    return "\n".join(lines) + "\n\n"


class Router:
    """Where the init script runs."""

    def __init__(self, folder, ash):
        self.folder, self.ash, self.enter = folder, ash, None
        self.bin, self.conf, self.uci = folder / "bin", folder / "conf", folder / "uci"
        self.uci.mkdir()
        self.bin.mkdir()
        for name in ("local", "server", "tunnel", "redir", "nat"):
            (self.bin / f"ss-{name}").symlink_to(kit.BUILD / f"ss-{name}")

    def record_nat(self):
        """Instead of making rules, note what is asked for."""
        nat = self.bin / "ss-nat"
        nat.unlink()
        nat.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" end >>{self.folder}/nat\n')
        nat.chmod(0o755)

    def asked_of_nat(self):
        """The words of each call."""
        text = (self.folder / "nat").read_text() if (self.folder / "nat").exists() else ""
        (self.folder / "nat").unlink(missing_ok=True)
        return [call.split("\n")[:-1] for call in text.split("end\n")[:-1]]

    def __call__(self, action, config=None):
        """(instances by name: {"command": words, ...}, what was logged)"""
        if config is not None:
            (self.uci / "shadowsocks-libev").write_text(config)
        argv = [*self.ash, HERE / "rc.common", INIT, action]
        env = {**os.environ, "UCI": str(self.uci), "SS_BINDIR": str(self.bin), "SS_CONFDIR": str(self.conf)}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        self.output = done.stdout
        return self.parse(done.stdout), done.stderr

    @staticmethod
    def parse(text):
        found, words = {}, None
        for line in text.splitlines():
            if line.startswith("instance "):
                found[line.split()[1]] = instance = {}
            elif line.startswith("set "):
                words = instance[line.split()[1]] = []
            elif line.startswith("append "):
                words = instance[line.split()[1]]
            elif line.startswith("\t"):
                words.append(line[1:])
        return found


@pytest.fixture(params=["busybox ash", "dash"])
def router(request, tool, tmp_path):
    tool(request.param.split()[0])
    return Router(tmp_path, request.param.split())


def run(stage, instance):
    """As procd does; until the end of the test."""
    return stage.program(instance["command"][0].rsplit("-", 1)[1], argv=instance["command"])


def old_config(**ports):
    """All kinds of sections, with the options that the old package knows."""
    common = {"disabled": 0, "mode": "tcp_and_udp", "timeout": 60, "fast_open": 1, "verbose": 1, "reuse_port": 1}
    return (
        section("ss_local", server="sss0", local_address="127.0.0.1", local_port=ports["local"], no_delay=1, **common)
        + section("ss_tunnel", server="sss0", local_port=ports["tunnel"], tunnel_address=f"127.0.0.1:{ports['target']}",
                  ipv6_first=1, mtu=1492, **common)
        + section("ss_redir", "hi", server="sss0", local_address="127.0.0.1", local_port=ports["redir"], **common)
        + section("ss_redir", "hj", server="sss0", local_address="127.0.0.1", local_port=ports["redir"], **common)
        + section("server", "sss0", disabled=0, server="127.0.0.1", server_port=ports["server"], method="aes-256-cfb",
                  password=ports.get("password", "11111111"))
        + section("ss_server", disabled=0, server_port=ports["server"], method="aes-256-cfb", mode="tcp_and_udp",
                  password=ports.get("password", "11111111"), bind_address="127.0.0.1", user=os.getuid())
        + section("ss_server", disabled=1, server_port=1, password="x", method="aes-256-cfb")
    )  # fmt: skip


@pytest.mark.parametrize("password", ["11111111", "a\"b\\c'd $e `f` \u00fc"])
def test_an_old_configuration_runs(stage, router, password):
    """Every program of it starts as procd would start it, and they relay for each other."""
    target = stage.target()
    ports = {name: kit.free_port() for name in ("local", "tunnel", "redir", "server")}
    router.record_nat()
    instances, log = router("start", old_config(**ports, target=target.port, password=password))
    assert sorted(name.split(".")[0] for name in instances) == [
        "ss_local", "ss_redir", "ss_redir", "ss_server", "ss_tunnel"]
    assert not log
    for name, instance in instances.items():
        command, conf = instance["command"], pathlib.Path(instance["file"][0])
        assert command[:3] == [str(router.bin / f"ss-{name.split('.')[0][3:]}"), "-c", str(conf)]
        assert ("-v" in command, "--no-delay" in command) == (not name.startswith("ss_server"), name.startswith("ss_local"))
        assert instance["respawn"] == [] and stat.S_IMODE(conf.stat().st_mode) == 0o600
        keys = json.loads(conf.read_bytes())
        assert keys["password"] == password and keys["use_syslog"] is True
    programs = [run(stage, instance) for instance in instances.values()]
    for port in ports.values():
        kit.eventually(lambda port=port: kit.listening(port), lambda: "".join(p.log() for p in programs))
    assert all(program.alive() for program in programs)
    sock = stage.add(kit.socks(ports["local"], target.host, target.port))
    sock.sendall(b"ping")
    assert kit.read(sock, 4) == b"ping"
    sock = stage.connect(ports["tunnel"])
    sock.sendall(b"pong")
    assert kit.read(sock, 4) == b"pong"
    router("stop")
    assert not router.conf.exists()


def test_keys(router):
    """The names of options are those of keys; numbers are numbers, truths truths."""
    router.record_nat()
    instances, _ = router("start", (
        section("server", "s", server="192.0.2.1", server_port=8388, method="m", password="p", key="k", plugin="obfs",
                plugin_opts="a;b")
        + section("ss_local", "l", server="s", local_port=1080, mtu=1492, timeout=30, user="nobody", acl="/etc/a",
                  ipv6_first="true", memory_limit="6M")
        + section("ss_server", "v", server_port=1, password="q", local_ipv4_address="192.0.2.9", local_ipv6_address="::1")
    ))  # fmt: skip
    keys = json.loads(pathlib.Path(instances["ss_local.l"]["file"][0]).read_bytes())
    assert keys == {
        "use_syslog": True, "server": "192.0.2.1", "server_port": 8388, "method": "m", "password": "p", "key": "k",
        "plugin": "obfs", "plugin_opts": "a;b", "local_address": "0.0.0.0", "local_port": 1080, "acl": "/etc/a",
        "ipv6_first": True, "fast_open": False, "reuse_port": False, "mode": "tcp_only", "user": "nobody",
        "memory_limit": "6M", "mtu": 1492, "timeout": 30,
    }  # fmt: skip
    keys = json.loads(pathlib.Path(instances["ss_server.v"]["file"][0]).read_bytes())
    assert (keys["local_ipv4_address"], keys["local_ipv6_address"]) == ("192.0.2.9", "::1")
    assert "server" not in keys


@pytest.mark.parametrize("where", ["the section", "its server", "no server"])
def test_disabled(router, where):
    router.record_nat()
    config = section("server", "s", server="192.0.2.1", server_port=1, disabled=int(where == "its server"))
    config += section("ss_local", "l", server="" if where == "no server" else "s", local_port=1,
                      disabled=int(where == "the section"))
    assert router("start", config)[0] == {}


# ---- ss_rules

BASE = section("server", "s", server="192.0.2.1", server_port=8388) + section("server", "t", server="t.example", server_port=1)
REDIRS = (section("ss_redir", "a", server="s", local_port=1100, mode="tcp_and_udp")
          + section("ss_redir", "b", server="t", local_port=1200, mode="udp_only"))
HEAD = ["-s", "192.0.2.1", "-s", "t.example"]
TCP, UDP = ["-l", "1100"], ["-U", "-S", "t.example", "-L", "1100"]


@pytest.mark.parametrize("options, words", [
    ({"redir_tcp": "a", "redir_udp": "a"}, [*TCP, *UDP, "--listed-only"]),
    ({"redir_tcp": "a"}, [*TCP, "--listed-only"]),
    ({"redir_udp": "b"}, ["-U", "-S", "t.example", "-L", "1200", "--listed-only"]),
    ({"redir_tcp": "a", "dst_default": "forward"}, TCP),
    ({"redir_tcp": "a", "dst_default": "forward", "dst_ips_bypass": ["192.0.2.7", "198.51.100.0/24"],
      "dst_ips_forward": ["8.8.8.8"]}, [*TCP, "-b", "192.0.2.7 198.51.100.0/24"]),
    ({"redir_tcp": "a", "dst_ips_bypass": ["8.8.8.8"], "dst_ips_forward": ["8.8.8.0/24"]},
     [*TCP, "-b", "8.8.8.8", "--listed-only", "-w", "8.8.8.0/24"]),
    ({"redir_tcp": "a", "src_ips_bypass": ["192.168.1.3"], "src_ips_forward": ["192.168.1.4", "fd00::4"],
      "src_ips_checkdst": ["192.168.1.5"]}, [*TCP, "-a", "b192.168.1.3", "-a", "f192.168.1.4 fd00::4", "--listed-only"]),
    ({"redir_tcp": "a", "src_default": "bypass", "src_ips_checkdst": ["192.168.1.5"]},
     [*TCP, "-a", "w192.168.1.5", "--listed-only"]),
    ({"redir_tcp": "a", "src_default": "forward", "src_ips_checkdst": ["192.168.1.5"]},
     [*TCP, "-a", "w192.168.1.5", "-a", "f0.0.0.0/0 ::/0", "--listed-only"]),
    ({"redir_tcp": "a", "local_default": "checkdst"}, [*TCP, "--listed-only", "--output-tcp"]),
    ({"redir_tcp": "a", "local_default": "forward"}, [*TCP, "--listed-only", "--output-tcp", "--output-all"]),
    ({"redir_udp": "b", "local_default": "forward"}, ["-U", "-S", "t.example", "-L", "1200", "--listed-only"]),
    ({"redir_tcp": "a", "ifnames": ["br-lan", "wlan0"], "ipt_args": "-m owner --uid-owner 7"},
     [*TCP, "--listed-only", "-I", "br-lan", "-I", "wlan0", "-e", "-m owner --uid-owner 7"]),
    ({"redir_tcp": "a", "nft_tcp_extra": "tcp dport { 80, 443 }", "nft_udp_extra": "udp dport 53"},
     [*TCP, "--listed-only", "--nft-tcp", "tcp dport { 80, 443 }", "--nft-udp", "udp dport 53"]),
    ({"redir_tcp": "a", "dst_ips_bypass_file": "/dev/null/no", "dst_ips_forward_file": str(ROOT / "LICENSE"),
      "dst_default": "bypass"}, [*TCP, "--listed-only", "-W", str(ROOT / "LICENSE")]),
])  # fmt: skip
def test_rules(router, options, words):
    router.record_nat()
    _, log = router("start", BASE + REDIRS + section("ss_rules", "ss_rules", **options))
    assert router.asked_of_nat() == [HEAD + words]
    assert not log


@pytest.mark.parametrize("options", [
    {"redir_tcp": "a", "disabled": 1}, {}, {"redir_tcp": "b"}, {"redir_tcp": "no_such"},
])  # fmt: skip
def test_no_rules(router, options):
    """What is there of ours is taken away then."""
    router.record_nat()
    router("start", BASE + REDIRS + section("ss_rules", "ss_rules", **options))
    assert router.asked_of_nat() == [["-f"]]


def test_what_has_no_effect_is_said(router):
    router.record_nat()
    _, log = router("start", BASE + REDIRS + section("ss_rules", "ss_rules", redir_tcp="a", dst_forward_recentrst=1))
    assert "dst_forward_recentrst has no effect any more" in log


def test_triggers(router):
    router("triggers")
    assert router.output.splitlines() == ["trigger interface wan", "trigger config shadowsocks-libev"]


def test_the_packages_own_configuration(router):
    """Nothing of it runs before its owner says so; then all of it."""
    router.record_nat()
    config = (PACKAGE / "files/shadowsocks-libev.config").read_text()
    assert router("start", config)[0] == {}
    assert router.asked_of_nat() == [["-f"]]
    instances, log = router("start", config.replace("disabled '1'", "disabled '0'"))
    assert len(instances) == 4 and not log
    for instance in instances.values():
        json.loads(pathlib.Path(instance["file"][0]).read_bytes())


# ---- on a router, in network namespaces


@pytest.fixture
def lab():
    import lab as laboratory

    why = laboratory.missing()
    if why:
        pytest.skip(why)
    with laboratory.Lab() as lab:
        yield lab


@pytest.mark.parametrize("options, proxied", [
    # (the client's TCP, its UDP, the router's own TCP, its UDP)
    ({"dst_default": "forward"}, (True, True, False, False)),
    ({"dst_default": "forward", "local_default": "forward"}, (True, True, True, False)),
    ({"dst_default": "forward", "src_default": "bypass"}, (False, False, False, False)),
    ({"dst_default": "forward", "src_ips_bypass": ["192.168.1.2"]}, (False, False, False, False)),
    ({"dst_default": "forward", "dst_ips_bypass": ["45.67.0.0/24"]}, (False, False, False, False)),
    ({}, (False, False, False, False)),
    ({"dst_ips_forward": ["45.67.0.2"], "local_default": "checkdst"}, (True, True, True, False)),
    ({"dst_ips_forward": ["45.67.0.0/16"], "dst_ips_bypass": ["45.67.0.2"]}, (False, False, False, False)),
    ({"src_ips_forward": ["192.168.1.0/24"], "dst_ips_bypass": ["45.67.0.2"]}, (True, True, False, False)),
    ({"local_default": "forward", "ifnames": "wan"}, (False, False, True, False)),
    ({"dst_default": "forward", "nft_tcp_extra": "tcp dport { 1, 2 }"}, (False, True, False, False)),
])  # fmt: skip
def test_the_network_is_proxied(lab, tool, tmp_path, options, proxied):
    """ss-redir and ss-nat as the script starts them, between machines of the test's own."""
    from services import EchoTarget, UdpEcho, start_server

    tool("busybox")
    with kit.Stage() as stage:
        tcp, udp = stage.add(EchoTarget(lab, lab.TARGET[4])), stage.add(UdpEcho(lab, lab.TARGET[4]))
        _, keys = start_server(lab, stage)
        config = (section("server", "s", server=lab.SERVER[4], server_port=keys["server_port"], method=keys["method"],
                          password=keys["password"])
                  + section("ss_redir", "r", server="s", local_port=1100, mode="tcp_and_udp")
                  + section("ss_rules", "ss_rules", redir_tcp="r", redir_udp="r", **options))
        router = Router(tmp_path, ["busybox", "ash"])
        with lab.router:
            instances, log = router("start", config)
            assert not log
            run(stage, instances["ss_redir.r"])
            kit.eventually(lambda: kit.listening(1100), "ss-redir listens")
        seen = []
        for machine in lab.client, lab.router:
            with tcp.connect(machine) as sock:
                sock.sendall(b"hello")
                assert kit.read(sock, 5) == b"hello"
            kit.eventually(lambda: tcp.sources, "the target was reached")
            assert udp.ask(machine, b"hello") == b"hello"
            seen += [tcp.sources == [lab.EXIT[4]], udp.sources[-1:] == [lab.EXIT[4]]]
            tcp.sources.clear()
            udp.sources.clear()
        assert tuple(seen) == proxied
        with lab.router:
            router("stop")
        assert "shadowsocks" not in lab.router.run("nft", "list", "ruleset")


# ---- the package


def package(goal, *flags, **variables):
    argv = ["make", *flags, "-C", PACKAGE, "-f", "Makefile", f"TOPDIR={HERE}/sdk", goal]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run([*argv, *(f"{name}={value}" for name, value in variables.items())], check=True, text=True,
                          capture_output=True, timeout=600, env=clean).stdout


def test_package_installs(tmp_path):
    """With the names that scripts look for, as links to one file."""
    build = tmp_path / "source/build"
    build.mkdir(parents=True)
    (build / "ss").write_bytes((kit.BUILD / "ss").read_bytes())
    package("install", PKG_BUILD_DIR=tmp_path / "source", DESTINATION=tmp_path / "root")
    names = subprocess.run([kit.BUILD / "ss", "--list"], check=True, capture_output=True, text=True).stdout.split()
    bin = tmp_path / "root/usr/bin"
    assert sorted(path.name for path in bin.iterdir()) == sorted(["shadowsocks", *names])
    for name in names:
        assert os.readlink(bin / name) == "shadowsocks"
    assert os.access(tmp_path / "root/etc/init.d/shadowsocks-libev", os.X_OK)
    done = subprocess.run([bin / "ss-key", "aes-256-gcm"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert "/etc/config/shadowsocks-libev" in package("conffiles")


def test_package_compiles():
    """Our Makefile understands what it is asked for: as far as make -n goes."""
    steps = package("compile", "-n", PKG_BUILD_DIR=ROOT).splitlines()
    command = next(line for line in steps if line.startswith("make "))
    done = subprocess.run(f"{command} -n B=build/openwrt", shell=True, check=True, capture_output=True, text=True)
    assert "mv -f build/openwrt/ss.new" in done.stdout and " -O1 " in done.stdout


def test_package_is_of_this_version():
    text = (PACKAGE / "Makefile").read_text()
    version = next(line.split(":=")[1].strip() for line in text.splitlines() if line.startswith("PKG_VERSION"))
    assert f"VERSION := {version}\n" in (ROOT / "Makefile").read_text()
