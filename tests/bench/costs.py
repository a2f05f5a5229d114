"""What perf tells of a chain while something goes through it: counts of events, and where the time went.

The processor's own counters are often not to be had in a virtual machine, nor tracepoints by users other than root:
what cannot be counted is told by `missing`, and is in no figure.
"""
import collections
import contextlib
import functools
import os
import pathlib
import re
import signal
import subprocess

import contestants
from results import Failed

HARDWARE = ("instructions:u", "instructions:k", "cycles:u", "cycles:k", "cache-misses")
ALL_CALLS = "raw_syscalls:sys_enter"
TRACEPOINTS = pathlib.Path("/sys/kernel/tracing/events/syscalls")
CALLS = {  # what moves bytes, what waits for them, and others that a relay uses; each takes 35 ms to be counted
    "receive": ("recvfrom", "recvmsg", "read", "readv", "splice"),
    "send": ("sendto", "sendmsg", "write", "writev"),
    "wait": ("epoll_wait", "epoll_pwait", "poll"),
    "more": ("epoll_ctl", "futex", "nanosleep"),
}
SHARES = ("crypto", "program", "copies", "TCP/IP", "wake-ups", "memory", "entry", "other")
KERNEL = [  # the first that fits a symbol of the kernel
    ("copies", r"copy|rep_movs|memcpy|csum|_iter|clear_page"),
    ("entry", r"syscall|entry_|exit_to_user|fdget|fput|fpu|__x64_sys|vfs_|security_|apparmor|fault"),
    ("wake-ups", r"sched|wake|schedule|switch|epoll|^ep_|poll|futex|ttwu|rq_|pick_|idle|hrtimer|timer|select_task"
                 r"|enqueue|dequeue|finish_task|update_|irq|rcu"),
    ("memory", r"alloc|kmem|kfree|slab|page|folio|free_|_free|memset|refill|charge|get_partial"),
    ("TCP/IP", r"tcp|^ip|inet|skb|sock|^net|dev_|loopback|neigh|nf_|bbr|rate_|fib|dst|xmit|__local|validate|bictcp|sk_"),
]
LIBRARIES = r"sodium|mbed|libcrypto"
CIPHERS = r"(?i)aes_|aesni|vaes|gcm|ghash|polyval|chacha|poly1305|blake3|salsa|camellia|cipher|sha1|sha2|md5|hkdf|crypto"


# ---- beside a chain


@contextlib.contextmanager
def attached(chain, *arguments):
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
        began = heard.read(8)
        try:
            yield told
        finally:
            process.send_signal(signal.SIGINT)
            told.append(process.communicate(timeout=120)[1])
            os.close(orders)
    if not began:
        raise Failed(f"perf {arguments[0]}: {told[0].strip()}")


# ---- counts


def counts(told):
    """{event: number} of what perf stat -x, says; an event that is not counted is not there."""
    return {event: int(number) for number, event in re.findall(r"^(\d+),[^,]*,([^,]+),", told, re.M)}


@functools.cache
def countable():
    """(events, sentences on those that are not to be had)."""
    def can(events):
        done = subprocess.run(["perf", "stat", "-x,", "-e", ",".join(events), "true"], capture_output=True, text=True)
        return list(counts(done.stderr)) if done.returncode == 0 else []

    there = [call for calls in CALLS.values() for call in calls if (TRACEPOINTS / f"sys_enter_{call}").exists()]
    calls, hardware = can([ALL_CALLS, *(f"syscalls:sys_enter_{call}" for call in there)]), can(HARDWARE)
    missing = [] if calls else ["system calls are not counted: perf may not read the kernel's tracepoints"]
    if lacks := [event for event in HARDWARE if event not in hardware]:
        missing.append(f"not counted, since perf gets no such counter of the processor: {', '.join(lacks)}")
    return [*calls, *hardware], missing


def call_figures(found, size):
    """System calls for each MB by kind, and bytes for each of those that move them: each of the two programs takes
    and gives them all."""
    if ALL_CALLS not in found:
        return {}
    kinds = {event.removeprefix("syscalls:sys_enter_"): number for event, number in found.items()
             if event.startswith("syscalls:")}
    sums = {kind: sum(kinds.get(call, 0) for call in calls) for kind, calls in CALLS.items()}
    figures = {kind: 1e6 * sums[kind] / size for kind in ("receive", "send", "wait")}
    figures["calls"] = 1e6 * found[ALL_CALLS] / size
    figures["rest"] = figures["calls"] - figures["receive"] - figures["send"] - figures["wait"]
    figures.update({f"per_{kind}": 2 * size / sums[kind] for kind in ("receive", "send") if sums[kind]})
    return {**figures, "kinds": {call: 1e6 * number / size for call, number in kinds.items() if number}}


def hardware_figures(found, size):
    """Per byte, and cache misses per KB."""
    figures = {event: found[event] / size for event in HARDWARE[:-1] if event in found}
    if HARDWARE[-1] in found:
        figures["misses"] = 1e3 * found[HARDWARE[-1]] / size
    return figures


# ---- where the time went


def samples(told):
    """(percent, "k" or ".", file, symbol) of what perf report says with "|" between its columns."""
    rows = re.findall(r"^\s*([\d.]+)%?\s*\|\s*(\S+)\s*\|\s*\[(.)\]\s+(.*?)\s*$", told, re.M)
    return [(float(percent), kind, file, symbol) for percent, file, kind, symbol in rows]


def read_record(path):
    argv = ["perf", "report", "-i", path, "--stdio", "--no-children", "-F", "overhead,dso,sym", "-t", "|",
            "--percent-limit", "0"]
    if not (found := samples(subprocess.run(argv, capture_output=True, text=True, timeout=300).stdout)):
        raise Failed("perf took no samples")
    return found


@functools.cache
def ours_by_name(executable):
    """{function: is it a cipher's?} of those that are ours, as the file of symbols says."""
    debug = executable.with_name(f"{executable.name}.debug")
    told = subprocess.run(["nm", "-l", "--defined-only", debug], capture_output=True, text=True).stdout
    return {symbol: "/crypto/" in file for symbol, file in re.findall(r"^\S+ [tTwW] (\S+)\t(.*):\d+$", told, re.M)}


def share_of(kind, file, symbol, known=None):
    """`known`: those functions that need not be told by their names."""
    if kind == "k":
        return next((share for share, pattern in KERNEL if re.search(pattern, symbol)), "other")
    name, named = symbol.split(".")[0], re.search(LIBRARIES, file) or re.search(CIPHERS, symbol)
    return "crypto" if (known or {}).get(name, named) else "program"


def nameless(found):
    """Were most samples of the programs in functions without names? Then nobody can say which are ciphers'."""
    own = [(percent, symbol.startswith("0x")) for percent, kind, file, symbol in found
           if kind != "k" and not re.search(LIBRARIES, file)]
    return sum(percent for percent, bare in own if bare) > sum(percent for percent, bare in own if not bare)


def shares(found, peer):
    """The parts of one in each class; all of a program without names is the program's."""
    known = ours_by_name(peer.executable) if isinstance(peer, contestants.Ours) else None
    sums = collections.Counter({share: 0 for share in SHARES if share != "crypto" or not nameless(found)})
    for percent, *where in found:
        share = share_of(*where, known)
        sums[share if share in sums else "program"] += percent
    return {share: percent / sum(sums.values()) for share, percent in sums.items()}


def top(found, number=6):
    """The symbols with the most samples, of both programs."""
    sums = collections.Counter()
    for percent, kind, _, symbol in found:
        sums[f"{symbol} (kernel)" if kind == "k" else symbol] += percent
    return sums.most_common(number)
