"""Who competes: builds of ours, the peers of the interop tests, and the forwarder that knows no cryptography.

Each starts a chain: a local, or a tunnel to one port, and its server. What was started is kept, command line and
configuration, for the report.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import bench
import kit

sys.path.insert(0, str(bench.HERE.parent / "interop"))
from peers import PEERS  # noqa: E402
from peers.peer import Peer  # noqa: E402

KEYS = {"128": "SeBiKiHKAcdJV6Fu9K+Xfg==", "256": "3L69X4PF2eSL/JIPpLBjQj9rLhBBtgqHYy3AJVNLjz0="}
PLAIN, RENO, FORCED = "plain forwarder", "plain forwarder reno", "aes-ni"
PLAINS = (PLAIN, RENO)
SLOW = ("v2ray", "shadowsocks-python", "blinksocks", "shadowsocks-js")  # far behind: one round of them is enough
NO_TUNNEL = "has no tunnel form: a forwarder in front of it asks its SOCKS5 server"


def password(method):
    if not method.startswith("2022"):
        return kit.PASSWORD
    return KEYS["128" if "aes-128" in method else "256"]


class Ours(Peer):
    """One executable; the version says which methods it has."""

    users = ()

    def __init__(self, name, executable, forced=False):
        self.name, self.executable, self.forced = name, pathlib.Path(executable), forced
        self.programs = (self.executable,)
        self.setup = "make bench"
        self.version, self.methods = "", []
        if not self.missing():
            told = subprocess.run([self.executable, "--version"], capture_output=True, text=True, timeout=60).stdout
            self.version = told.split("\n")[0].split()[-1]
            self.methods = re.search(r"^methods: ((?:.*\n)(?:\s+.*\n)*)", told, re.M).group(1).split()

    def local(self, port, server_port, method, key):
        return [self.executable, "local"], {
            "server": "127.0.0.1", "server_port": server_port, "local_address": "127.0.0.1", "local_port": port,
            "method": method, "password": key, "timeout": 60,
        }

    def tunnel(self, port, server_port, method, key, target):
        _, config = self.local(port, server_port, method, key)
        return [self.executable, "tunnel", "-L", f"127.0.0.1:{target}"], config

    def server(self, port, method, key, users=()):
        return [self.executable, "server"], {
            "server": "127.0.0.1", "server_port": port, "method": method, "password": key, "timeout": 60,
        }


class Plain(Peer):
    """Two forwarders of forward.c; a method means nothing to them. They leave the congestion control to the system,
    or take one: the loopback interface is faster without BBR, which ours knows (net/socket_pace.h)."""

    version = "forward.c"

    def __init__(self, folder, control=None):
        self.name, self.argv = RENO if control else PLAIN, [f"{folder}/forward", *(["-c", control] if control else [])]
        self.programs = (pathlib.Path(self.argv[0]),)

    def has(self, role, method):
        return True

    def tunnel(self, port, server_port, method, key, target):
        return [*self.argv, port, server_port], None

    def forward(self, port, target):
        return [*self.argv, port, target], None


def with_udp(config):
    """Those that want to be told."""
    for element in [config, *config.get("servers", []), *config.get("locals", [])]:
        if "method" in element or "forward_port" in element:
            element["mode"] = "tcp_and_udp"
    return config


class Chain:
    """A local, or with `target` a tunnel, and its server; `port` is where a client comes in."""

    def __init__(self, peer, stage, method, target=None, udp=False, env=None, tools=None):
        self.peer, self.stage, self.env, self.udp = peer, stage, {**peer.env, **(env or {})}, udp
        self.commands, self.notes, self.programs = {}, [], {}
        server_port, self.port, key = kit.free_port(), kit.free_port(), password(method)
        if peer.name in PLAINS:
            self._start("server", server_port, peer.forward(server_port, target))
            self._start("local", self.port, peer.tunnel(self.port, server_port, method, key, target))
            return
        self._start("server", server_port, peer.server(server_port, method, key))
        near = target and peer.tunnel(self.port, server_port, method, key, target)
        self._start("local", self.port, near or peer.local(self.port, server_port, method, key))
        if target and not near:
            entry = kit.free_port()
            stage.program("shim", argv=[f"{tools}/forward", str(entry), str(self.port), str(target)], port=entry)
            self.port = entry
            self.notes.append(NO_TUNNEL)

    def _start(self, role, port, started):
        argv, config = started
        argv = [str(word) for word in argv]
        if self.udp and config:
            config = with_udp(config)
        self.programs[role] = self.stage.program(role, config, argv=argv, port=port, env=self.env, within=60)
        self.commands[role] = " ".join(argv).replace(f"{kit.ROOT}/", "").replace(f"{pathlib.Path.home()}/", "~/") + (f"   # -c {json.dumps(config)}" if config else "")

    def cpu(self):
        """Seconds of each program so far, all threads, also those that have ended."""
        return {role: time.clock_gettime(~program.pid << 3 | 2) for role, program in self.programs.items()}

    def memory(self, field="VmRSS"):
        """KiB of each program."""
        return {role: int(program.status(field)) for role, program in self.programs.items()}

    def split(self):
        """Ticks in user mode and in the kernel, of both programs."""
        fields = [pathlib.Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
                  for program in self.programs.values()]
        return sum(int(words[11]) for words in fields), sum(int(words[12]) for words in fields)

    def switches(self):
        """How often the programs' threads went to sleep and were woken, and how often others pushed them aside."""
        text = "".join((task / "status").read_text() for program in self.programs.values()
                       for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir())
        return tuple(sum(map(int, re.findall(rf"^{kind}_ctxt_switches:\s+(\d+)", text, re.M)))
                     for kind in ("voluntary", "nonvoluntary"))

    def pin(self, processors):
        """All threads of the programs stay on these."""
        for program in self.programs.values():
            for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), processors)

    def alive(self):
        return all(program.alive() for program in self.programs.values())


def ours(builds):
    """The builds that are there, and with them those that may use no wider AES than AES-NI."""
    for name, folder in builds.items():
        yield Ours(name, folder / "ss")
        yield Ours(f"{name} {FORCED}", folder / "tests" / "bench" / "ss-aesni", forced=True)


def field(builds, wanted, tools):
    """Everybody who is here and wanted; what is missing is told."""
    everybody = [*ours(builds), Plain(tools), Plain(tools, "reno"), *PEERS.values()]
    names = [peer.name for peer in everybody]
    if unknown := [name for name in wanted or () if name not in names]:
        sys.exit(f"bench: nobody is called {unknown[0]}; there are: {', '.join(names)}")
    present, absent = [], []
    for peer in everybody:
        if wanted and peer.name not in wanted:
            continue
        reason = peer.missing()
        if reason:
            absent.append(reason)
            print(f"SKIPPED {peer.name}: {reason}", flush=True)
        else:
            present.append(peer)
    return present, absent
