#!/usr/bin/env python3
"""readme.py REPORT.json [README.md]: the ranking of a report as README shows it, printed, or put there between its marks.

By method for bulk, the mean of its loads, and by load for the rest: who is first, second, ...
"""
import json
import pathlib
import re
import statistics
import sys

import contestants
from claims import is_ours
from page import rankings
from results import Results

BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->"
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th")
PLACES = len(ORDINALS)
SHOWN = {  # section: (loads or None for all, what its figures are)
    "short": (None, "{load}, connections per second"),
    "ping": (None, "{load} up and back, p50 in ms"),
    "udp": (None, "UDP, {method}, {load}, CPU us each"),
    "memory": (("started", "each, idle", "each, after 64 KB each way"), "memory, {load}, KiB of both"),
    "start": (None, "start of {load}, ms"),
}


def is_forced(name):
    return contestants.FORCED in name


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def places(order):
    """As many cells as there are places; `order` has (words, who), the best first."""
    cells = [f"**{who}** {words}" if is_ours(who) else f"{who} {words}" for who, words in order[:PLACES]]
    return cells + [""] * (PLACES - len(cells))


def means(results, method):
    """{contestant: ({figure: mean of its medians}, how many loads it did)}."""
    found = {}
    for m, load in results.tables("bulk"):
        if m == method:
            for who, row in results.figures("bulk", method, load).items():
                found.setdefault(who, []).append(row)
    return {who: ({key: statistics.mean(row[key] for row in rows) for key in rows[0] if all(key in row for row in rows)},
                  len(rows)) for who, rows in found.items()}


def worded(row, number, loads):
    text = f"{row['cpu']:.3g}" + (f" ({row['of_plain']:.2g})" if "of_plain" in row else "")
    return text if number == loads else f"{text} in {number} of {loads} loads"


def bulk(results):
    rows, methods = [], [method for method, _ in results.tables("bulk")]
    for method in dict.fromkeys(methods):
        found = sorted(means(results, method).items(), key=lambda item: item[1][0]["cpu"])
        order = [(who, worded(row, number, methods.count(method))) for who, (row, number) in found
                 if who not in contestants.PLAINS]
        forced = [words for who, words in order if who == f"ours {contestants.FORCED}"]
        rows.append([method, *places([item for item in order if not is_forced(item[0])]), *(forced or [""])])
    return table(["method", *ORDINALS, "ours with AES-NI alone"], rows)


def others(results):
    rows = []
    for row in rankings(results):
        loads, words = SHOWN.get(row["section"], ((), ""))
        order = [(who, f"{value:,.0f}" if value >= 1000 else f"{value:.3g}") for who, value in row["order"] if not is_forced(who)]
        if loads is None or row["load"] in loads:
            rows.append([words.format(**row), *places(order)])
    return table(["load", *ORDINALS], rows)


def forwarders(results):
    """What they need, where both took part."""
    for method in dict.fromkeys(method for method, _ in results.tables("bulk")):
        found = means(results, method)
        if contestants.RENO in found and contestants.PLAIN in found:
            plain, reno = (found[who][0]["cpu"] for who in contestants.PLAINS)
            return [f"The two plain forwarders need {plain:.3g} beside {method}, and {reno:.3g} where they take Reno.", ""]
    return []


def circumstances(told):
    head = told["circumstances"]
    fewer = f" ({head['fewer rounds']})" if "fewer rounds" in head else ""
    command = re.sub(r" --out \S+", "", head["command"])  # which says nothing, but where somebody keeps things
    return [f"`{command}`, {head['at']}, commit {head['commit']}: {head['processor']}, "
            f"{head['processors']} processors ({head['instructions']}), {head['system']}, {head['congestion control']}; "
            f"rounds: {head['rounds']}{fewer}, load {head['load at the start']} before and {head['load at the end']} after.", ""]


def block(told):
    """Lines."""
    results = Results(None, None, ())
    for row in told["results"]:
        results.rows[row["section"], row["method"], row["load"], row["contestant"]] = row
    tables = [bulk(results), others(results)]
    shown = [lines for lines in tables if len(lines) > 2]
    return [*circumstances(told), *forwarders(results), *(line for lines in shown for line in [*lines, ""])][:-1]


def main(report, readme=None):
    lines = "\n".join(block(json.loads(pathlib.Path(report).read_text()))) + "\n"
    if not readme:
        print(lines, end="")
        return
    path = pathlib.Path(readme)
    before, _, rest = path.read_text().partition(BEGIN)
    if END not in rest:
        sys.exit(f"{readme} has no place for it, between {BEGIN.strip()} and {END}")
    path.write_text(before + BEGIN + lines + END + rest.partition(END)[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
