"""e. Heap: allocations for each connection and datagram, counted by tests/noheap/count.c."""
import mmap
import struct
import subprocess
import tempfile

import bench
import contestants
import kit
from results import Failed, attempt, run_tool, with_method

TITLE = "Heap"
TEXT = ("Calls of malloc and its relatives, and of mmap and brk, for each connection of 16 KB or datagram of 1200 "
        "bytes, after a warm-up; client and server together. Go, Node, Python and what is linked statically have "
        "memory of their own, which cannot be counted so.")
METRICS = [("heap", "allocations each", ".2f"), ("maps", "mmap and brk each", ".3f")]
COUNTERS = 8  # enum call in count.c
COUNTABLE = ("shadowsocks-libev", "shadowsocks-rust")


class Counters:
    """What both programs of a chain count together."""

    def __init__(self, stage, library):
        file = stage.enter_context(tempfile.NamedTemporaryFile(prefix="ss-bench-"))
        file.truncate(8 * COUNTERS)
        self.map = mmap.mmap(file.fileno(), 8 * COUNTERS)
        self.env = {"LD_PRELOAD": library, "NOHEAP_COUNTERS": file.name}

    def read(self):
        malloc, calloc, realloc, aligned, _, *maps = struct.unpack(f"{COUNTERS}Q", self.map[:])
        return {"heap": malloc + calloc + realloc + aligned, "maps": sum(maps)}


def own_memory(peer):
    """Does it take memory by other ways than the system's malloc?"""
    if not isinstance(peer, contestants.Ours):
        return peer.name not in COUNTABLE
    return "statically" in subprocess.run(["ldd", peer.executable], capture_output=True, text=True).stdout


def library(folder):
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared"]
    path = f"{folder}/count.so"
    subprocess.run(["cc", *flags, "-o", path, bench.HERE.parent / "noheap" / "count.c"], check=True)
    return path


def counted(counters, number, load):
    load()
    before = counters.read()
    load()
    return {key: (now - before[key]) / number for key, now in counters.read().items()}


def connections(results, stage, peer, method, counters):
    chain = contestants.Chain(peer, stage, method, env=counters.env)
    total = results.options.total // 4

    def load():
        run_tool([f"{results.tools}/exchange", chain.port, "short", 16384, 20, total, 10000], 60)
    return counted(counters, total, load)


def datagrams(results, stage, peer, method, counters):
    target, came = kit.free_port(), []
    chain = contestants.Chain(peer, stage, method, target=target, udp=True, env=counters.env)

    def load():
        out = run_tool([f"{results.tools}/udp_load", chain.port, "window", 1200, 8, 300, target], 30)
        came.append(max(int(out.split()[0]), 1))
    return {key: value / came[-1] for key, value in counted(counters, 1, load).items()}


def count(stage, peer, results, method, load, shared, function):
    counters = Counters(stage, shared)
    sample = function(results, stage, peer, method, counters)
    if not counters.read()["heap"]:
        raise Failed("was never seen to allocate")
    results.add("heap", method, load, peer.name, sample)


def run(results):
    method, shared = results.options.one_method, library(results.tools)
    for peer in with_method(results, method):
        if peer.name in contestants.PLAINS:
            continue
        if own_memory(peer):
            results.note(peer.name, "heap: not counted, it has memory of its own")
            continue
        for load, function in (("connection", connections), ("datagram", datagrams)):
            attempt(results, "heap", method, load, peer, count, results, method, load, shared, function)
