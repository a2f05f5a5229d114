#!/usr/bin/env python3
"""size.py MAP EXECUTABLE [REAL]: what each object costs in a stripped executable. REAL is the one that is
handed out, if its objects were optimised as one and its map would not tell them apart.

The map is what the linker says of itself with --print-map, GNU ld or lld. Prints a line for each object
that has bytes in the file, the largest first, then the sums of our folders and of each library, and what
is nobody's (headers, relocations, what fills gaps), so that all add up to the file. Text that several
objects have in common is counted where the linker put it: for the first of them.
"""
import collections
import os
import re
import sys

IN_FILE = re.compile(r"\.(text|rodata|data|tdata|init|fini|init_array|fini_array|eh_frame|lrodata|ldata|sdata|got"
                     r"|toc|opd|ARM\.ex\w+)\b")

# GNU: " .text.name  0xADDRESS  0xSIZE object"; the name stands in a line of its own if it is long.
# lld: "address address size align  object:(.text.name)", three of them in hexadecimal.
GNU_NAME = re.compile(r"^ (\.\S+)$")
GNU = re.compile(r"^ (\.\S+)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
LLD = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ {9}(\S.*):\((\.\S+)\)$")


def gnu(lines):
    name = ""
    for line in lines:
        if match := GNU_NAME.match(line):
            name = match[1]
        elif match := GNU.match(line):
            name = match[1] or name
            if int(match[2], 16):  # others were collected as garbage
                yield match[4], name, int(match[3], 16)


def lld(lines):
    for line in lines:
        if match := LLD.match(line):
            yield match[2], match[3], int(match[1], 16)


def owner(path):
    """Folder or library, and object."""
    if match := re.match(r"(.*\.a)\((.*)\)$", path):
        return os.path.basename(match[1]), os.path.basename(match[2])
    if match := re.search(r"/obj/(?:(.*)/)?([^/]+)\.o$", path):
        return match[1] or "ss.c", match[2] + ".c"
    return "start of C", os.path.basename(path)


def read(path):
    """{(folder or library, object): bytes in the file}"""
    with open(path) as file:
        lines = file.read().splitlines()
    sizes = collections.Counter()
    for place, section, size in (lld if lines[:1] and "VMA" in lines[0] else gnu)(lines):
        if IN_FILE.match(section):
            sizes[owner(place)] += size
    return sizes


def main():
    sizes = read(sys.argv[1])
    whole = os.path.getsize(sys.argv[2])
    sums = collections.Counter()
    for (group, name), size in sizes.most_common():
        sums[group] += size
        if size:
            print(f"{size:8} {group + '/' + name if group != 'ss.c' else name}")
    sums["nobody's"] = whole - sum(sums.values())
    print()
    for group, size in sums.most_common():
        print(f"{size:8} {size * 1000 // whole / 10:5} %  {group}")
    print(f"{whole:8}          {sys.argv[2]}, stripped")
    for path in sys.argv[3:]:
        print(f"{os.path.getsize(path):8}          {path}, optimised as one")
    if not 0 <= sums["nobody's"] < whole / 4:
        sys.exit("the map is of another executable, or in a form that is not known here")


if __name__ == "__main__":
    main()
