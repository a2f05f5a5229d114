"""Programs alone in a root: process 1 of a PID namespace, uid 65534, nothing to write to."""

import os
import pathlib

import kit

NOBODY = 65534


def bwrap(root, *binds):
    """The beginning of a command line, for what follows it. The network is ours: tests use loopback alone."""
    argv = ["bwrap", "--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY), "--unshare-pid", "--as-pid-1",
            "--unshare-ipc", "--unshare-uts", "--clearenv", "--die-with-parent", "--ro-bind", str(root), "/"]
    for source, name in binds:
        argv += ["--ro-bind", str(source), name]
    return argv


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def first(pid):
    """The process below `pid` that is number 1 of its own namespace."""

    def look():
        waiting = [pid]
        while waiting:
            one = waiting.pop()
            status = pathlib.Path(f"/proc/{one}/status").read_text()
            numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]
            if len(numbers) > 1 and numbers[-1] == "1" and "ss" in os.readlink(f"/proc/{one}/exe").rsplit("/", 1)[-1]:
                return one
            waiting += children(one)
        return None

    return kit.eventually(look, "process 1 of the namespace")
