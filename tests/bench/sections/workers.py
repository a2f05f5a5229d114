"""Two workers against one process: what they cost together, and how they share the load."""
import contestants
import kit
import workers
from results import attempt

TITLE = "Two workers"
TEXT = ("One process against two workers, ours alone: bulk of 16 streams. The ratio is that of processor time; the "
        "share is that of the busier worker of the server.")
METRICS = [("ratio", "CPU of one process", ".3f"), ("share", "busier worker %", ".1f")]


def run(results):
    method = results.options.one_method
    for peer in results.peers:
        if not isinstance(peer, contestants.Ours) or peer.forced:
            continue
        attempt(results, "workers", method, "bulk", peer, compare, results, method)


def compare(stage, peer, results, method):
    load, size, streams = f"{results.tools}/load", results.options.worker_mib * kit.MIB, 16
    one, two = (chain(stage, peer, method, number) for number in (1, 2))
    for way in ("up", "down"):
        for _ in range(results.options.rounds):
            alone, _ = workers.cost(load, one, way, size, streams, streams)
            both, each = workers.cost(load, two, way, size, streams, streams)
            sample = {"ratio": both / alone, "share": 100 * max(each) / sum(each)}
            results.add("workers", method, f"{streams} streams {way}", peer.name, sample)


def chain(stage, peer, method, number):
    """(server, local), all workers of which have started."""
    started = contestants.Chain(WithWorkers(peer, number), stage, method)
    pair = started.programs["server"], started.programs["local"]
    for program in pair:
        kit.eventually(lambda: number == 1 or len(workers.processes(program)) == 1 + number, "workers start")
    return pair


class WithWorkers:
    def __init__(self, peer, number):
        self.peer, self.number = peer, number

    def __getattr__(self, name):
        return getattr(self.peer, name)

    def local(self, *args):
        argv, config = self.peer.local(*args)
        return argv, {**config, "workers": self.number}

    def server(self, *args):
        argv, config = self.peer.server(*args)
        return argv, {**config, "workers": self.number}
