"""A small internet in network namespaces, which nothing leaves and which is gone when the test has ended:

    client ──lan── router ──wan── server ──far── target
    192.168.1.2    .1  45.66.0.1  .2    45.67.0.1  .2, .3
    fd00:1::2      ::1 2a0e:66::1 ::2   2a0e:67::1 ::2, ::3

Every machine forwards and has a route to every other, so what is not proxied arrives too, but from the client's own
address: `Target.sources` tells which. Only the wide addresses are public ones, as rules that pass over private
networks want them. A namespace lives as long as the descriptor that holds it; nothing has a name in the file system.
"""
import contextlib
import ctypes
import os
import pathlib
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
PATIENCE = 30  # seconds until what does not come is not waited for
MACHINES = ("client", "router", "server", "target")
LINKS = (  # the network, its two ends
    ("lan", ("client", "192.168.1.2/24", "fd00:1::2/64"), ("router", "192.168.1.1/24", "fd00:1::1/64")),
    ("wan", ("router", "45.66.0.1/24", "2a0e:66::1/64"), ("server", "45.66.0.2/24", "2a0e:66::2/64")),
    ("far", ("server", "45.67.0.1/24", "2a0e:67::1/64"), ("target", "45.67.0.2/24", "2a0e:67::2/64")),
)
MORE_TARGETS = ("45.67.0.3/24", "2a0e:67::3/64")
ROUTES = {  # the way to what is not a neighbour
    "client": ("default via 192.168.1.1", "default via fd00:1::1"),
    "router": ("default via 45.66.0.2", "default via 2a0e:66::2"),
    "server": ("192.168.1.0/24 via 45.66.0.1", "fd00:1::/64 via 2a0e:66::1"),
    "target": ("default via 45.67.0.1", "default via 2a0e:67::1"),
}
SETTINGS = {
    "ipv4/ip_forward": 1, "ipv6/conf/all/forwarding": 1, "ipv4/conf/all/rp_filter": 0, "ipv4/conf/default/rp_filter": 0,
    "ipv6/conf/all/accept_dad": 0, "ipv6/conf/default/accept_dad": 0,
}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _own_namespace():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


class Machine:
    """A network namespace. `with machine:` is to be on it: sockets, threads and programs made inside stay there."""

    def __init__(self, name):
        self.name, self.fd, error = name, None, []

        def make():
            try:
                _check(_libc.unshare(CLONE_NEWNET))
                self.fd = _own_namespace()
            except OSError as reason:
                error.append(reason)

        thread = threading.Thread(target=make)  # which takes its namespace with it, less the descriptor
        thread.start()
        thread.join()
        if error:
            raise error[0]
        self.homes = []
        self.run("ip", "link", "set", "lo", "up")
        with self:
            for key, value in SETTINGS.items():
                pathlib.Path("/proc/sys/net", key).write_text(str(value))

    def __enter__(self):
        self.homes.append(_own_namespace())
        _check(_libc.setns(self.fd, CLONE_NEWNET))
        return self

    def __exit__(self, *_):
        home = self.homes.pop()
        _check(_libc.setns(home, CLONE_NEWNET))
        os.close(home)

    def run(self, *argv, text=None, within=120, status=0):
        """Run a command on this machine to its end; what it said. Another exit status than `status` fails."""
        with self:
            done = subprocess.run([str(a) for a in argv], input=text, capture_output=True, text=True, timeout=within)
        assert status is None or done.returncode == status, (
            f"{self.name}: {' '.join(map(str, argv))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def ip(self, *words):
        return self.run("ip", *words)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, timeout=PATIENCE):
        with self:
            sock = socket.socket(family, kind)
        sock.settimeout(timeout)
        return sock

    def close(self):
        os.close(self.fd)


class Lab(contextlib.ExitStack):
    """The four machines: lab.client, lab.router, lab.server, lab.target; and where they are."""

    ROUTER = {4: "192.168.1.1", 6: "fd00:1::1"}
    SERVER = {4: "45.66.0.2", 6: "2a0e:66::2"}
    EXIT = {4: "45.67.0.1", 6: "2a0e:67::1"}  # what a target sees of the server
    CLIENT = {4: "192.168.1.2", 6: "fd00:1::2"}
    TARGET = {4: "45.67.0.2", 6: "2a0e:67::2"}
    OTHER = {4: "45.67.0.3", 6: "2a0e:67::3"}

    def __init__(self):
        super().__init__()
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        for name in MACHINES:
            setattr(self, name, Machine(name))
            self.callback(getattr(self, name).close)
        for network, *ends in LINKS:
            (here, *_), (there, *_) = ends
            machine, peer = getattr(self, here), getattr(self, there)
            machine.ip("link", "add", network, "type", "veth", "peer", "name", network,
                       "netns", f"/proc/{os.getpid()}/fd/{peer.fd}")
            for name, *addresses in ends:
                self._join(getattr(self, name), network, addresses)
        self._join(self.target, "far", MORE_TARGETS)
        for name, routes in ROUTES.items():
            for family, route in zip(("-4", "-6"), routes):
                getattr(self, name).ip(family, "route", "add", *route.split())

    @staticmethod
    def _join(machine, network, addresses):
        for address in addresses:
            machine.ip("address", "add", address, "dev", network, *(["nodad"] if ":" in address else []))
        machine.ip("link", "set", network, "up")


def family_of(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def missing():
    """Why there can be no lab here, or None."""
    try:
        Machine("probe").close()
    except (OSError, AssertionError) as error:
        return f"network namespaces are not permitted here ({error})"
    return None
