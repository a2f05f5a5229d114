#!/usr/bin/env python3
"""No heap in steady state: both programs run on a counting allocator, and no connection may move a
counter.

After a warm-up, hundreds of connections of every kind: by address, by name, ended in every way; then
a hundred for every method that is built, and for users.
Allocations inside glibc that reach the kernel past the wrappers would show as mmap or brk: strace
counts those. Exits 1 if anything was counted.
"""

import base64
import concurrent.futures
import contextlib
import mmap
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import datagrams  # noqa: E402
import kit  # noqa: E402

COUNTERS = [
    "malloc",
    "calloc",
    "realloc",
    "aligned",
    "free",
    "mmap",
    "mremap",
    "sbrk",
]  # enum call in count.c
CONNECTIONS = 500
AT_ONCE = 4  # methods
TRACED = "mmap,brk,mremap,munmap"
USERS = ["2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm"]


class Counted:
    """A program on the counting allocator."""

    def __init__(self, stage, library, start):
        file = stage.enter_context(tempfile.NamedTemporaryFile(prefix="noheap-"))
        file.truncate(8 * len(COUNTERS))
        self.map = mmap.mmap(file.fileno(), 8 * len(COUNTERS))
        self.program = start({"LD_PRELOAD": str(library), "NOHEAP_COUNTERS": file.name})
        self.role = self.program.role
        if not self.counts()[0]:
            sys.exit(f"noheap: ss-{self.role} was never seen to allocate: is it linked statically?")

    def counts(self):
        return struct.unpack(f"{len(COUNTERS)}Q", self.map[:])


