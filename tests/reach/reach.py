"""reach.py MAKE TARGET[:RUNNER]...: build the static executable for each target, and run on it the unit tests with their
vectors and a relay, under an emulator where RUNNER names one. Ends with a table and the sums; what failed is shown, and
all that was said stays in build/reach/."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LOGS = pathlib.Path("build/reach")


def run(log, *argv):
    """Its output, whole, and whether it ended well."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    log.write(done.stdout)
    log.flush()
    return done.stdout, done.returncode == 0


def last(pattern, text, missing):
    found = re.findall(pattern, text)
    return found[-1] if found else missing


def try_target(make, target, runner):
    """A row of the table, and what went wrong."""
    with open(LOGS / f"{target}.log", "w") as log:
        bad = []
        built, good = run(log, make, "-j2", "static-musl", f"TARGET={target}")
        size = last(r", (\d+) bytes(?!, more)", built, last(r": (\d+) bytes, more", built, "-"))
        if not good:
            bad.append(built)
        if size == "-":
            return (target, size, "-", "-", "-"), bad
        tested, good = run(log, make, "-k", "-j2", "unit", "FLAVOUR=musl", f"TARGET={target}")
        counts = last(r"(\d+) passed, (\d+) failed, (\d+) skipped", tested, ("0", "1", "0"))
        if not good:
            bad.append("\n".join(line for line in tested.splitlines() if not re.match(r"ok  |  CC|  LINK", line)))
        relayed, good = run(log, sys.executable, str(HERE / "relay.py"), f"build/{target}", *runner.split())
        if not good:
            bad.append(relayed)
        relay, idle = last(r"relay (\d+/\d+) idle (\d+)", relayed, ("0", "-"))
    return (target, size, f"{counts[0]} of {int(counts[0]) + int(counts[1])}, {counts[2]} left out", relay, f"{idle} KB"), bad


def main(make, *targets):
    LOGS.mkdir(parents=True, exist_ok=True)
    rows, failed = [("target", "bytes", "unit tests", "relay", "idle")], 0
    for target, _, runner in (word.partition(":") for word in targets):
        row, bad = try_target(make, target, runner)
        rows.append(row)
        failed += bool(bad)
        for text in bad:
            print(f"FAIL {target}\n" + "\n".join(text.splitlines()[-40:]), flush=True)
    for row in rows:
        print("{:24} {:>8}  {:26} {:6} {:>8}".format(*row))
    print(f"{len(targets) - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main(*sys.argv[1:]))
