"""d. UDP: one client with a window, many clients in turn (nothing can be merged), and one datagram at a time."""
import contestants
import kit
from results import Failed, contest, run_tool, with_method

TITLE = "UDP"
TEXT = ("Datagrams of 1200 bytes, echoed, through the tunnel form. Microseconds of processor time for each that "
        "came back, of client and server together.")
METRICS = [("cpu_us", "CPU us each", ".2f"), ("rate", "per second", ".0f"), ("lost", "lost %", ".2f")]
SIZE = 1200
CARRIES = ("shadowsocks-libev", "shadowsocks-rust", "sing-box", "v2ray")
LOADS = {"64 under way": ("window", 64), "1000 clients": ("clients", 1000), "one at a time": ("window", 1)}


def can(peer):
    return isinstance(peer, contestants.Ours) or peer.name in CARRIES


def start(method):
    def begin(stage, peer):
        target = kit.free_port()
        chain = contestants.Chain(peer, stage, method, target=target, udp=True)
        chain.target = target
        return chain
    return begin


def measure(results):
    def once(chain, kind, number):
        def load(ms):
            argv = [f"{results.tools}/udp_load", chain.port, kind, SIZE, number, ms, chain.target]
            return map(int, run_tool(argv, 120).split())
        load(100)  # the warm-up
        for _ in range(10):  # the machine may have stood still for so long
            before = sum(chain.cpu().values())
            back, lost, micros = load(results.options.udp_ms)
            if back:
                break
        else:
            raise Failed("no datagram came back")
        return {"cpu_us": 1e6 * (sum(chain.cpu().values()) - before) / back, "rate": 1e6 * back / micros,
                "lost": 100 * lost / (back + lost)}
    return once


def run(results):
    for method in results.options.udp_methods:
        peers = [peer for peer in with_method(results, method) if can(peer)]
        contest(results, "udp", method, LOADS.items(), peers, start(method), measure(results))
    for peer in results.peers:
        if not can(peer) and peer.name not in contestants.PLAINS:
            results.note(peer.name, "UDP: not measured, it has no tunnel form for datagrams")
