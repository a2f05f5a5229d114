#!/usr/bin/env python3
"""The dependency rule and the places where things belong, checked on the source.

    ss.c -> applets -> net -> core, crypto        core includes only core; crypto includes crypto, core

Also: parsers, formats and ciphers touch no socket and no reactor, system interfaces that have
one home are used nowhere else, functions hold no conditional compilation, and nothing computes with
floating point. Prints each violation and ends with the number of rules passed and failed.
"""
import pathlib
import re
import sys

LAYERS = {
    "core": {"core"},
    "crypto": {"crypto", "core"},
    "net": {"net", "core", "crypto"},
    "applets": {"applets", "net", "core", "crypto"},
    "": {"applets", "net", "core", "crypto"},
}

# [no I/O]: parsers, formats, ciphers. Nothing of these may be included or called there.
NO_IO = re.compile(r"^(crypto/.*|core/(json|base64|bytes|list)|applets/request|applets/nat_(nft|iptables)|net/(endpoint|socks|hosts|acl\w*|nameservers|dns_message|wire\w*|replay|url))\.[ch]$")
IO_HEADERS = re.compile(r"^(core/(reactor|poller)\.h|net/(socket|session|flow|service|resolve)\.h|poll\.h|netdb\.h"
                        r"|sys/(epoll|event|select|poll)\.h)$")
IO_CALLS = re.compile(r"(?<![\w.>])(socket|connect|accept4?|bind|listen|recv(?:from|m?msg)?|send(?:to|m?msg)?"
                      r"|getsockopt|setsockopt|readv?|writev?|poll|epoll_\w+|kevent)\s*\(")

# What has one home: a pattern of calls, and the files that may make them.
HOMES = [
    ("sockets and their options", r"(socket|bind|connect|accept4?|listen|setsockopt)", r"(net/(socket\w*|origdst_\w+)|core/(fd\w*|syslog|notify))\.c"),
    ("epoll", r"epoll_\w+", r"core/poller_epoll\.c"),
    ("kqueue", r"(kqueue|kevent)", r"core/poller_kqueue\.c"),
    ("fork", r"(fork|vfork|daemon)", r"core/(process|process_\w+|child|command|guard|workers)\.c"),
    ("shell and temporary names", r"(system|popen|tmpnam|mktemp)", r"-"),
    ("unbounded text", r"(strcpy|strcat|sprintf|vsprintf|gets)", r"-"),
]


def strip(text):
    """The text without comments and string contents, with the same lines."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        if match.group().startswith(("/",)):
            return "\n" * match.group().count("\n") or " "
        return '""'

    return pattern.sub(blank, text)


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1), match.group(2)


def check_layers(name, text, _code):
    layer = name.split("/")[0] if "/" in name else ""
    for number, quote, header in includes(text):
        home = header.split("/")[0]
        if quote == '"' and "/" not in header:
            yield number, f'"{header}" is not written from the root'
        elif quote == '"' and home not in LAYERS[layer]:
            yield number, f"{layer or 'ss.c'} must not know {header}"


def check_no_io(name, text, code):
    if not NO_IO.match(name):
        return
    for number, _, header in includes(text):
        if IO_HEADERS.match(header):
            yield number, f"does no I/O, but includes {header}"
    for number, line in enumerate(code.splitlines(), 1):
        match = IO_CALLS.search(line)
        if match:
            yield number, f"does no I/O, but calls {match.group(1)}()"


def check_homes(name, _text, code):
    if not name.endswith(".c"):
        return
    for what, calls, home in HOMES:
        if re.fullmatch(home, name):
            continue
        for number, line in enumerate(code.splitlines(), 1):
            match = re.search(r"(?<![\w.>])" + calls + r"\s*\(", line)
            if match:
                yield number, f"{match.group(1)}(): {what} belong elsewhere ({home})"


def check_conditions(_name, _text, code):
    inside = False
    for number, line in enumerate(code.splitlines(), 1):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        elif inside and re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b", line):
            yield number, "conditional compilation inside a function"


def check_floats(_name, _text, code):
    for number, line in enumerate(code.splitlines(), 1):
        if re.search(r"\b(float|double)\b", line):
            yield number, "floating point"


def check_guard(name, text, _code):
    if name.endswith(".h"):
        guard = name.upper().replace("/", "_").replace(".", "_")
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield 1, f"no guard {guard}"


def check_marks(_name, text, _code):
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield number, "a note to self: do it, or file it"


RULES = {
    "dependency rule": check_layers,
    "no I/O in parsers, formats and ciphers": check_no_io,
    "one home for each system interface": check_homes,
    "no #ifdef inside functions": check_conditions,
    "no floating point": check_floats,
    "header guards named by path": check_guard,
    "no notes to self": check_marks,
}


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    files = sorted(root.glob("ss.c")) + sorted(p for d in LAYERS if d for p in (root / d).glob("*.[ch]"))
    broken = {rule: 0 for rule in RULES}
    for path in files:
        name = str(path.relative_to(root))
        text = path.read_text()
        code = strip(text)
        for rule, check in RULES.items():
            for number, message in check(name, text, code):
                broken[rule] += 1
                print(f"{name}:{number}: {message}")
    for rule, count in broken.items():
        print(f"{'FAIL' if count else 'ok  '} {rule}")
    failed = sum(1 for count in broken.values() if count)
    print(f"{len(RULES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
