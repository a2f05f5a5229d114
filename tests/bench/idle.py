#!/usr/bin/env python3
"""Resident memory of idle relayed connections: RssAnon of both programs at two numbers of
connections, and the slope.

Each connection carries 64 KB up and 64 KB down first, unless --bytes says otherwise. The programs
are $SS_LOCAL and $SS_SERVER, else those of the build. Two descriptors a connection and program: a
limit of 20,000 allows 9,900.
"""

import argparse
import contextlib
import subprocess
import sys

import bench
import kit


@contextlib.contextmanager
def held(load, port, size, connections):
    """While the block runs, so many connections are open and idle."""
    argv = [load, str(port), "hold", str(size), str(connections)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "held\n":
            sys.exit(f"{' '.join(argv)}: failed")
        yield
    finally:
        process.stdin.close()
        process.wait()


def figures(load, size, connections, method):
    """(RssAnon at the start, RssAnon with the connections) of server and local, in bytes."""
    with kit.Stage() as stage:
        pair = stage.pair(method=method)
        empty = [program.anon() for program in pair]
        with held(load, pair[1].port, size, connections):
            open_fds = [program.fds() - program.idle_fds for program in pair]
            full = [program.anon() for program in pair]
        for program, fds in zip(pair, open_fds):
            if fds < 2 * connections:
                sys.exit(
                    f"{program.role} holds only {fds} descriptors for {connections} connections"
                )
        return empty, full


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=1000)
    parser.add_argument("--many", type=int, default=9900)
    parser.add_argument(
        "--bytes", type=int, default=65536, help="carried up, then down, by each connection"
    )
    parser.add_argument("--method", default=kit.METHOD)
    parser.add_argument("--at-most", type=float, help="KiB per connection; exit 1 above it")
    options = parser.parse_args()
    if kit.raise_nofile() < 2 * options.many + 50:
        sys.exit(f"the limit of open files is too low for {options.many} connections")
    print(f"{bench.circumstances()}; {options.method}, {options.bytes} bytes each way first")
    with bench.load_program() as load:
        empty, few = figures(load, options.bytes, options.few, options.method)
        _, many = figures(load, options.bytes, options.many, options.method)
    worst = 0
    for role, nothing, low, high in zip(("server", "local"), empty, few, many):
        slope = (high - low) / (options.many - options.few) / 1024
        worst = max(worst, slope)
        print(
            f"{role:7} {nothing // 1024:6} KiB idle, {low // 1024:7} KiB at {options.few}, {high // 1024:7} KiB at {options.many}: "
            f"{slope:6.2f} KiB per connection   ({' '.join(kit.command(role))})"
        )
    return 1 if options.at_most and worst > options.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
