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
    told = subprocess.run([kit.BUILD / "ss", "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    return re.search(r"^methods: ((?:.*\n)(?:\s+.*\n)*)", told, re.M).group(1).split()


def cells():
    """Those of the peers that are here."""
    return [
        (name, role, method)
        for name, peer in PEERS.items() if not peer.missing()
        for method in our_methods()
        for role in ROLES if peer.has(OTHER[role], method)
    ]


def user_cells():
    """The same for SIP023, in rows of their own."""
    return [(name, role, f"{method} {USERS}") for name, role, method in cells() if method in PEERS[name].users]


def picture(results):
    """Lines; results maps (peer, role, method) to whether the cell held."""
    marks = {"local": "L", "server": "S"}

    def mark(name, role, method):
        peer, plain = PEERS[name], method.removesuffix(" " + USERS)
        if not (plain in peer.users if method != plain else peer.has(OTHER[role], method)):
            return "."
        return {True: marks[role], False: "!", None: "?"}[results.get((name, role, method))]

    methods = our_methods()
    methods = methods + [f"{m} {USERS}" for m in methods if any(m in peer.users for peer in PEERS.values())]
    widths = [max(map(len, methods)), *(max(len(name), len(peer.version)) for name, peer in PEERS.items())]
    rows = [
        ["", *PEERS],
        ["", *(peer.version for peer in PEERS.values())],
        *([method, *(mark(n, "local", method) + mark(n, "server", method) for n in PEERS)] for method in methods),
    ]
    return ["  ".join(f"{word:<{width}}" for word, width in zip(row, widths)).rstrip() for row in rows]


LEGEND = "L: our local with its server. S: its local with our server. .: it has no such method there. " \
         "!: failed. ?: not tried, the peer is not here."


def block(text):
    """What stands between the marks of README.md."""
    return text.split(BEGIN)[1].split(END)[0]


def methods_of(text):
    """The methods in README's picture."""
    rows = block(text).split("```")[1].splitlines()[3:]
    return [row.split()[0] for row in rows if row and USERS not in row]


def main(readme, results):
    told = {tuple(cell): held for *cell, held in json.loads(pathlib.Path(results).read_text())}
    lines = picture(told)
    if "?" in "".join(lines) or "!" in "".join(lines):
        sys.exit("\n".join(lines) + f"\n{LEGEND}\nREADME keeps its matrix: this run was not whole")
    readme = pathlib.Path(readme)
    text = readme.read_text()
    readme.write_text(text.replace(block(text), "\n```\n" + "\n".join(lines) + "\n```\n"))


if __name__ == "__main__":
    main(*sys.argv[1:])
