"""The account of a byte: system calls and wake-ups for each megabyte, and where the processor time went."""
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

import contestants
from results import Failed, contest, with_method
from sections import bulk

TITLE = "What a byte costs"
TEXT = ("One stream of iperf3 through client and server, both counted together: system calls and sleeps for each "
        "MB (perf stat, /proc), and the shares of the samples of perf record. \"Own\" is what runs in the program "
        "itself, cryptography included; \"entry\" is the way into the kernel and back. Caches are counted where the machine lets its counters be read.")
COUNTED = (contestants.PLAIN, "shadowsocks-libev", "shadowsocks-rust", "sing-box")
SHARES = ("own", "copies", "TCP/IP", "wake-ups", "memory", "entry", "other")
METRICS = [
    ("cpu", "CPU s/GB", ".3f"), ("calls", "calls/MB", ".1f"), ("sleeps", "sleeps/MB", ".2f"),
    ("misses", "cache misses/KB", ".2f"), *((share, f"{share} %", ".1f") for share in SHARES),
]
KERNEL = [  # the first that fits a symbol of the kernel
    ("copies", r"copy|rep_movs|memcpy|csum|_iter|clear_page"),
    ("entry", r"syscall|entry_|exit_to_user|fdget|fput|fpu|__x64_sys|vfs_|security_|apparmor|fault"),
    ("wake-ups", r"sched|wake|schedule|switch|epoll|^ep_|poll|futex|ttwu|rq_|pick_|idle|hrtimer|timer|select_task"
                 r"|enqueue|dequeue|finish_task|update_|irq|rcu"),
    ("memory", r"alloc|kmem|kfree|slab|page|folio|free_|_free|memset|refill|charge|get_partial"),
    ("TCP/IP", r"tcp|^ip|inet|skb|sock|^net|dev_|loopback|neigh|nf_|bbr|rate_|fib|dst|xmit|__local|validate|bictcp|sk_"),
]


@contextlib.contextmanager
def perf(chain, *arguments):
    """While the block runs, perf counts both programs; the list has its words after the block. It is told by a
    pipe when to begin, so that it misses nothing, and ends badly if that pipe is closed before."""
    pids, told = ",".join(str(program.pid) for program in chain.programs.values()), []
    (orders, order), (answer, answers) = os.pipe(), os.pipe()
    argv = ["perf", *arguments, "-D", "-1", "--control", f"fd:{orders},{answers}", "-p", pids]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                               pass_fds=(orders, answers))
    os.close(answers)
    with open(order, "wb", buffering=0) as said, open(answer, "rb", buffering=0) as heard:
        said.write(b"enable\n")
        attached = heard.read(8)
        try:
            yield told
        finally:
            process.send_signal(signal.SIGINT)
            told.append(process.communicate(timeout=20)[1])
            os.close(orders)
    if not attached:
        raise Failed(f"perf {arguments[0]}: {told[0].strip()}")


def share_of(kind, symbol):
    if kind != "k":
        return "own"
    return next((share for share, pattern in KERNEL if re.search(pattern, symbol)), "other")


def shares(path):
    """Percent of the samples in each class."""
    argv = ["perf", "report", "-i", path, "--stdio", "--no-children", "--sort", "sym", "-F", "overhead,sym",
            "--percent-limit", "0"]
    told = subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout
    sums = collections.Counter({share: 0 for share in SHARES})
    for percent, kind, symbol in re.findall(r"^\s*([\d.]+)%\s+\[(.)\]\s+(\S+)", told, re.M):
        sums[share_of(kind, symbol)] += float(percent)
    if not sum(sums.values()):
        raise Failed("perf took no samples")
    return dict(sums)


def measure(results):
    length = results.options.bulk

    def once(chain, streams, flags):
        before, slept = sum(chain.cpu().values()), chain.switches()
        with perf(chain, "stat", "-x,", "-e", "raw_syscalls:sys_enter,cache-misses") as told:
            size, _ = bulk.transfer(chain, streams, flags, length)
        cpu, slept = sum(chain.cpu().values()) - before, chain.switches() - slept
        sample = {"sleeps": 1e6 * slept / size, "cpu": 1e9 * cpu / size}
        if found := re.search(r"^(\d+),.*raw_syscalls", told[0], re.M):
            sample["calls"] = 1e6 * int(found[1]) / size
        if found := re.search(r"^(\d+),.*cache-misses", told[0], re.M):
            sample["misses"] = 1e3 * int(found[1]) / size
        with contextlib.ExitStack() as place:
            path = f"{place.enter_context(tempfile.TemporaryDirectory(prefix='ss-bench-'))}/data"
            with perf(chain, "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", path):
                bulk.transfer(chain, streams, flags, length)
            sample.update(shares(path))
        return sample
    return once


def run(results):
    if not shutil.which("perf"):
        print("SKIPPED account: perf is not installed (linux-perf)", flush=True)
        return
    method = results.options.one_method
    loads = [(name, arguments) for name, arguments in bulk.loads([1])]
    peers = [peer for peer in with_method(results, method) if peer.name.startswith("ours") or peer.name in COUNTED]
    contest(results, "account", method, loads, peers, bulk.start(results, method),
            measure(results), rounds=1)
