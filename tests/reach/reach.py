"""reach.py MAKE SIZES TARGET[:RUNNER]...: build the static executable for each target, and run on it the unit tests with their
vectors and a relay, under an emulator where RUNNER names one. Ends with a table, which is left in build/reach.txt, what
was skipped and why, and the sums. What failed is shown; all that was said stays in build/reach/. An executable larger
than it may be has failed, too, unless SIZES is "any"."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LOGS = pathlib.Path("build/reach")
HEAD = ("target", "bytes", "unit tests", "vectors", "relay", "idle")
FORM = "{:24} {:>8}  {:38} {:>8}  {:6} {:>8}"
TOO_LARGE = re.compile(r": (\d+) bytes, more than")
# names of tests of what others have computed
VECTORS = re.compile(r"^\[ +OK \] (?:\w+_file|\w*vectors\w*|\w*rfc\w*|official|protocol)$", re.M)


class Log:
    """What is run for a target; and what went wrong."""

    def __init__(self, target):
        self.file = open(LOGS / f"{target}.log", "w")
        self.bad = []

    def run(self, seconds, *argv, pardon=None, **env):
        """Its output, whole. To end badly is no failure if it says `pardon`."""
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=seconds, env={**os.environ, **env})
            said, good = done.stdout, done.returncode == 0
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace") + f"\nnot done in {seconds} s\n"
            good = False
        self.file.write(said)
        self.file.flush()
        if not good and not (pardon and re.search(pardon, said)):
            lines = (line for line in said.splitlines() if not re.match(r"ok  |  CC|  LINK", line))
            self.bad.append("\n".join(lines))
        return said


def last(pattern, text, missing):
    found = re.findall(pattern, text)
    return found[-1] if found else missing


def vectors(kept):
    return sum(len(VECTORS.findall(out.read_text(errors="replace"))) for out in kept.rglob("*.out"))


def try_target(make, sizes, target, runner, skips):
    """A row of the table, and what went wrong."""
    log = Log(target)
    kept = LOGS / target
    shutil.rmtree(kept, ignore_errors=True)
    if runner and not shutil.which(runner.split()[0]):
        return (target, "-", "-", "-", "-", "-"), [f"there is no {runner.split()[0]} here: sh dist/setup.sh cross"]
    built = log.run(1800, make, "-j2", "static-musl", f"TARGET={target}", pardon=TOO_LARGE if sizes == "any" else None)
    size = last(r", (\d+) bytes(?!, more)", built, last(TOO_LARGE, built, "-"))
    if size == "-":
        return (target, size, "-", "-", "-", "-"), log.bad
    tested = log.run(3600, make, "-k", "-j2", "unit", "FLAVOUR=musl", f"TARGET={target}", KEEP=str(kept))
    counts = last(r"(\d+) passed, (\d+) failed, (\d+) skipped", tested, ("0", "1", "0"))
    for reason in re.findall(r"^ *skipped[: ]+(.*)$", tested, re.M | re.I):
        skips[reason][target] += 1
    relayed = log.run(900, sys.executable, str(HERE / "relay.py"), f"build/{target}", *runner.split())
    relay, idle = last(r"relay (\d+/\d+) idle (\d+)", relayed, ("0", "-"))
    units = "{} passed, {} failed, {} skipped".format(*counts)
    return (target, size, units, str(vectors(kept)), relay, f"{idle} KB"), log.bad


def why(reason, targets):
    return f"SKIPPED {reason}: " + ", ".join(f"{n} on {target}" for target, n in targets.items())


def main(make, sizes, *targets):
    LOGS.mkdir(parents=True, exist_ok=True)
    rows, failed, skips = [HEAD], 0, collections.defaultdict(collections.Counter)
    for target, _, runner in (word.partition(":") for word in targets):
        row, bad = try_target(make, sizes, target, runner, skips)
        rows.append(row)
        failed += bool(bad)
        for text in bad:
            print(f"FAIL {target}\n" + "\n".join(text.splitlines()[-60:]))
        print(FORM.format(*row), flush=True)
    lines = [FORM.format(*row).rstrip() for row in rows] + [why(*item) for item in sorted(skips.items())]
    pathlib.Path("build/reach.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(["", *lines, f"{len(targets) - failed} passed, {failed} failed"]))
    return failed > 0


sys.exit(main(*sys.argv[1:]))
