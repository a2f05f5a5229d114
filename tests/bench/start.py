#!/usr/bin/env python3
"""Milliseconds from exec to listening, ours and the distribution's ss-local and ss-server,
interleaved.
"""

import argparse
import socket
import subprocess
import time

import bench
import kit


def start(role, command):
    """Seconds until a connect succeeds; the program is ended again."""
    port = kit.free_port()
    options = ["-s", "127.0.0.1", "-k", kit.PASSWORD, "-m", kit.METHOD]
    options += ["-p", "9", "-l", str(port)] if role == "local" else ["-p", str(port)]
    begun = time.monotonic()
    process = subprocess.Popen(
        [*command.split(), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
    )
    try:
        while time.monotonic() - begun < 5:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return time.monotonic() - begun
        raise SystemExit(f"{command} does not listen on {port}")
    finally:
        process.terminate()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    builds = {"ours": bench.ours(), **({"theirs": bench.THEIRS} if bench.have_theirs() else {})}
    print(f"{bench.circumstances()}; medians of {rounds} starts")
    for role in ("local", "server"):
        times = {name: [] for name in builds}
        for _ in range(rounds):
            for name, programs in builds.items():
                times[name].append(1000 * start(role, programs[role]))
        for name, values in times.items():
            print(
                f"ss-{role:7} {name:7} {bench.median(values):6.2f} ms, fastest {min(values):6.2f}   ({builds[name][role]})"
            )


if __name__ == "__main__":
    main()
