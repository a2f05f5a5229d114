#!/usr/bin/env python3
"""keys.py SETTINGS MANUAL: the keys of the table in settings.c are those in ss-config(5), both ways, and each is said
there to be read by exactly the programs that the table says: L (ss-local), T (ss-tunnel), R (ss-redir), S (ss-server)
and M (ss-manager); C is short for L, T, R, and "all" for all. What elements of lists may have is at least named."""
import re
import sys

PROGRAMS = {"L": 1, "T": 2, "R": 4, "S": 8, "M": 16}
CLIENTS = PROGRAMS["L"] | PROGRAMS["T"] | PROGRAMS["R"]
ALL = sum(PROGRAMS.values())
WORDS = {**PROGRAMS, "CLIENTS": CLIENTS, "RELAYS": CLIENTS | PROGRAMS["S"], "ALL": ALL}
LETTERS = {**PROGRAMS, "C": CLIENTS, "all": ALL}


def programs(expression):
    """FOR(ALL & ~R) -> the bits of those programs."""
    if not re.fullmatch(r"[\w|&~ ]+", expression):
        sys.exit(f"FOR({expression}) cannot be read")
    return eval(expression, {"__builtins__": {}}, WORDS) & ALL


def of_table(path):
    source = open(path, encoding="utf-8").read()
    table = source[source.index("rows[] = {"):source.index("/* clang-format on */")]
    keys = {}
    for row in re.findall(r"^\t\{ (.*?) \},$", table, re.M | re.S):
        key = re.search(r'\bKEY\("(\w+)"\)', row)
        if key:
            keys[key.group(1)] = keys.get(key.group(1), 0) | programs(re.search(r"\bFOR\(([^)]*)\)", row).group(1))
    return keys


def of_elements(path):
    """Of the elements of `servers` and `tunnels`."""
    source = open(path, encoding="utf-8").read()
    return set(re.findall(r'\bKEY\("(\w+)"\)', source[source.index("element_rows[] = {"):]))


def quoted(path):
    return set(re.findall(r"^\.(?:Sq|Ic|It Ic|Pq or Sq) (\w+)", open(path, encoding="utf-8").read(), re.M))


def of_manual(path):
    keys = {}
    for line in open(path, encoding="utf-8"):
        item = re.match(r"\.It Ic (.*?)(?: Pq ([\w, ]+))?$", line.rstrip())
        if item:
            said = 0
            for letter in re.findall(r"\w+", item.group(2) or ""):
                said |= LETTERS[letter]
            for key in re.findall(r"\w+", item.group(1)):
                keys[key] = said
    return keys


def letters(bits):
    """The shortest way to say it."""
    if bits == ALL:
        return "all"
    short = ["C"] if bits & CLIENTS == CLIENTS else []
    return ", ".join(short + [letter for letter, bit in PROGRAMS.items() if bits & bit and not (short and bit & CLIENTS)])


def main():
    told, written = (read(path) for read, path in zip((of_table, of_manual), sys.argv[1:]))
    if len(told) < 10 or len(written) < 10:
        sys.exit("the keys of the table or of the manual cannot be read")
    wrong = [f"{key} is missing" for key in told.keys() - written.keys()]
    wrong += [f"{key} is no key of any program" for key in written.keys() - told.keys()]
    wrong += [f"{key} is read by {letters(told[key])}, not by {letters(written[key]) or 'nobody'}"
              for key in told.keys() & written.keys() if told[key] != written[key]]
    wrong += [f"{key}, which elements have, is missing" for key in of_elements(sys.argv[1]) - quoted(sys.argv[2])]
    for line in sorted(wrong):
        print(f"{sys.argv[2]}: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
