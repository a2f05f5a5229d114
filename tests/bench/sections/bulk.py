"""a. Bulk: iperf3 -> tunnel -> server -> iperf3, one stream and eight, both directions."""
import json
import time

import contestants
import kit
from results import Failed, contest, run_tool, with_method

TITLE = "Bulk TCP"
TEXT = ("iperf3 through client and server in their tunnel form. Seconds of processor time for each gigabyte. On the "
        "loopback interface ours takes Reno where the system's congestion control is BBR, which paces by timers; the "
        "peers and the plain forwarder have the system's. The second forwarder takes Reno, too: it is what is left of "
        "ours without ciphers. Ratios are to the forwarders' figures of the same rounds.")
METRICS = [
    ("cpu", "CPU s/GB", ".3f"), ("of_plain", "of plain", ".2f"), ("of_reno", "of reno", ".2f"), ("cpu_local", "client s/GB", ".3f"),
    ("cpu_server", "server s/GB", ".3f"), ("gbit", "Gbit/s", ".2f"),
]


def loads(streams):
    for number in streams:
        for way, flags in (("up", []), ("down", ["-R"])):
            yield f"{number} stream{'s' * (number > 1)} {way}", (number, flags)


def start(results, method):
    def begin(stage, peer):
        target = kit.free_port()
        stage.program("iperf3", argv=["iperf3", "-s", "-p", str(target)], port=target)
        return contestants.Chain(peer, stage, method, target=target, tools=results.tools)
    return begin


def told_by_iperf3(argv):
    """Its report; it serves one at a time, and may not have seen yet that the last one left."""
    for _ in range(100):
        told = json.loads(run_tool(argv, 120, may_fail=True))
        if "busy" not in told.get("error", ""):
            return told
        time.sleep(0.1)
    raise Failed(told["error"])


def transfer(chain, streams, flags, length):
    """(bytes, bits per second) that arrived."""
    told = told_by_iperf3(["iperf3", "-c", "127.0.0.1", "-p", chain.port, "-J", "-P", streams, *flags, *length.split()])
    arrived = told.get("end", {}).get("sum_received", {})
    if not arrived.get("bytes"):
        raise Failed(told.get("error", "nothing arrived"))
    return arrived["bytes"], arrived["bits_per_second"]


def measure(results):
    def once(chain, streams, flags):
        before = chain.cpu()
        size, rate = transfer(chain, streams, flags, results.options.bulk)
        spent = {role: 1e9 * (now - before[role]) / size for role, now in chain.cpu().items()}
        return {"cpu": sum(spent.values()), "cpu_local": spent["local"], "cpu_server": spent["server"],
                "gbit": rate / 1e9}
    return once


def compare(results, method, load):
    """Each round's sample against the forwarders' of the same round."""
    for name, key in ((contestants.PLAIN, "of_plain"), (contestants.RENO, "of_reno")):
        bases = results.samples("bulk", method, load, name)
        for (section, m, l, _), row in results.rows.items():
            if (section, m, l) == ("bulk", method, load):
                for sample, base in zip(row["samples"], bases):
                    sample[key] = sample["cpu"] / base["cpu"]


def run(results):
    for method in results.options.methods:
        try:
            contest(results, "bulk", method, loads(results.options.streams), with_method(results, method, forced=True),
                    start(results, method), measure(results))
        finally:  # also of what is not all of it
            for load, _ in loads(results.options.streams):
                compare(results, method, load)
