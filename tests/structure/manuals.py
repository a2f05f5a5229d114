#!/usr/bin/env python3
"""manuals.py PROGRAM MANUAL: the options in the program's help are those in its manual, both ways. A help text that
lists none is that of a program that has no others than -h and --help."""
import re
import subprocess
import sys


def help_of(program, option):
    return subprocess.run([program, option], capture_output=True, text=True, check=True, timeout=60).stdout


def of_help(program):
    text = help_of(program, "-h")
    if help_of(program, "--help") != text:
        sys.exit(f"{program} -h and --help are not the same")
    options = set()
    for line in text.splitlines():
        head = re.match(r"^\s+(-.*)$", line)
        if head:
            # the options stand at the front, before the words of the description
            front = re.split(r"\s{2,}|\t", head.group(1))[0]
            options.update(re.findall(r"(?:^|[\s,|\[])(--?[A-Za-z0-9][\w-]*)", front))
    return options or {"-h", "--help"}


def of_manual(path):
    options = set()
    for line in open(path, encoding="utf-8"):
        if line.startswith(".It Fl") or line.startswith(".It Xo Fl"):
            for word in re.findall(r"\bFl\s+(\\?-?[\w-]+)", line.replace("\\-", "-")):
                options.add("-" + word)
    return options


def main():
    program, manual = sys.argv[1:]
    told, written = of_help(program), of_manual(manual)
    if not written:
        sys.exit(f"no options found in {manual}")
    for option in sorted(told - written):
        print(f"{manual}: {option} is missing")
    for option in sorted(written - told):
        print(f"{manual}: {option} is no option of the program")
    sys.exit(1 if told != written else 0)


if __name__ == "__main__":
    main()
