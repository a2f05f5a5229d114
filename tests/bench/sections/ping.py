"""f. Ping-pong on one open connection: shows stalls."""
from results import contest, run_tool, with_method
from sections.short import start

TITLE = "Ping-pong"
TEXT = "So many bytes up and back on one open connection. A stall is an exchange of more than 5 ms."
METRICS = [
    ("p50", "p50 ms", ".3f"), ("p99", "p99 ms", ".3f"), ("longest", "longest ms", ".2f"),
    ("stalls", "stalls %", ".2f"), ("exchanges", "exchanges", ".0f"),
]
SIZES = {"100 B": 100, "1 KB": 1000, "4 KB": 4000, "16 KB": 16_000, "64 KB": 64_000, "200 KB": 200_000}


def measure(results):
    def once(chain, size):
        argv = [f"{results.tools}/exchange", chain.port, "ping", size, results.options.exchanges, results.options.ping_ms, *chain.target]
        done, p50, p99, longest, stalls = map(int, run_tool(argv, 30).split())
        return {"p50": p50 / 1000, "p99": p99 / 1000, "longest": longest / 1000,
                "stalls": 100 * stalls / max(done, 1), "exchanges": done}
    return once


def run(results):
    method = results.options.one_method
    loads = [(name, (size,)) for name, size in SIZES.items()]
    contest(results, "ping", method, loads, with_method(results, method), start(results, method), measure(results))
