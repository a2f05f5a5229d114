"""c. Memory: resident when idle, with idle connections, after they carried 64 KB each way, and after they closed."""
import contextlib
import select
import subprocess
import time

import contestants
import kit
from results import Failed, attempt, with_method

TITLE = "Memory"
TEXT = ("Resident KiB of client and server; with connections that carried 100 bytes each way, or 64 KB. The last "
        "rows are the growth for each connection between the two numbers, of anonymous memory.")
METRICS = [("total", "both KiB", ".0f"), ("local", "client KiB", ".0f"), ("server", "server KiB", ".0f")]
WITHIN = 40  # seconds; those in the claims need two
CARRIED = {"idle": 100, "after 64 KB each way": 65536}


@contextlib.contextmanager
def held(load, port, size, connections):
    """While the block runs, so many connections are open and idle."""
    argv = [str(word) for word in (load, port, "hold", size, connections)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        try:
            if not select.select([p.stdout], [], [], WITHIN)[0]:
                p.kill()
                raise Failed(f"does not hold {connections} connections within {WITHIN} s")
            if p.stdout.readline() != "held\n":
                raise Failed(p.stderr.read().strip())
            yield
        finally:
            p.stdin.close()
            p.wait()


def resident(chain):
    kib = chain.memory()
    return {"total": sum(kib.values()), **kib}


def closed(chain, within):
    """Until the programs have closed what they held, or the time is over."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if all(program.fds() <= program.idle_fds + 2 for program in chain.programs.values()):
            return
        time.sleep(0.05)


def count(stage, peer, results, method, word, size):
    """Both numbers of connections with one pair of programs, and the growth between them."""
    def add(load, sample):
        results.add("memory", method, load, peer.name, sample)

    anon = []
    chain = contestants.Chain(peer, stage, method)
    results.keep_command("memory", method, chain)
    if word == "idle":
        add("started", resident(chain))
    for number in results.options.connections:
        with held(f"{results.tools}/load", chain.port, size, number):
            if not chain.alive():
                raise Failed("a program ended")
            lost = 2 * number - min(p.fds() - p.idle_fds for p in chain.programs.values())
            if lost > number // 10:
                raise Failed(f"{lost // 2} of {number} connections are not open any more")
            add(f"{number:,} {word}", resident(chain))
            anon.append(chain.memory("RssAnon"))
    closed(chain, results.options.patience)
    add(f"{word}, all closed", resident(chain))
    few, many = results.options.connections
    growth = {role: (anon[1][role] - anon[0][role]) / (many - few) for role in anon[0]}
    add(f"each, {word}", {"total": sum(growth.values()), **growth})


def run(results):
    kit.raise_nofile()
    method = results.options.one_method
    for peer in with_method(results, method):
        if peer.name in contestants.PLAINS:
            continue
        for word, size in CARRIED.items():
            attempt(results, "memory", method, word, peer, count, results, method, word, size)