class Traffic:
    """What is done 500 times; each method is one connection from its beginning to its end."""

    def __init__(self, stage, server, local, dns):
        self.server, self.local, self.dns = server, local, dns
        self.target = stage.target()
        self.rude = stage.target(lambda conn: (conn.recv(1), kit.reset(conn)))
        self.udp, self.udp6 = (
            stage.add(datagrams.UdpTarget(host)) for host in ("127.0.0.1", "::1")
        )
        self.number = 0

    def fresh(self):
        self.number += 1
        return f"n{self.number}.test"

    def echo(self, host, size=1000):
        with kit.socks(self.local.port, host, self.target.port) as sock:
            sock.sendall(b"x" * size)
            kit.read(sock, size)

    def literal(self):
        self.echo("127.0.0.1")

    def different_names(self):
        self.echo(self.fresh())

    def same_name(self):
        self.echo("same.test")

    def megabyte(self):
        self.echo("127.0.0.1", kit.MIB // 4)

    def half_closed(self):
        with kit.socks(self.local.port, "127.0.0.1", self.target.port) as sock:
            sock.sendall(b"x")
            sock.shutdown(socket.SHUT_WR)
            kit.read_all(sock)

    def reset_by_client(self):
        sock = kit.socks(self.local.port, "127.0.0.1", self.target.port)
        sock.sendall(b"x")
        kit.read(sock, 1)
        kit.reset(sock)

    def reset_by_target(self):
        with kit.socks(self.local.port, "127.0.0.1", self.rude.port) as sock:
            sock.sendall(b"x")
            kit.ending(sock, 5)

    def refused(self):
        with kit.socks(self.local.port, "127.0.0.1", 9) as sock:
            sock.sendall(b"x")
            kit.ending(sock, 5)

    def no_such_name(self):
        with kit.socks(self.local.port, self.fresh().replace(".test", ".nowhere"), 9) as sock:
            sock.sendall(b"x")
            kit.ending(sock, 5)

    def forged(self):
        with kit.connect(self.server.port) as sock:
            sock.sendall(os.urandom(200))
            sock.shutdown(socket.SHUT_WR)
            kit.ending(sock, 5)

    def crowd(self):
        """Twenty at once."""
        with contextlib.ExitStack() as stack:
            socks = [
                stack.enter_context(kit.socks(self.local.port, self.fresh(), self.target.port))
                for _ in range(20)
            ]
            for sock in socks:
                sock.sendall(b"x")
            for sock in socks:
                kit.read(sock, 1)

    @staticmethod
    def answer(app, target, data):
        """If the machine stops for a second, an association is over, and its answer is lost: asked again then."""
        for _ in range(10):
            with contextlib.suppress(TimeoutError):
                return app.ask(target, data)[0]
        raise AssertionError(f"{target} does not answer")

    def ask(self, host, data=b"x" * 1200):
        """A datagram of a new client, and the next ones of the same."""
        with contextlib.closing(datagrams.Client(self.local.port, timeout=3)) as app:
            for _ in range(3):
                assert self.answer(app, (host, self.udp.port), data) == data

    def datagrams(self):
        self.ask("127.0.0.1")

    def datagrams_of_v6(self):
        with contextlib.closing(datagrams.Client(self.local.port, timeout=3)) as app:
            assert self.answer(app, ("::1", self.udp6.port), b"six") == b"six"

    def datagrams_to_names(self):
        self.ask(self.fresh())

    def large_datagrams(self):
        self.ask("127.0.0.1", b"x" * 60000)

    def forged_datagrams(self):
        with contextlib.closing(datagrams.udp()) as sock:
            sock.sendto(os.urandom(200), ("127.0.0.1", self.server.port))

    def associates(self):
        with kit.connect(self.local.port) as sock:
            kit.greet(sock)
            assert kit.socks_request(sock, b"\1\0\0\0\0\0\0", cmd=3) == 0
            self.ask("127.0.0.1")

    KINDS = {
        "datagrams": CONNECTIONS,
        "datagrams_of_v6": 100,
        "datagrams_to_names": CONNECTIONS,
        "large_datagrams": 100,
        "forged_datagrams": 100,
        "associates": 100,
        "literal": CONNECTIONS,
        "different_names": CONNECTIONS,
        "same_name": CONNECTIONS,
        "megabyte": 40,
        "half_closed": 100,
        "reset_by_client": 100,
        "reset_by_target": 100,
        "refused": 100,
        "no_such_name": 100,
        "forged": 100,
        "crowd": 10,
    }

    BRIEF = {  # enough to see what a method does
        "literal": 50,
        "same_name": 10,
        "megabyte": 4,
        "half_closed": 10,
        "reset_by_client": 10,
        "reset_by_target": 10,
        "forged": 2,  # with a stream method a second each
    }

    def run(self, kind, times):
        """Without asking for the line of state, which reads a directory and so allocates."""
        for _ in range(times):
            getattr(self, kind)()
        for program in (self.server, self.local):
            kit.eventually(
                lambda: program.fds() <= program.idle_fds, f"{program.role} has closed everything"
            )


def build(folder):
    library = pathlib.Path(folder) / "count.so"
    compiler = os.environ.get("CC", "cc").split()
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-Werror",
        "-O2",
        "-fPIC",
        "-shared",
    ]
    subprocess.run([*compiler, *flags, "-o", library, HERE / "count.c"], check=True)
    return library


def counted(traffic, programs):
    """Rows of what moved while each kind of traffic ran; the number of counters that did."""
    moved = 0
    for kind, times in traffic.KINDS.items():
        before = [p.counts() for p in programs]
        traffic.run(kind, times)
        moved += report(kind, times, programs, before)
    return moved


def report(what, connections, programs, before):
    """A row for each program; the number of counters that moved."""
    moved = 0
    for program, old in zip(programs, before):
        delta = {name: b - a for name, a, b in zip(COUNTERS, old, program.counts()) if b != a}
        moved += len(delta)
        seen = ", ".join(f"{n} {name}" for name, n in delta.items()) or "0 allocations, 0 mmap"
        print(f"{what:38} {connections:4} connections  {program.role:7} {seen}", flush=True)
    return moved


