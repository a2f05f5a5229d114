"""The results of a report, and the contest: everybody in turn, round after round, so that what disturbs the machine
disturbs all of them, and in another order each round, so that nobody always comes after the same one, whose threads may
still be busy.

A result is one contestant with one load of one method: samples, of which the medians count, or why there are none.
Where the machine is a virtual one, its host may give the processors to others meanwhile, for milliseconds: such a
round counts only if there are not enough others.
"""
import contextlib
import random
import subprocess
import time

import bench
import contestants
import kit


class Failed(Exception):
    """A contestant did not do what was asked; the text says what."""


# what goes wrong with one of them, and is no reason to leave out the others; ValueError: what it printed is no figure
THEIR_FAULTS = (Failed, OSError, AssertionError, ValueError, subprocess.SubprocessError)


STOLEN = 1.0  # percent of the processors' time; below it a round counts as calm


def taken():
    """Ticks so far that the host gave to others, and all ticks, of all processors."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def stolen(since):
    """Percent of the processors' time."""
    others, all_of_it = (now - was for now, was in zip(taken(), since))
    return 100 * others / all_of_it if all_of_it else 0


def calm(rounds, samples_of=lambda sample: [sample]):
    """Those that were not disturbed, if they are half of them at least; else all."""
    found = [one for one in rounds if all(sample.get("stolen", 0) < STOLEN for sample in samples_of(one))]
    return found if 2 * len(found) >= len(rounds) else rounds


class Results:
    def __init__(self, options, tools, peers):
        self.options, self.tools, self.peers = options, tools, peers
        self.began, self.taken = time.monotonic(), taken()
        self.rows, self.commands, self.notes, self.ended, self.broken, self.absent = {}, {}, {}, {}, [], []

    def row(self, section, method, load, name):
        key = (section, method, load, name)
        return self.rows.setdefault(key, {
            "section": section, "method": method, "load": load, "contestant": name, "samples": [], "error": None})

    def add(self, section, method, load, name, sample):
        self.row(section, method, load, name)["samples"].append(sample)

    def late(self):
        """Is the time over that all of it may take? What is left then has one round only, and the head says so."""
        over = time.monotonic() - self.began > 60 * self.options.minutes
        if over:
            self.ended["fewer rounds"] = f"{self.options.minutes} minutes were over; what came later has one round"
        return over

    def samples(self, *key):
        return self.rows[key]["samples"] if key in self.rows else []

    def failed(self, section, method, load, name, error):
        words = str(error).strip() or type(error).__name__
        self.row(section, method, load, name)["error"] = words.split("\n")[-1][:200]
        print(f"FAILED {section}: {name}, {method}, {load}: {words.splitlines()[-1][:200]}", flush=True)

    def note(self, name, text):
        """Something a reader of the figures of this contestant must know."""
        notes = self.notes.setdefault(name, [])
        if text not in notes:
            notes.append(text)

    def keep_command(self, section, method, chain):
        for role, command in chain.commands.items():
            self.commands.setdefault(chain.peer.name, {}).setdefault(f"{section}, {role}", command)
        for text in chain.notes:
            self.note(chain.peer.name, text)

    def figures(self, section, method=None, load=None):
        """{contestant: {metric: median}} of one table; those that failed have none."""
        found = {}
        for (s, m, l, name), row in self.rows.items():
            if s == section and m == method and l == load and row["samples"]:
                found[name] = medians(row["samples"])
        return found

    def of_another(self, key, section, method, load, name, other):
        """The median of the ratios of the rounds in which both took part: what disturbs a round counts little."""
        pairs = list(zip(self.samples(section, method, load, name), self.samples(section, method, load, other)))
        return bench.median([one[key] / another[key] for one, another in calm(pairs, samples_of=list)])

    def tables(self, section):
        """(method, load) in the order in which they were measured."""
        return list(dict.fromkeys((m, l) for s, m, l, _ in self.rows if s == section))


def medians(samples):
    """Of each figure, over the calm samples that have it."""
    samples = calm(samples)
    keys = [key for sample in samples for key, value in sample.items() if isinstance(value, (int, float))]
    return {key: bench.median([sample[key] for sample in samples if key in sample]) for key in dict.fromkeys(keys)}


def with_method(results, method, forced=False):
    """Those who have the method as both; with those of ours that are held to AES-NI, or without. The second forwarder,
    to which all methods are one, takes part in one only."""
    return [peer for peer in results.peers if peer.has("local", method) and peer.has("server", method)
            and (forced or not getattr(peer, "forced", False))
            and (peer.name != contestants.RENO or method == results.options.one_method)]


def rounds_of(results, method, name, rounds=None):
    """Full rounds are for those whom claims compare. AES-NI alone is compared with one method."""
    rounds = rounds or results.options.rounds
    if name in contestants.SLOW:
        return 1
    return min(rounds, 2) if contestants.FORCED in name and method != results.options.one_method else rounds


def run_tool(argv, within, may_fail=False):
    """What a load program prints; Failed if it does not end well, unless it tells of that in what it prints."""
    argv = [str(word) for word in argv]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=within)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done within {within} s") from None
    if done.returncode and not (may_fail and done.stdout):
        raise Failed(done.stderr.strip() or done.stdout.strip()[-200:] or f"{argv[0]} failed")
    return done.stdout


def attempt(results, section, method, load, peer, function, *arguments):
    """function(stage, peer, *arguments) on a stage of its own; what it raises is the result."""
    with kit.Stage() as stage:
        try:
            return function(stage, peer, *arguments)
        except THEIR_FAULTS as error:
            results.failed(section, method, load, peer.name, error)


def started(results, stage, section, method, peers, start):
    """The chains that could be started, by name."""
    chains = {}
    for peer in peers:
        try:
            chains[peer.name] = start(stage, peer)
        except THEIR_FAULTS as error:
            results.failed(section, method, "start", peer.name, error)
            continue
        results.keep_command(section, method, chains[peer.name])
    return chains


def contest(results, section, method, loads, peers, start, measure, rounds=None):
    """loads: (name, arguments of measure after the chain). Whoever fails a load is out of it."""
    with contextlib.ExitStack() as place:
        stage = place.enter_context(kit.Stage())
        chains = started(results, stage, section, method, peers, start)
        for load, arguments in loads:
            names = list(chains)
            for number in range(rounds or results.options.rounds):
                if number and results.late():
                    break
                names = [name for name in names if number < rounds_of(results, method, name, rounds)]
                for name in random.Random(number).sample(names, len(names)):
                    since = taken()
                    try:
                        sample = measure(chains[name], *arguments)
                        results.add(section, method, load, name, sample | {"stolen": stolen(since)})
                    except THEIR_FAULTS as error:
                        results.failed(section, method, load, name, error)
                        names.remove(name)
            tell(results, section, method, load)


def tell(results, section, method, load):
    """A line while the work goes on."""
    figures = results.figures(section, method, load)
    if figures:
        first = next(iter(next(iter(figures.values()))))
        best = sorted(figures.items(), key=lambda item: item[1][first])
        text = ", ".join(f"{name} {row[first]:.4g}" for name, row in best)
        print(f"{section:8} {method:24} {load:22} {first}: {text}", flush=True)
