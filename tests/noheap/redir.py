#!/usr/bin/env python3
"""No heap in steady state for ss-redir: the same as run.py, with what a router's rules turn to it. It takes network
namespaces; where they are not permitted this says so."""

import contextlib
import pathlib
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "netns"))
from run import Counted, build, report  # noqa: E402  first: it says where the kit is

import kit  # noqa: E402
import lab as laboratory  # noqa: E402
from rules import Nft  # noqa: E402
from services import EchoTarget, UdpEcho, start_redir  # noqa: E402

GUISES = 256


class Traffic:
    """What is done: each method once."""

    def __init__(self, lab, stage, redir):
        self.lab, self.redir, self.number = lab, redir, 0
        self.tcp = {version: stage.add(EchoTarget(lab, lab.TARGET[version])) for version in (4, 6)}
        self.udp = {version: stage.add(UdpEcho(lab, lab.TARGET[version])) for version in (4, 6)}

    def connect(self, version):
        with contextlib.closing(self.tcp[version].connect(self.lab.client)) as sock:
            sock.sendall(b"x" * 1000)
            assert len(kit.read(sock, 1000)) == 1000

    def tcp_of_v4(self):
        self.connect(4)

    def tcp_of_v6(self):
        self.connect(6)

    def straight_to_the_port(self):
        with contextlib.closing(self.lab.client.socket()) as sock:
            sock.connect((self.lab.ROUTER[4], self.redir.port))
            kit.ending(sock, 5)

    def udp_of_v4(self):
        self.udp[4].ask(self.lab.client, b"x" * 1200)

    def udp_of_v6(self):
        self.udp[6].ask(self.lab.client, b"x" * 1200)

    def answers_of_new_sources(self):
        """A hundred times as many as there are calls, and more than there may be sockets for them."""
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(contextlib.closing(self.lab.client.socket(kind=socket.SOCK_DGRAM)))
            target = stack.enter_context(contextlib.closing(self.lab.target.socket(kind=socket.SOCK_DGRAM)))
            target.bind((self.lab.OTHER[4], 4000))
            client.sendto(b"x", (self.lab.OTHER[4], 4000))
            _, server = target.recvfrom(10)
            for _ in range(100):
                self.number = (self.number + 1) % 1000
                with contextlib.closing(self.lab.target.socket(kind=socket.SOCK_DGRAM)) as voice:
                    voice.bind((self.lab.OTHER[4], 20000 + self.number))
                    voice.sendto(b"y", server)
                    assert client.recvfrom(10)[1] == voice.getsockname()

    KINDS = {
        "tcp_of_v4": 200,
        "tcp_of_v6": 200,
        "straight_to_the_port": 100,
        "udp_of_v4": 200,
        "udp_of_v6": 200,
        "answers_of_new_sources": 10,
    }

    def run(self, kind, times):
        for _ in range(times):
            getattr(self, kind)()
        kit.eventually(lambda: self.redir.fds() <= self.redir.idle_fds, "ss-redir has closed everything", within=60)


def main():
    why = laboratory.missing()
    if why:
        print(f"SKIPPED noheap of ss-redir: {why}")
        return 0
    with laboratory.Lab() as lab, kit.Stage() as stage, tempfile.TemporaryDirectory(prefix="noheap-") as folder:
        counted = Counted(stage, build(folder), lambda env: start_redir(lab, stage, env=env, udp_timeout=3))
        rules = Nft(lab.router)
        rules.redirect(counted.program.port)
        rules.tproxy("udp", counted.program.port)
        traffic, moved = Traffic(lab, stage, counted.program), 0
        for kind, times in traffic.KINDS.items():  # the warm-up
            traffic.run(kind, times // 4 + 1)
        for kind, times in traffic.KINDS.items():
            before = [counted.counts()]
            traffic.run(kind, times)
            moved += report(f"redir {kind}", times, [counted], before)
        counted.program.rests()
    print("noheap of ss-redir: " + (f"FAILED, {moved} counters moved" if moved else "nothing was allocated"))
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
