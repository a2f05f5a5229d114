#!/usr/bin/env python3
"""manager.py [PORTS [ROUNDS]]: what ten thousand ports in one ss-manager cost: memory, start, and how long it takes to
add and remove one, while a ping-pong through another port goes on.

Runs in a network namespace of its own (root), so that no port is anybody else's. Times are of the clock on the
wall, which on a machine that has other things to do say little by themselves. So each phase is repeated, one of them
has no requests to compare with, and beside the longest gap of the ping-pong stands what the manager itself can
have had to do with it: the most time of a processor that it has used between a request and its answer.
"""
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import kit
import sip004

FIRST, PING, TARGET = 20000, 19999, 19998
ADDED = 1000
GAP = 5  # ms that no phase should see


def in_namespace():
    if os.environ.get("SS_BENCH_INSIDE"):
        return
    env = {**os.environ, "SS_BENCH_INSIDE": "1"}
    command = 'ip link set lo up && exec "$@"'
    os.execvpe("unshare", ["unshare", "-n", "sh", "-c", command, "sh", sys.executable, *sys.argv], env)


def echo(listener):
    conn, _ = listener.accept()
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := conn.recv(4096):
        conn.sendall(data)


def ping_pong(stop, gaps):
    """The usual and the longest round trip, ms, until told to stop."""
    peer = sip004.Peer(kit.connect(PING), kit.METHOD, "ping").open("127.0.0.1", TARGET, b"x")
    peer.read(1)
    rounds = []
    while not stop.is_set():
        began = time.perf_counter()
        peer.send(b"x")
        peer.read(1)
        rounds.append(time.perf_counter() - began)
    gaps.put((statistics.median(rounds) * 1000, max(rounds) * 1000))


def while_pinging(work):
    """(usual round trip, longest, what work() has returned)"""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", TARGET))
    listener.listen()
    stop, gaps = multiprocessing.Event(), multiprocessing.Queue()
    target = multiprocessing.Process(target=echo, args=(listener,), daemon=True)
    pinger = multiprocessing.Process(target=ping_pong, args=(stop, gaps), daemon=True)
    target.start()
    pinger.start()
    time.sleep(0.3)
    done = work()
    stop.set()
    usual, longest = gaps.get(timeout=30)
    pinger.join()
    target.terminate()
    target.join()
    listener.close()
    return usual, longest, done


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith(("VmRSS", "Rss"))}


def cpu(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e6


class Asker:
    def __init__(self, address, home):
        self.address = address
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(os.path.join(home, "ask"))
        self.sock.settimeout(30)

    def __call__(self, request):
        self.sock.sendto(request.encode(), self.address)
        return self.sock.recv(1 << 17).decode()

    def whole(self, request, ports):
        """All parts of a long answer, as they come."""
        self.sock.sendto(request.encode(), self.address)
        told = 0
        while told < ports:
            told += self.sock.recv(1 << 17).count(b'"') // 2
            yield


class Work:
    """The times of requests, and what the manager has used for each of them, ms."""

    def __init__(self, pid):
        self.pid, self.times, self.used = pid, [], []

    def begin(self):
        self.began, self.before = time.perf_counter(), cpu(self.pid)

    def end(self):
        self.times.append((time.perf_counter() - self.began) * 1000)
        self.used.append(cpu(self.pid) - self.before)


def idle(pid):
    work = Work(pid)
    time.sleep(2)
    return work


def requests(ask, pid, word, ports, rest=""):
    work = Work(pid)
    for port in ports:
        work.begin()
        answer = ask('%s: {"server_port":%d%s}' % (word, port, rest))
        work.end()
        assert answer == "ok", (word, port, answer[:80])
    return work


def tellings(ask, pid, ports):
    """Of all ports, part by part."""
    work = Work(pid)
    for _ in range(20):
        work.begin()
        for _ in ask.whole("ping", ports):
            work.end()
            work.begin()
    return work


def show(phase, rounds):
    longest = [longest for _, longest, _ in rounds]
    above = sum(gap > GAP for gap in longest)
    print(f"{phase}: round trip {statistics.median(usual for usual, _, _ in rounds):.3f} ms; longest gap: median of "
          f"{len(rounds)} rounds {statistics.median(longest):.2f} ms, most {max(longest):.2f} ms; "
          f"above {GAP} ms in {above} of {len(rounds)} rounds")
    works = [work for _, _, work in rounds if work.times]
    if works:
        times = sorted(sum((work.times for work in works), []))
        used = [max(work.used) for work in works]
        print(f"  each request: median {statistics.median(times):.3f} ms, 99 % {times[len(times) * 99 // 100]:.3f} ms, longest "
              f"{times[-1]:.2f} ms; the manager's own: {statistics.mean(sum((work.used for work in works), [])):.3f} ms of "
              f"a processor each, the most for one: median of rounds {statistics.median(used):.2f} ms, most {max(used):.2f} ms")


def measure(count, mode, rounds):
    with tempfile.TemporaryDirectory() as home:
        config = {"port_password": {str(FIRST + i): f"password {i}" for i in range(count)},
                  "mode": mode, "method": kit.METHOD, "server": "127.0.0.1"}
        config["port_password"][str(PING)] = "ping"
        path = os.path.join(home, "config.json")
        pathlib.Path(path).write_text(json.dumps(config))
        address = os.path.join(home, "m.sock")
        began = time.perf_counter()
        program = subprocess.Popen([kit.BUILD / "ss-manager", "-c", path, "--manager-address", address, "-D",
                                    os.path.join(home, "work")], stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(address):
                time.sleep(0.005)
                assert program.poll() is None
            ask = Asker(address, home)
            list(ask.whole("ping", count + 1))
            took, used = time.perf_counter() - began, cpu(program.pid)
            memory = resident(program.pid)
            print(f"{count + 1} ports, {mode}: start {took:.2f} s ({used / 1000:.2f} s of CPU), "
                  f"resident {memory['VmRSS'] / 1024:.1f} MB (anonymous {memory['RssAnon'] / 1024:.1f})")
            ports = range(FIRST + count, FIRST + count + ADDED)
            phases = {
                "alone": lambda: idle(program.pid),
                "while ports are added": lambda: requests(ask, program.pid, "add", ports, ',"password":"x"'),
                "while ports are removed": lambda: requests(ask, program.pid, "remove", ports),
                "while all are listed": lambda: tellings(ask, program.pid, count + 1),
            }
            done = [{phase: while_pinging(work) for phase, work in phases.items()} for _ in range(rounds)]
            for phase in phases:
                show(phase, [each[phase] for each in done])
            print(f"resident {resident(program.pid)['VmRSS'] / 1024:.1f} MB")
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait()


def main():
    in_namespace()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    measure(count, "tcp_only", rounds)
    # UDP takes a descriptor of each port, too
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    measure(min(count, (hard - 1000) // 2 - ADDED), "tcp_and_udp", rounds)


if __name__ == "__main__":
    main()
