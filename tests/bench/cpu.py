#!/usr/bin/env python3
"""Processor time of client + server, ours against the distribution's, in interleaved rounds A B A B
on loopback.

Seconds per GB for bulk streams up and down, and microseconds per connection for 16 KB transfers at
100 at once. Medians of the rounds, and their ratio.
"""

import argparse
import subprocess
import sys

import bench
import kit
import sip004

SMALL, AT_ONCE = 16 * 1024, 100


def cost(load, pair, way, size, at_once, total):
    """Seconds of processor time that both programs needed for this load."""
    before = sum(program.cpu() for program in pair)
    argv = [load, *map(str, (pair[1].port, way, size, at_once, total))]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: {done.stderr.strip()}")
    return sum(program.cpu() for program in pair) - before


def loads(options):
    """(what, unit, factor from seconds to it, arguments of cost())."""
    size = options.megabytes * kit.MIB
    for way in ("up", "down"):
        what = f"{options.streams} x {options.megabytes} MiB {way}"
        yield what, "s/GB", 1e9 / size / options.streams, (
            way,
            size,
            options.streams,
            options.streams,
        )
    for way in ("up", "down"):
        yield f"16 KiB {way}, {AT_ONCE} at once", "us each", 1e6 / options.transfers, (
            way,
            SMALL,
            AT_ONCE,
            options.transfers,
        )


def contest(options, load, method, builds):
    """One row for each load: medians of the rounds for each build, and their ratio."""
    with kit.Stage() as stage:
        pairs = {}
        for name, programs in builds.items():
            bench.choose(programs)
            pairs[name] = stage.pair(method=method)
        for what, unit, factor, arguments in loads(options):
            seconds = {name: [] for name in builds}
            for _ in range(options.rounds):
                for name, pair in pairs.items():
                    seconds[name].append(factor * cost(load, pair, *arguments))
            medians = {name: bench.median(values) for name, values in seconds.items()}
            cells = [
                f"{medians[name]:8.2f} +-{bench.spread(seconds[name]):3.0f} %" for name in builds
            ]
            ratio = f"{medians['ours'] / medians['theirs']:6.2f}" if "theirs" in medians else ""
            print(f"{method:24} {what:24} {unit:8} {'  '.join(cells)} {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1024, help="of each bulk stream (1024)")
    parser.add_argument("--streams", type=int, default=1, help="bulk streams at once (1)")
    parser.add_argument(
        "--transfers", type=int, default=3000, help="16 KiB transfers in a round (3000)"
    )
    parser.add_argument("--methods", default=",".join(sip004.METHODS))
    options = parser.parse_args()
    builds = {"ours": bench.ours(), **({"theirs": bench.THEIRS} if bench.have_theirs() else {})}
    print(f"{bench.circumstances()}; medians of {options.rounds} rounds")
    for name, programs in builds.items():
        print(f"{name}: {programs['local']} and {programs['server']}")
    print(f"{'':58} {'ours':>17} {'theirs':>18}  ratio")
    with bench.load_program() as load:
        for method in options.methods.split(","):
            contest(options, load, method, builds)


if __name__ == "__main__":
    main()
