#!/usr/bin/env python3
"""manager.py [PORTS]: what ten thousand ports in one ss-manager cost: memory, start, and how long it takes to add
and remove one, while a ping-pong through another port goes on.

Runs in a network namespace of its own (root), so that no port is anybody else's. Times are of the clock on the
wall: on a machine that has other things to do they say little; the ping-pong without any requests is measured
first, to compare with.
"""
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import kit
import sip004

FIRST, PING, TARGET = 20000, 19999, 19998
ADDED = 1000


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
    """The longest and the usual round trip, ms, until told to stop."""
    peer = sip004.Peer(kit.connect(PING), kit.METHOD, "ping").open("127.0.0.1", TARGET, b"x")
    peer.read(1)
    rounds = []
    while not stop.is_set():
        began = time.perf_counter()
        peer.send(b"x")
        peer.read(1)
        rounds.append(time.perf_counter() - began)
    rounds.sort()
    gaps.put((len(rounds), rounds[len(rounds) // 2] * 1000, rounds[-1] * 1000, rounds[-2] * 1000))


def while_pinging(what, work):
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
    work()
    stop.set()
    count, median, longest, second = gaps.get(timeout=30)
    pinger.join()
    target.terminate()
    target.join()
    listener.close()
    print(f"ping-pong {what}: {count} round trips, median {median:.3f} ms, longest {longest:.2f} and {second:.2f} ms")
    return longest


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
        """All parts of a long answer."""
        told = self(request).count('"') // 2
        while told < ports:
            told += self.sock.recv(1 << 17).count(b'"') // 2


def requests(ask, pid, word, ports, rest=""):
    times, before = [], cpu(pid)
    for port in ports:
        began = time.perf_counter()
        answer = ask('%s: {"server_port":%d%s}' % (word, port, rest))
        times.append((time.perf_counter() - began) * 1000)
        assert answer == "ok", (word, port, answer[:80])
    times.sort()
    each = (cpu(pid) - before) / len(times)
    print(f"{word}: median {times[len(times) // 2]:.3f} ms, 99 % {times[len(times) * 99 // 100]:.3f} ms, "
          f"longest {times[-1]:.2f} ms; {each:.3f} ms of CPU each")


def measure(count, mode):
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
            ask.whole("ping", count + 1)
            took, used = time.perf_counter() - began, cpu(program.pid)
            memory = resident(program.pid)
            print(f"{count + 1} ports, {mode}: start {took:.2f} s ({used / 1000:.2f} s of CPU), "
                  f"resident {memory['VmRSS'] / 1024:.1f} MB (anonymous {memory['RssAnon'] / 1024:.1f})")
            ports = range(FIRST + count, FIRST + count + ADDED)
            while_pinging("alone", lambda: time.sleep(2))
            while_pinging("while ports are added", lambda: requests(ask, program.pid, "add", ports, ',"password":"x"'))
            while_pinging("while ports are removed", lambda: requests(ask, program.pid, "remove", ports))
            while_pinging("while all are listed", lambda: [ask.whole("ping", count + 1) for _ in range(20)])
            print(f"resident {resident(program.pid)['VmRSS'] / 1024:.1f} MB")
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait()


def main():
    in_namespace()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    measure(count, "tcp_only")
    # UDP takes a descriptor of each port, too
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    measure(min(count, (hard - 1000) // 2 - ADDED), "tcp_and_udp")


if __name__ == "__main__":
    main()
