"""The matrix: which cells there are, and the picture of how they went.

A cell is (peer, role of ours, method). It exists where the peer plays the other role and has the method.
Run as a program it puts the picture of the last full run into README.md: matrix.py README.md RESULTS.json
"""
import functools
import json
import pathlib
import re
import subprocess
import sys

import kit
from peers import PEERS

ROLES = ("local", "server")
OTHER = {"local": "server", "server": "local"}
BEGIN, END = "<!-- interop: begin -->", "<!-- interop: end -->"
USERS = "(users)"


@functools.cache
def our_methods():
    """As our program tells them; a continuation line is indented."""
    told = subprocess.run([kit.BUILD / "ss", "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return re.search(r"^methods: ((?:.*\n)(?:\s+.*\n)*)", told, re.M).group(1).split()


def every_cell():
    """SIP023's have rows of their own."""
    plain = [
        (name, role, method)
        for name, peer in PEERS.items() for method in our_methods() for role in ROLES if peer.has(OTHER[role], method)
    ]
    return plain + [(name, role, f"{method} {USERS}") for name, role, method in plain if method in PEERS[name].users]


def cells(users=False):
    """Those of the peers that are here."""
    return [cell for cell in every_cell() if not PEERS[cell[0]].missing() and cell[2].endswith(USERS) == users]


def picture(results):
    """Lines; results maps a cell to whether it held."""
    every = set(every_cell())

    def mark(*cell):
        return {True: cell[1][0].upper(), False: "!", None: "?"}[results.get(cell)] if cell in every else "."

    methods = our_methods() + [f"{m} {USERS}" for m in our_methods() if any(m in peer.users for peer in PEERS.values())]
    widths = [max(map(len, methods)), *(max(len(name), len(peer.version)) for name, peer in PEERS.items())]
    rows = [
        ["", *PEERS],
        ["", *(peer.version for peer in PEERS.values())],
        *([method, *("".join(mark(name, role, method) for role in ROLES) for name in PEERS)] for method in methods),
    ]
    return ["  ".join(f"{word:<{width}}" for word, width in zip(row, widths)).rstrip() for row in rows]


LEGEND = "L: our local with its server. S: its local with our server. .: it has no such method there. " \
         "!: failed. ?: not tried, the peer is not here."


def block(text):
    """What stands between the marks of README.md."""
    return text.split(BEGIN)[1].split(END)[0]


def readme_rows(text):
    """README's picture, as lists of words."""
    return [line.split() for line in block(text).splitlines() if line and not line.startswith("```")]


def main(readme, results):
    told = {tuple(cell): held for *cell, held in json.loads(pathlib.Path(results).read_text())}
    if lost := [cell for cell in every_cell() if not told.get(cell)]:
        sys.exit(f"README.md keeps its matrix: {len(lost)} cells of this run failed or were not tried, as {lost[0]}")
    lines = picture(told)
    readme = pathlib.Path(readme)
    text = readme.read_text()
    old, new = block(text), "\n```\n" + "\n".join(lines) + "\n```\n"
    readme.write_text(text.replace(BEGIN + old + END, BEGIN + new + END))


if __name__ == "__main__":
    main(*sys.argv[1:])