def methods():
    """(label, configuration of the server, of the client) for every method that --version lists, and with users."""
    version = subprocess.run(
        [*kit.command("server"), "--version"], capture_output=True, text=True, check=True
    )
    names = re.search("methods: (.*)", version.stdout)[1].split()
    if len(names) < 37:
        sys.exit(f"noheap: only {len(names)} methods are listed")
    for name in names:
        password = kit.PASSWORD
        if name.startswith("2022-"):
            password = base64.b64encode(b"k" * (16 if "128" in name else 32)).decode()
        config = {"method": name, "password": password}
        yield name, config, config
        if name in USERS:
            user = base64.b64encode(b"u" * (16 if "128" in name else 32)).decode()
            users = [{"name": "u", "password": user}]
            yield (
                name + " with users",
                {**config, "users": users},
                {**config, "password": f"{password}:{user}"},
            )


def count_method(library, dns, label, server_config, local_config):
    """The same for one method, more briefly."""
    with kit.Stage() as stage:
        server = Counted(
            stage,
            library,
            lambda env: stage.server(nameserver=dns.address, env=env, **server_config),
        )
        local = Counted(
            stage, library, lambda env: stage.local(server.program, env=env, **local_config)
        )
        traffic, programs = Traffic(stage, server.program, local.program, dns), (server, local)
        for kind, times in traffic.BRIEF.items():
            traffic.run(kind, min(times, 20))
        before = [p.counts() for p in programs]
        for kind, times in traffic.BRIEF.items():
            traffic.run(kind, times)
        moved = report(label, sum(traffic.BRIEF.values()), programs, before)
        server.program.rests()
        local.program.rests()
    return moved


def count_datagrams(library, dns, label, server_config, local_config):
    """Datagrams alone, for one method. Sessions of 2022 outlive this: nobody waits for their end."""
    moved = 0
    with kit.Stage() as stage:
        server = Counted(
            stage,
            library,
            lambda env: stage.server(
                nameserver=dns.address, env=env, mode="tcp_and_udp", **server_config
            ),
        )
        local = Counted(
            stage,
            library,
            lambda env: stage.local(server.program, env=env, mode="tcp_and_udp", **local_config),
        )
        traffic, programs = Traffic(stage, server.program, local.program, dns), (server, local)
        for count in (20, 100):  # the first are the warm-up
            before = [p.counts() for p in programs]
            for _ in range(count):
                traffic.datagrams()
                traffic.datagrams_to_names()
        moved += report(label + " UDP", 2 * count, programs, before)
    return moved


def for_each_method(pool, library, dns):
    """Started, several at once: most of the time is waiting."""
    counts = (count_method, count_datagrams)
    rows = [*methods(), ("two workers", {"workers": 2}, {"workers": 2})]
    return [pool.submit(count, library, dns, *row) for count in counts for row in rows]


RULES = {
    "direct by rules": ["[bypass_all]"],
    "direct by address": ["[proxy_all]", "[bypass_list]", "127.0.0.0/8", "::1"],
    "through the server by name": [
        "[bypass_all]", "[proxy_list]", r"(^|\.)test$", r"(^|\.)nowhere$", "127.0.0.0/8", "::1"],
}
FREE = ["[outbound_block_list]", "10.0.0.0/8", "fc00::/7", r"(^|\.)blocked\.example$", r"^x\.", "tracker"]
PATTERN = r"^ads?[0-9]+(\.[a-z]{2,5})+$"  # which no table can hold
RULED = {kind: times for kind, times in Traffic.KINDS.items() if kind not in ("forged", "forged_datagrams")}


def count_rules(library, dns, folder, label, lines):
    """Table rules of both programs: the counters that moved."""
    with kit.Stage() as stage:
        paths = [pathlib.Path(folder) / f"{role} {label}.acl" for role in ("local", "server")]
        for path, rules in zip(paths, (lines, FREE)):
            path.write_text("\n".join(rules) + "\n")
        udp = {"mode": "tcp_and_udp", "udp_timeout": 1, "nameserver": dns.address}
        server = Counted(
            stage, library, lambda env: stage.server(env=env, acl=str(paths[1]), **udp)
        )
        local = Counted(
            stage,
            library,
            lambda env: stage.local(server.program, env=env, acl=str(paths[0]), **udp),
        )
        traffic, programs = Traffic(stage, server.program, local.program, dns), (server, local)
        for count in (30, 60):  # the first are the warm-up
            before = [p.counts() for p in programs]
            for kind, times in RULED.items():
                traffic.run(kind, min(times, count))
        moved = report(label, 60 * len(RULED), programs, before)
        server.program.rests()
        local.program.rests()
    return moved


