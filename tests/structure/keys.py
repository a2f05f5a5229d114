#!/usr/bin/env python3
"""keys.py SETTINGS MANUAL: the keys of the table in settings.c are those in ss-config(5), both ways,
and each is said to be read by ss-local (L) and ss-server (S) exactly if the table says so."""
import re
import sys

LETTERS = {"L": "L", "S": "S", "CLIENTS": "L", "RELAYS": "LS", "ALL": "LS"}


def programs(expression):
    """FOR(ALL & ~R) -> {"L", "S"}: what is taken away by ~ never is one of these two."""
    kept = re.sub(r"&\s*~\s*\w+", "", expression)
    return {letter for word in re.findall(r"\w+", kept) for letter in LETTERS.get(word, "")}


def of_table(path):
    source = open(path, encoding="utf-8").read()
    table = source[source.index("rows[] = {"):source.index("/* clang-format on */")]
    keys = {}
    for row in re.findall(r"^\t\{ (.*?) \},$", table, re.M | re.S):
        key = re.search(r'\bKEY\("(\w+)"\)', row)
        if key:
            keys.setdefault(key.group(1), set()).update(
                programs(re.search(r"\bFOR\(([^)]*)\)", row).group(1)))
    return keys


def of_manual(path):
    keys = {}
    for line in open(path, encoding="utf-8"):
        item = re.match(r"\.It Ic (.*?)(?: Pq ([LS, ]+))?$", line.rstrip())
        if item:
            for key in re.findall(r"\w+", item.group(1)):
                keys[key] = set(re.findall(r"[LS]", item.group(2) or ""))
    return keys


def main():
    told, written = (read(path) for read, path in zip((of_table, of_manual), sys.argv[1:]))
    if len(told) < 10 or len(written) < 10:
        sys.exit("the keys of the table or of the manual cannot be read")
    wrong = [f"{key} is missing" for key in told.keys() - written.keys()]
    wrong += [f"{key} is no key of any program" for key in written.keys() - told.keys()]
    wrong += [f"{key} is read by {sorted(told[key])}, not by {sorted(written[key])}"
              for key in told.keys() & written.keys() if told[key] != written[key]]
    for line in sorted(wrong):
        print(f"{sys.argv[2]}: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
