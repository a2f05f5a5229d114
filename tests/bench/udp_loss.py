#!/usr/bin/env python3
"""What is lost of a steady stream: iperf3 -u through ss-tunnel and ss-server, and through plain UDP
forwarders, one and two in a row, in interleaved rounds on loopback.

iperf3's own socket buffer (--buffer 0) holds some 90 datagrams of 1200 bytes: on a machine that is
busy most is lost there, behind every way alike. So that the ways are measured and not iperf3, it
gets one of 2 MB. A rate that the processors cannot carry is lost on every way, too.

Told of each way: the median of what is lost in percent, the worst round, the processor time of what lies
in between in microseconds per datagram that arrived, and what share of the machine was busy.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import bench
import kit


def relay(port, target):
    """iperf3's control connection, which ss-tunnel carries and a forwarder of datagrams does not."""

    def pipe(conn):
        with socket.create_connection(("127.0.0.1", target)) as on:
            back = threading.Thread(target=copy, args=(on, conn), daemon=True)
            back.start()
            copy(conn, on)
            back.join()

    return kit.Target(pipe, port=port)


def copy(source, to):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


class Way:
    """What lies between iperf3 and iperf3: the port to write to, and the processes."""

    def __init__(self, stage, port):
        self.stage, self.port, self.pids = stage, port, []

    def cpu(self):
        total = 0
        for pid in self.pids:
            with open(f"/proc/{pid}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9


def tunnel(stage, method, target):
    server = stage.server(method=method, password=password(method), mode="tcp_and_udp")
    way = Way(stage, kit.free_port())
    config = {
        "server": "127.0.0.1",
        "server_port": server.port,
        "local_port": way.port,
        "tunnel_address": f"127.0.0.1:{target}",
        "method": method,
        "password": password(method),
        "mode": "tcp_and_udp",
    }
    way.pids = [server.pid, stage.serve("tunnel", config, port=way.port).pid]
    return way


def password(method):
    if not method.startswith("2022"):
        return kit.PASSWORD
    return "SeBiKiHKAcdJV6Fu9K+Xfg==" if "128" in method else "3L69X4PF2eSL/JIPpLBjQj9rLhBBtgqHYy3AJVNLjz0="


def forwarders(stage, program, count, target):
    """`count` of them, one behind the other."""
    way, last = Way(stage, 0), target
    for _ in range(count):
        port = kit.free_port()
        forwarder = stage.program("forwarder", argv=[program, str(port), str(last)])
        way.pids.append(forwarder.pid)
        last = port
    stage.add(relay(last, target))
    way.port = last
    return way


def busy():
    """(busy, all) of all processors so far."""
    with open("/proc/stat") as file:
        fields = [int(word) for word in file.readline().split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def iperf(argv, seconds):
    """What it tells, or None if its server is busy still."""
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=seconds + 30)
    told = json.loads(done.stdout)
    return None if "busy" in told.get("error", "") else told


def measure(way, rate, options):
    """(percent lost, microseconds per datagram that arrived, percent of the machine)."""
    cpu, before = way.cpu(), busy()
    argv = ["iperf3", "-c", "127.0.0.1", "-p", way.port, "-u", "-l", options.bytes, "-b", f"{rate}M"]
    argv += ["-t", options.seconds, "-J"]
    argv += (["-w", options.buffer] if options.buffer != "0" else []) + (["-R"] if options.down else [])
    told = kit.eventually(lambda: iperf(argv, options.seconds), "iperf3's server has ended the round before")
    if "error" in told:
        sys.exit(f"iperf3: {told['error']}")
    total, after = told["end"]["sum"], busy()
    came = max(total["packets"] - total["lost_packets"], 1)
    share = (after[0] - before[0]) / max(after[1] - before[1], 1)
    return total["lost_percent"], 1e6 * (way.cpu() - cpu) / came, 100 * share


def report(rate, name, rows):
    lost, cpu, share = zip(*rows)
    print(
        f"{rate:5} Mbit/s  {name:14} lost {bench.median(lost):6.3f} %, at worst {max(lost):6.3f} %  "
        f"{bench.median(cpu):5.2f} us  machine {bench.median(share):3.0f} % busy",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=1200)
    parser.add_argument("--rates", default="100,250,500")
    parser.add_argument("--method", default="aes-256-gcm")
    parser.add_argument("--buffer", default="2M", help="of iperf3's sockets; 0: its own choice")
    parser.add_argument("--down", action="store_true", help="from the target to the client (iperf3 -R)")
    options = parser.parse_args()
    if not shutil.which("iperf3"):
        sys.exit("udp_loss: iperf3 is not installed")
    os.environ["SS_TUNNEL"] = os.environ.get("SS_TUNNEL") or str(kit.BUILD / "ss-tunnel")
    print(f"{bench.circumstances()}; medians of {options.rounds} rounds of {options.seconds} s, "
          f"{options.bytes} bytes, {options.method}{', down' if options.down else ''}")
    with kit.Stage() as stage, tempfile.TemporaryDirectory(prefix="ss-bench-") as folder:
        program, port = bench.compile_load(folder, "udp_forward"), kit.free_port()
        stage.program("iperf3", argv=["iperf3", "-s", "-p", str(port)], port=port)
        ways = {
            "ours": tunnel(stage, options.method, port),
            "one forwarder": forwarders(stage, program, 1, port),
            "two forwarders": forwarders(stage, program, 2, port),
        }
        for rate in map(int, options.rates.split(",")):
            figures = {name: [] for name in ways}
            for _ in range(options.rounds):
                for name, way in ways.items():
                    figures[name].append(measure(way, rate, options))
            for name, rows in figures.items():
                report(rate, name, rows)


if __name__ == "__main__":
    main()