def for_rules(pool, library, dns, folder):
    """Started: table rules allocate nothing."""
    return [pool.submit(count_rules, library, dns, folder, *row) for row in RULES.items()]


def traced(traffic, programs, folder):
    """The same at the border of the kernel: the number of mmap, brk, mremap and munmap calls."""
    if not shutil.which("strace"):
        print(
            "SKIP noheap: strace is not installed; calls that glibc makes by itself were not counted",
            file=sys.stderr,
        )
        return 0
    tracers = []
    for program in programs:
        log = pathlib.Path(folder) / f"{program.role}.strace"
        argv = [
            "strace",
            "-f",
            "-qq",
            "-e",
            f"trace={TRACED}",
            "-o",
            log,
            "-p",
            str(program.program.pid),
        ]
        tracers.append((program, log, subprocess.Popen(argv, stderr=subprocess.PIPE)))
    try:
        for program, _, tracer in tracers:
            kit.eventually(
                lambda: program.program.status("TracerPid") != "0" or tracer.poll() is not None,
                "strace attaches",
            )
            if tracer.poll() is not None:
                print(
                    f"SKIP noheap: strace may not attach: {tracer.stderr.read().decode().strip()}",
                    file=sys.stderr,
                )
                return 0
        for kind in traffic.KINDS:
            traffic.run(kind, 10)
    finally:
        for _, _, tracer in tracers:
            tracer.terminate()
            tracer.wait()
    moved = 0
    for program, log, _ in tracers:
        calls = re.findall(r"\b(\w+)\(", log.read_text())
        moved += len(calls)
        print(
            f"{'under strace':38} {10 * len(traffic.KINDS):4} connections  {program.role:7} {len(calls)} of {TRACED}"
        )
    return moved


def count_kinds(stage, library, dns, folder):
    """Every kind of traffic, with one method; the number of counters that moved."""
    udp = {"mode": "tcp_and_udp", "udp_timeout": 1}
    server = Counted(
        stage, library, lambda env: stage.server(nameserver=dns.address, env=env, **udp)
    )
    local = Counted(stage, library, lambda env: stage.local(server.program, env=env, **udp))
    traffic = Traffic(stage, server.program, local.program, dns)
    for kind, times in traffic.KINDS.items():  # the warm-up
        traffic.run(kind, min(times, 200))
    print(
        "after start and warm-up: "
        + "; ".join(
            f"{p.role} {p.counts()[0] + p.counts()[1]} allocations" for p in (server, local)
        )
    )
    time.sleep(1.1)
    moved = counted(traffic, (server, local)) + traced(traffic, (server, local), folder)
    server.program.rests()
    local.program.rests()
    return moved


def main():
    with contextlib.ExitStack() as place:
        stage = place.enter_context(kit.Stage())
        folder = place.enter_context(tempfile.TemporaryDirectory(prefix="noheap-"))
        pool = place.enter_context(concurrent.futures.ThreadPoolExecutor(AT_ONCE))
        library = build(folder)
        dns = stage.dns({"*": ["127.0.0.1"], **{f"n{i}.nowhere": "nx" for i in range(5000)}})
        others = for_each_method(pool, library, dns) + for_rules(pool, library, dns, folder)
        # what libc's regexec() takes for a pattern is told, and does not count
        rules = [*RULES["direct by address"], PATTERN]
        told = pool.submit(count_rules, library, dns, folder, "a pattern (may allocate)", rules)
        moved = count_kinds(stage, library, dns, folder) + sum(count.result() for count in others)
        told.result()
    print(
        "noheap: "
        + (
            "0 allocations, mmaps and brks per connection"
            if not moved
            else f"FAILED, {moved} counters moved"
        )
    )
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
