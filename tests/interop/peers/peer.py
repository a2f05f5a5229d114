"""What the tests know of a peer: its methods, whether it is here, and how to start it as local and as server.

Peers are started in the foreground on loopback ports of ours, say nothing that matters, and are killed by pid.
"""
import os
import pathlib
import shutil

import kit

CACHE = pathlib.Path(
    os.environ.get("SS_PEERS")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shadowsocks-peers"
)


def family(pattern, *sizes):
    """Names that differ in the size of the key."""
    return [pattern.format(size) for size in sizes or (128, 192, 256)]


class Peer:
    name = version = ""
    programs = ()  # files that must be there, absolute or below CACHE
    needs = ()  # programs that must be in PATH
    setup = "sh dist/setup.sh check"
    methods = ()  # as both roles
    only = {"local": (), "server": ()}  # methods it has in one role alone
    users = ()  # methods with SIP023 users
    env = {}

    # what a peer says of itself: (command line, configuration or None)

    def local(self, port, server_port, method, password):
        raise NotImplementedError

    def server(self, port, method, password, users=()):
        raise NotImplementedError

    def tunnel(self, port, server_port, method, password, target):
        """Like local, but everything goes to the port `target` of this machine; None: it has no such form."""
        return None

    # the same for all

    def missing(self):
        """Why it cannot be started here, or None."""
        absent = [str(path) for path in self.programs if not (CACHE / path).exists()]
        absent += [name for name in self.needs if not shutil.which(name)]
        return absent and f"{self.name} {self.version}: no {', no '.join(absent)}; {self.setup} says why" or None

    def has(self, role, method):
        return method in self.methods or method in self.only[role]

    def start_local(self, stage, server_port, method, password):
        port = kit.free_port()
        return self._start(stage, "local", port, self.local(port, server_port, method, password))

    def start_server(self, stage, method, password, users=()):
        port = kit.free_port()
        return self._start(stage, "server", port, self.server(port, method, password, users))

    def _start(self, stage, role, port, started):
        argv, config = started
        return stage.program(role, config, argv=[str(word) for word in argv], port=port, env=self.env, within=60).port
