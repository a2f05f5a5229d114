#!/usr/bin/env python3
"""Processor time of client + server for UDP, ours against other programs, in interleaved rounds on
loopback.

Microseconds per echoed datagram through both: one client with a window, many clients with one
datagram each in turn (where nothing can be merged), and one datagram at a time, for which round
trips per second are told as well. Medians of the rounds, and the ratio to each peer. What was lost
is told, and counts for nobody.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile

import bench
import kit

sys.path.insert(0, str(bench.HERE.parent / "interop"))
from peers import rust  # noqa: E402

KEYS = {"128": "SeBiKiHKAcdJV6Fu9K+Xfg==", "256": "3L69X4PF2eSL/JIPpLBjQj9rLhBBtgqHYy3AJVNLjz0="}


def password(method):
    if not method.startswith("2022"):
        return kit.PASSWORD
    return KEYS["128" if "128" in method else "256"]


class Pair:
    """A client and a server of one kind."""

    def __init__(self, stage, method, local, server):
        self.port, server_port = kit.free_port(), kit.free_port()
        config = {
            "server": "127.0.0.1",
            "server_port": server_port,
            "method": method,
            "password": password(method),
            "mode": "tcp_and_udp",
        }
        near = {"local_address": "127.0.0.1", "local_port": self.port}
        self.programs = [
            stage.program("server", config, argv=server, port=server_port, within=20),
            stage.program("local", config | near, argv=local, port=self.port, within=20),
        ]

    def cpu(self):
        """Seconds of all threads of both."""
        total = 0
        for program in self.programs:
            for thread in os.listdir(f"/proc/{program.pid}/task"):
                with contextlib.suppress(FileNotFoundError):
                    with open(f"/proc/{program.pid}/task/{thread}/schedstat") as file:
                        total += int(file.read().split()[0])
        return total / 1e9

    def measure(self, load, kind, size, number, ms):
        """(microseconds of processor time per datagram, datagrams per second, share lost)."""
        before = self.cpu()
        argv = [load, *map(str, (self.port, kind, size, number, ms))]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(argv)}: {done.stderr.strip()}")
        back, lost, micros = map(int, done.stdout.split())
        back = max(back, 1)
        return 1e6 * (self.cpu() - before) / back, 1e6 * back / micros, lost / (back + lost)


def kinds(method):
    """What there is to compare: names and how to start a pair."""
    ours = {role: kit.command(role) for role in ("local", "server")}
    yield "ours", lambda stage: Pair(stage, method, ours["local"], ours["server"])
    if not method.startswith("2022") and bench.have_theirs():
        theirs = {role: [path] for role, path in bench.THEIRS.items()}
        yield "libev", lambda stage: Pair(stage, method, theirs["local"], theirs["server"])
    peer = rust.Rust()
    if peer.missing():
        print(f"SKIP: {peer.missing()}", file=sys.stderr)
    elif method in peer.methods:
        programs = [[str(path), "--single-threaded"] for path in peer.programs]
        yield "rust", lambda stage: Pair(stage, method, *programs)


def contest(options, load, method):
    with kit.Stage() as stage:
        pairs = {name: start(stage) for name, start in kinds(method)}
        for kind, number in (("window", options.window), ("clients", options.clients), ("window", 1)):
            figures = {name: [] for name in pairs}
            for pair in pairs.values():  # the warm-up
                pair.measure(load, kind, options.bytes, number, 200)
            for _ in range(options.rounds):
                for name, pair in pairs.items():
                    figures[name].append(
                        pair.measure(load, kind, options.bytes, number, options.milliseconds)
                    )
            report(method, f"{kind} {number}", figures)


def report(method, what, figures):
    cpu = {name: bench.median([row[0] for row in rows]) for name, rows in figures.items()}
    for name, rows in figures.items():
        rate = bench.median([row[1] for row in rows])
        lost = bench.median([row[2] for row in rows])
        ratio = "" if name == "ours" else f"  ours is {cpu['ours'] / cpu[name]:.2f} of it"
        spread = bench.spread([row[0] for row in rows])
        print(
            f"{method:26} {what:13} {name:6} {cpu[name]:7.2f} us +-{spread:3.0f} % "
            f"{rate:8.0f}/s  lost {100 * lost:.2f} %{ratio}",
            flush=True,
        )
    if what == "window 1":
        report_trips(method, figures)


def report_trips(method, figures):
    """One after another: ours beside the better peer's."""
    rates = {name: bench.median([row[1] for row in rows]) for name, rows in figures.items()}
    ours = rates.pop("ours")
    if rates:
        best = max(rates, key=rates.get)
        print(f"{method:26} round trips   ours {ours:.0f}/s, {best} {rates[best]:.0f}/s: {ours / rates[best]:.2f} of it")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=1200)
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--milliseconds", type=int, default=1000)
    parser.add_argument(
        "--methods", default="aes-256-gcm,chacha20-ietf-poly1305,2022-blake3-aes-256-gcm"
    )
    options = parser.parse_args()
    kit.raise_nofile()
    print(f"{bench.circumstances()}; medians of {options.rounds} rounds, {options.bytes} bytes")
    with tempfile.TemporaryDirectory(prefix="ss-bench-") as folder:
        load = bench.compile_load(folder, "udp_load")
        for method in options.methods.split(","):
            contest(options, load, method)


if __name__ == "__main__":
    main()
