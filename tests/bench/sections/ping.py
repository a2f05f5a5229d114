"""f. Ping-pong on one open connection: shows stalls.

An exchange wakes four programs six times. Where each wakes is the system's choice, and so is how deep the processor
sleeps that it wakes on: with one choice an exchange takes two or three times as long as with another, whoever is
measured, and a choice lasts as long as a connection. So there are many short rounds of the smaller sizes, where such
choices come out evenly in the end (after 25 rounds the ratio of two is known to 7 in a hundred, after 300 to 2, after
1000 to 1); and the same once more with all four programs on one processor, where there is no choice and time is what
the programs and the kernel do.
"""
import contextlib
import os

from results import contest, run_tool, with_method
from sections.short import start

TITLE = "Ping-pong"
TEXT = ("So many bytes up and back on one open connection. A stall is an exchange of more than 5 ms. One processor: the "
        "programs, the client and its target share it.")
METRICS = [
    ("p50", "p50 ms", ".4f"), ("p99", "p99 ms", ".3f"), ("longest", "longest ms", ".2f"),
    ("stalls", "stalls %", ".2f"), ("cpu_us", "CPU us each", ".1f"), ("exchanges", "exchanges", ".0f"),
]
SIZES = {"100 B": 100, "1 KB": 1000, "4 KB": 4000, "16 KB": 16_000, "64 KB": 64_000, "200 KB": 200_000}
SMALL = 16_000
EXCHANGES, LARGE_EXCHANGES = 50, 300  # of one connection, at most
LARGE_ROUNDS = 15  # some peers stall at each exchange there
WARM = 3  # exchanges before those that exchange.c counts


@contextlib.contextmanager
def on_one_processor(chain):
    """The chain, and what is started here."""
    everywhere = os.sched_getaffinity(0)
    one = {min(everywhere)}
    try:
        os.sched_setaffinity(0, one)
        chain.pin(one)
        yield
    finally:
        os.sched_setaffinity(0, everywhere)
        chain.pin(everywhere)


def measure(results):
    def once(chain, size, times, place=contextlib.nullcontext):
        argv = [f"{results.tools}/exchange", chain.port, "ping", size, times, results.options.ping_ms, *chain.target]
        with place(chain):
            before = sum(chain.cpu().values())
            done, p50, p99, longest, stalls = map(int, run_tool(argv, 120).split())
            cpu = sum(chain.cpu().values()) - before
        return {"p50": p50 / 1e6, "p99": p99 / 1e6, "longest": longest / 1e6, "stalls": 100 * stalls / max(done, 1),
                "cpu_us": 1e6 * cpu / (done + WARM), "exchanges": done}
    return once


def run(results):
    method, rounds = results.options.one_method, results.options.ping_rounds
    small = {name: size for name, size in SIZES.items() if size <= SMALL}
    free = [(name, (size, EXCHANGES)) for name, size in small.items()]
    bound = [(f"{name}, one processor", (size, EXCHANGES, on_one_processor)) for name, size in small.items()]
    large = [(name, (size, LARGE_EXCHANGES)) for name, size in SIZES.items() if size > SMALL]
    for loads, many in ((free, rounds), (bound, max(rounds // 10, 1)), (large, min(rounds, LARGE_ROUNDS))):
        contest(results, "ping", method, loads, with_method(results, method), start(results, method), measure(results), many)
