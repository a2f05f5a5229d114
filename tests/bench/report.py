#!/usr/bin/env python3
"""The benchmark: ours and every peer that is here, in interleaved rounds, and a report of it as text, JSON and one
page with charts, in build/bench.

Sections: bulk, short, memory, udp, heap, ping, start, workers, account. Every load is bounded. Figures of a shared
machine are to be read as ratios. Ours is measured as built in build/ and build/musl/, and both once more with no
wider AES than AES-NI. Exits 1 if one of ours could not be measured; --must-hold also if a claim failed.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import bench
import claims
import contestants
import page
from results import Results, stolen
from sections import SECTIONS

METHODS = ("aes-128-gcm,aes-256-gcm,chacha20-ietf-poly1305,2022-blake3-aes-256-gcm,aes-256-cfb,aes-256-ctr,"
           "camellia-256-cfb,aes-128-cfb")
UDP_METHODS = "aes-256-gcm,chacha20-ietf-poly1305,2022-blake3-aes-256-gcm"
ACCOUNT_METHODS = "aes-256-gcm,chacha20-ietf-poly1305"
QUICK = {"rounds": 1, "bulk": "-n 24M", "account": "-n 24M", "methods": "aes-256-gcm",
         "udp_methods": "aes-256-gcm", "account_methods": "aes-256-gcm", "total": 200,
         "ping_ms": 200, "ping_rounds": 1, "patience": 1, "connections": "20,100", "udp_ms": 100, "starts": 1, "worker_mib": 2}


def words(text):
    return [word for word in text.split(",") if word]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="small loads, one round: does it work?")
    add("--sections", help=f"some of {','.join(SECTIONS)}")
    add("--methods", default=METHODS, help="for bulk")
    add("--one-method", default="aes-256-gcm", help="for what is measured with one method only")
    add("--udp-methods", default=UDP_METHODS)
    add("--peers", help="names, as in the report; all that are here if not given")
    add("--build", action="append", default=[], metavar="NAME=DIR", help="one more build of ours, to compare with")
    add("--rounds", type=int, default=5)
    add("--minutes", type=int, default=50, help="after so long, one round is enough of what is left")
    add("--bulk", default="-t 1", help="how long an iperf3 runs: -t SECONDS or -n BYTES")
    add("--streams", default="1,8", help="of iperf3")
    add("--total", type=int, default=4000, help="short connections in all")
    add("--ping-ms", type=int, default=300, help="of a ping-pong, at most")
    add("--ping-rounds", type=int, default=1000, help="of each ping-pong of a small size")
    add("--patience", type=int, default=5, help="seconds that programs have to close what they held")
    add("--connections", default="1000,9900", help="held for memory; two descriptors each")
    add("--udp-ms", type=int, default=500, help="of a load of datagrams")
    add("--account", default="-n 256M", help="how long an iperf3 runs beside perf: -t SECONDS or -n BYTES")
    add("--account-methods", default=ACCOUNT_METHODS)
    add("--starts", type=int, default=20)
    add("--worker-mib", type=int, default=32, help="of each of 16 streams to workers")
    add("--must-hold", action="store_true", help="exit 1 if a claim does not hold")
    add("--out", default=str(bench.kit.BUILD / "bench"))
    first = parser.parse_known_args()[0]
    if first.quick:
        parser.set_defaults(**QUICK)
    options = parser.parse_args()
    for name in ("methods", "udp_methods", "account_methods"):
        setattr(options, name, words(getattr(options, name)))
    options.peers = options.peers and words(options.peers)
    options.streams = [int(word) for word in words(options.streams)]
    options.connections = [int(word) for word in words(options.connections)]
    options.sections = words(options.sections) if options.sections else list(SECTIONS)
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"there is no section {unknown[0]}")
    return options


def builds(options):
    """Folders of executables by name; each may have its twin with AES-NI alone."""
    found = {"ours": bench.kit.BUILD, "ours musl": bench.kit.BUILD / "musl"}
    for word in options.build:
        name, _, folder = word.partition("=")
        found[f"ours {name}"] = pathlib.Path(folder).resolve()
    return found


def head(results):
    iperf3 = subprocess.run(["iperf3", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in results.peers)
    return {
        "command": " ".join(["tests/bench/report.py", *sys.argv[1:]]), "at": time.strftime("%Y-%m-%d %H:%M %Z"),
        **bench.facts(), "load at the end": f"{os.getloadavg()[0]:.1f}", "contestants": versions, "tools": iperf3,
        "the host gave to others": f"{stolen(results.taken):.1f} % of the processors' time",
        "rounds": results.options.rounds, "commit": commit(), **results.ended,
    }


def commit():
    """Of the checkout, where there is one."""
    told = subprocess.run(["git", "-C", bench.HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def write(results, folder, whole):
    """What there is so far; the page, whose charts take a while, when it is `whole`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    facts, judged = head(results), claims.judge(results)
    (folder / "report.txt").write_text(page.text(results, facts, judged))
    (folder / "report.json").write_text(page.data(results, facts, judged))
    if whole:
        (folder / "report.html").write_text(page.page(results, facts, judged))
    return judged


def run(results, sections):
    """All of them, one after the other. Whatever breaks one, the others and what was measured stay."""
    for name in sections:
        began = time.monotonic()
        try:
            SECTIONS[name].run(results)
        except Exception as error:
            traceback.print_exc()
            results.broken.append(f"{name}: broke off: {type(error).__name__}: {error}")
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        write(results, results.options.out, whole=False)


def conclude(results, judged):
    """The counts, and the exit status."""
    rows = results.rows.values()
    failed = [row for row in rows if row["error"] and claims.is_ours(row["contestant"])]
    empty = [name for name in results.options.sections
             if not any(row["section"] == name and row["samples"] for row in rows) and name != "account"]
    for name in empty:
        print(f"FAIL {name}: nothing was measured")
    bad = [row for row in judged if not row["holds"]]
    print(f"{len(judged) - len(bad)} of {len(judged)} claims hold; {results.options.out}/report.html")
    measured = sum(bool(row["samples"]) for row in rows)
    print(f"{measured} passed, {len(failed) + len(empty) + len(results.broken)} failed, {len(results.absent)} skipped")
    return 1 if failed or empty or results.broken or (results.options.must_hold and bad) else 0


def main():
    options = parse()
    # so that what was started ends with it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM"))
    bench.kit.raise_nofile()
    with contextlib.ExitStack() as place:
        tools = place.enter_context(tempfile.TemporaryDirectory(prefix="ss-bench-"))
        for name in bench.PROGRAMS:
            bench.compile_load(tools, name)
        peers, absent = contestants.field(builds(options), options.peers, tools)
        results = Results(options, tools, peers)
        results.absent = absent
        try:
            run(results, options.sections)
        except (KeyboardInterrupt, SystemExit):
            results.ended["interrupted"] = "this is not all of it"
            raise
        finally:
            judged = write(results, options.out, whole=True)
    return conclude(results, judged)


if __name__ == "__main__":
    sys.exit(main())
