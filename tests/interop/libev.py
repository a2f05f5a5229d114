#!/usr/bin/env python3
"""Ours against the distribution's ss-local and ss-server, in both roles: every method, both ways, by address and by name.

Prints a matrix of megabytes that came whole; exits 1 if anything did not. Without the package it says so and tests nothing.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kit  # noqa: E402
import sip004  # noqa: E402

THEIRS = {role: f"/usr/bin/ss-{role}" for role in ("local", "server")}
OURS = {role: " ".join(kit.command(role)) for role in ("local", "server")}
PAIRS = {
    "our local, their server": (OURS["local"], THEIRS["server"]),
    "their local, our server": (THEIRS["local"], OURS["server"]),
    "our local, our server": (OURS["local"], OURS["server"]),
}
SIZE = kit.MIB
WHOLE = (SIZE, kit.bulk_digest(SIZE))


def both_ways(stage, local, host):
    """A megabyte up, then one down, then the end."""

    def target_side(conn):
        received = kit.receive_digest(conn, SIZE)
        kit.send_bulk(conn, SIZE)
        return received

    target = stage.target(target_side)
    sock = stage.socks(local, target, host=host)
    kit.send_bulk(sock, SIZE)
    if kit.receive_digest(sock, SIZE) != WHOLE or target.result() != WHOLE:
        return "differs"
    return "whole" if kit.ending(sock, 5) == (b"", "fin") else "no end"


def cell(local_program, server_program, method, host):
    os.environ["SS_LOCAL"], os.environ["SS_SERVER"] = local_program, server_program
    try:
        with kit.Stage() as stage:
            dns = stage.dns({"target.test": ["127.0.0.1"]})
            _, local = stage.pair(method=method, nameserver=dns.address)
            return both_ways(stage, local, host)
    except (OSError, EOFError, AssertionError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def main():
    missing = [path for path in THEIRS.values() if not os.access(path, os.X_OK)]
    if missing:
        print(f"SKIP interop: {', '.join(missing)} missing; install the package shadowsocks-libev", file=sys.stderr)
        return 0
    print(f"1 MiB each way: {OURS['local']} and {OURS['server']} against {THEIRS['local']} and {THEIRS['server']}")
    print(f"{'':24} {'target':12} " + " ".join(f"{pair:24}" for pair in PAIRS))
    failures = 0
    for method in sip004.METHODS:
        for host in ("127.0.0.1", "target.test"):
            row = [cell(*programs, method, host) for programs in PAIRS.values()]
            failures += sum(result != "whole" for result in row)
            print(f"{method:24} {host:12} " + " ".join(f"{result:24}" for result in row), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
