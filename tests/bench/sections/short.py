"""b. Short connections: many at once, each with a limit of two seconds."""
import subprocess

import contestants
import kit
from results import Failed, contest, with_method

TITLE = "Short connections"
TEXT = ("Connections through the SOCKS5 client that ask with 100 bytes, get so many, and end; so many at once, "
        "2000 ms each. Memory is resident, client and server together, the highest of each second's.")
METRICS = [
    ("rate", "per second", ".0f"), ("cpu_us", "CPU us each", ".0f"), ("errors", "errors %", ".2f"),
    ("timeouts", "timeouts %", ".2f"), ("mean", "mean ms", ".1f"), ("p50", "p50 ms", ".1f"), ("p99", "p99 ms", ".1f"),
    ("memory", "memory MiB", ".1f"),
]
MORE_IS_BETTER = True
LIMIT = 2000
LOADS = {"100 x 500 KB": (500_000, 100), "500 x 50 KB": (50_000, 500), "1000 x 5 KB": (5_000, 1000)}


def start(results, method):
    def begin(stage, peer):
        """The forwarder is a tunnel; the others are asked as SOCKS5 servers."""
        target = kit.free_port() if peer.name in contestants.PLAINS else None
        chain = contestants.Chain(peer, stage, method, target=target, tools=results.tools)
        chain.target = [target] if target else []
        return chain
    return begin


def watched(argv, chain):
    """What the program prints, and the memory of each second (KiB) while it ran."""
    memory = [sum(chain.memory().values())]
    with subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(120):
            try:
                out, error = process.communicate(timeout=1)
                break
            except subprocess.TimeoutExpired:
                if chain.alive():
                    memory.append(sum(chain.memory().values()))
        else:
            process.kill()
            raise Failed("not done within 120 s")
    if not chain.alive():
        raise Failed("a program ended under the load")
    if process.returncode:
        raise Failed(error.strip())
    return out, [*memory, sum(chain.memory().values())]


def total_of(results, name):
    """Those far behind would take minutes."""
    return results.options.total // 4 if name in contestants.SLOW else results.options.total


def measure(results):
    def once(chain, size, at_once):
        total = total_of(results, chain.peer.name)
        argv = [f"{results.tools}/exchange", chain.port, "short", size, at_once, total, LIMIT, *chain.target]
        for _ in range(3):  # the machine may have stood still for so long
            before = sum(chain.cpu().values())
            out, memory = watched(argv, chain)
            good, errors, timeouts, mean, p50, p99, took = map(int, out.split())
            if good:
                break
        else:
            raise Failed(f"{errors} errors, {timeouts} timeouts, none good")
        cpu = 1e6 * (sum(chain.cpu().values()) - before) / total
        return {"rate": 1e6 * good / took, "cpu_us": cpu, "errors": 100 * errors / total,
                "timeouts": 100 * timeouts / total, "mean": mean / 1000, "p50": p50 / 1000, "p99": p99 / 1000,
                "memory": max(memory) / 1024, "memory_each_second_kib": memory}
    return once


def run(results):
    method = results.options.one_method
    contest(results, "short", method, LOADS.items(), with_method(results, method), start(results, method),
            measure(results))
