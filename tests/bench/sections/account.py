"""The account of a byte: system calls and wake-ups for each megabyte, and where the processor time went."""
import contextlib
import shutil
import tempfile

import contestants
import costs
from results import contest, with_method
from sections import bulk

TITLE = "What a byte costs"
TEXT = ("One stream of iperf3 through client and server, both counted together. CPU is split by the samples of perf "
        "record: the ciphers, the rest of the program, and in the kernel copies, TCP/IP, sleeping and waking, memory, "
        "and the way in and out. They add up to the CPU s/GB, which are those of another run, beside perf stat; user "
        "and kernel are the system's own reckoning, by ticks. System calls, sleeps, and how often others pushed the "
        "programs aside are for each MB; bytes are those that each call moved.")
COUNTED = (*contestants.PLAINS, "shadowsocks-libev", "shadowsocks-rust", "sing-box")
PARTS = costs.SHARES  # of the first of these
METRICS = [
    ("cpu", "CPU s/GB", ".3f"), ("user", "user", ".3f"), ("kernel", "kernel", ".3f"),
    *((share, share, ".3f") for share in costs.SHARES),
    ("calls", "calls/MB", ".1f"), ("receive", "receive/MB", ".1f"), ("send", "send/MB", ".1f"),
    ("wait", "wait/MB", ".2f"), ("rest", "others/MB", ".2f"), ("per_receive", "bytes/receive", ".0f"),
    ("per_send", "bytes/send", ".0f"), ("sleeps", "sleeps/MB", ".2f"), ("preempted", "preempted/MB", ".2f"),
    ("instructions:u", "instr./B user", ".2f"), ("instructions:k", "instr./B kernel", ".2f"),
    ("cycles:u", "cycles/B user", ".2f"), ("cycles:k", "cycles/B kernel", ".2f"),
    ("misses", "cache misses/KB", ".2f"),
]


def counted(chain, streams, flags, length):
    """A run under perf stat: its figures."""
    cpu, split, slept = sum(chain.cpu().values()), chain.split(), chain.switches()
    with costs.attached(chain, "stat", "-x,", "-e", ",".join(costs.countable()[0])) as told:
        size, _ = bulk.transfer(chain, streams, flags, length)
    cpu = 1e9 * (sum(chain.cpu().values()) - cpu) / size
    user, kernel = (after - before for before, after in zip(split, chain.split()))
    parts = {"user": cpu * user / (user + kernel), "kernel": cpu * kernel / (user + kernel)} if user + kernel else {}
    sleeps, preempted = (1e6 * (after - before) / size for before, after in zip(slept, chain.switches()))
    found = costs.counts(told[0])
    return {"cpu": cpu, **parts, "sleeps": sleeps, "preempted": preempted, **costs.call_figures(found, size),
            **costs.hardware_figures(found, size)}


def recorded(chain, streams, flags, length):
    """Another one under perf record: its samples."""
    with contextlib.ExitStack() as place:
        path = f"{place.enter_context(tempfile.TemporaryDirectory(prefix='ss-bench-'))}/data"
        quickly = "-q", "-B", "-N", "--no-bpf-event"  # all that these leave out takes a second each time
        with costs.attached(chain, "record", *quickly, "-e", "cpu-clock", "-F", "1999", "-o", path):
            bulk.transfer(chain, streams, flags, length)
        return costs.read_record(path)


def measure(results):
    def once(chain, streams, flags):
        sample = counted(chain, streams, flags, results.options.account)
        found = recorded(chain, streams, flags, results.options.account)
        parts = costs.shares(found, chain.peer)
        if "crypto" not in parts:
            results.note(chain.peer.name, "account: its functions have no names, so its ciphers count as program")
        sample.update({share: part * sample["cpu"] for share, part in parts.items()})
        return {**sample, "top": costs.top(found)}
    return once


def below(results, method, load):
    """What does not fit into a column: each system call by name, and the functions with the most samples."""
    for (section, m, l, who), row in results.rows.items():
        if (section, m, l) == ("account", method, load) and row["samples"]:
            sample = row["samples"][-1]
            calls = sorted(sample.get("kinds", {}).items(), key=lambda item: -item[1])
            yield (f"{who}: calls/MB " + (", ".join(f"{call} {number:.2f}" for call, number in calls) or "not counted")
                   + "; time in " + ", ".join(f"{symbol} {percent:.0f} %" for symbol, percent in sample["top"]))


def run(results):
    if not shutil.which("perf"):
        print("SKIPPED account: perf is not installed (linux-perf)", flush=True)
        results.note("account", "not made: perf is not installed (linux-perf)")
        return
    for sentence in costs.countable()[1]:
        print(f"SKIPPED account: {sentence}", flush=True)
        results.note("account", sentence)
    for method in results.options.account_methods:
        peers = [peer for peer in with_method(results, method) if peer.name.startswith("ours") or peer.name in COUNTED]
        contest(results, "account", method, bulk.loads([1]), peers, bulk.start(results, method),
                measure(results), rounds=1)
