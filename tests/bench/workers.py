#!/usr/bin/env python3
"""What several workers cost and how they share: one process against N workers, in interleaved rounds.

For bulk streams up and down, and 16 KiB transfers at 100 at once: seconds of processor time per GB, or
microseconds per transfer, of client and server with all their processes; the median of the ratios of rounds;
and how the workers of the server shared what it used. Exits 1 if the mean
ratio of bulk is above --limit.
"""
import argparse
import subprocess
import sys

import bench
import kit

SMALL, AT_ONCE = 16 * 1024, 100


def processes(program):
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as file:
        return [program.pid, *map(int, file.read().split())]


def used(program):
    """Seconds of processor time so far, of each of its processes."""
    times = {}
    for pid in processes(program):
        with open(f"/proc/{pid}/schedstat") as file:
            times[pid] = int(file.read().split()[0]) / 1e9
    return times


def cost(load, pair, way, size, at_once, total):
    """Seconds that all processes of both programs needed; and the server's workers, each."""
    before = [used(program) for program in pair]
    argv = [load, *map(str, (pair[1].port, way, size, at_once, total))]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: {done.stderr.strip()}")
    spent = [{pid: time - was[pid] for pid, time in used(program).items()} for program, was in zip(pair, before)]
    return sum(sum(times.values()) for times in spent), [spent[0][pid] for pid in processes(pair[0])[1:]]


def loads(options):
    """(what, unit, factor from seconds to it, arguments of cost(), is bulk)."""
    size = options.megabytes * kit.MIB
    for way in ("up", "down"):
        factor = 1e9 / size / options.streams
        yield f"{options.streams} x {options.megabytes} MiB {way}", "s/GB", factor, (
            way, size, options.streams, options.streams), True
    for way in ("up", "down"):
        yield f"16 KiB {way}, {AT_ONCE} at once", "us each", 1e6 / options.transfers, (
            way, SMALL, AT_ONCE, options.transfers), False


def started(stage, method, workers):
    pair = stage.pair(method=method, workers=workers)
    for program in pair:
        kit.eventually(lambda: workers == 1 or len(processes(program)) == 1 + workers, "workers start")
    return pair


def contest(options, load, method):
    """One row for each load; the ratios of bulk."""
    ratios = []
    with kit.Stage() as stage:
        pairs = {n: started(stage, method, n) for n in (1, options.workers)}
        for what, unit, factor, arguments, bulk in loads(options):
            costs, shares = {n: [] for n in pairs}, [0.0] * options.workers
            for _ in range(options.rounds):
                for n, pair in pairs.items():
                    seconds, each = cost(load, pair, *arguments)
                    costs[n].append(factor * seconds)
                    shares = [a + b for a, b in zip(shares, each)] if n > 1 else shares
            one, many = (bench.median(costs[n]) for n in pairs)
            ratio = bench.median([b / a for a, b in zip(*costs.values())])
            ratios += [ratio] if bulk else []
            spread = "/".join(f"{100 * share / sum(shares):.0f}" for share in shares)
            print(f"{method:24} {what:24} {unit:8} {one:8.2f} {many:8.2f}  {ratio:6.2f}  {spread} %", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=64, help="of each bulk stream (64)")
    parser.add_argument("--streams", type=int, default=16, help="bulk streams at once (16)")
    parser.add_argument("--transfers", type=int, default=3000, help="16 KiB transfers in a round (3000)")
    parser.add_argument("--methods", default="aes-256-gcm,chacha20-ietf-poly1305")
    parser.add_argument("--limit", type=float, default=1.05, help="largest mean ratio of bulk (1.05)")
    options = parser.parse_args()
    bench.choose(bench.ours())
    print(f"{bench.circumstances()}; medians of {options.rounds} rounds")
    print(f"{'':58} {'1':>8} {options.workers:>8}   ratio  shares of workers")
    with bench.load_program() as load:
        ratios = [ratio for method in options.methods.split(",") for ratio in contest(options, load, method)]
    mean = sum(ratios) / len(ratios)
    print(f"bulk costs {mean:.3f} of what one process needs")
    if mean > options.limit:
        sys.exit(f"that is more than {options.limit}")


if __name__ == "__main__":
    main()
