"""The static executable as the only file there is: no /etc, no /dev, no /proc, nothing to write to, nobody's user,
process 1."""

import json
import os
import pathlib
import signal
import subprocess
import time

import box
import kit
import pytest
from kit import PASSWORD, free_port

METHODS = ["aes-256-gcm", "2022-blake3-aes-256-gcm", "aes-256-cfb"]
KEYS = {"2022-blake3-aes-256-gcm": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}


@pytest.fixture
def start(stage, tool, root):
    """start("server", ..., port=N): in the box, until the end of the test."""
    tool("bwrap")

    def start(role, *args, port=None):
        return stage.program(role, None, args, argv=[*box.bwrap(root), "/ss", role], port=port)

    return start


def pair(start, method):
    server, local = free_port(), free_port()
    key = KEYS.get(method, PASSWORD)
    common = ["-k", key, "-m", method, "-u"]
    return (start("server", "-s", "127.0.0.1", "-p", server, *common, port=server),
            start("local", "-s", "127.0.0.1", "-p", server, "-l", local, *common, port=local))


@pytest.mark.parametrize("method", METHODS)
def test_it_relays(stage, start, method):
    _, local = pair(start, method)
    target = stage.target()
    sock = stage.socks(local, target)
    sock.sendall(b"x" * 100_000)
    assert kit.read(sock, 100_000) == b"x" * 100_000


def test_who_and_where_it_is(start):
    server, _ = pair(start, "aes-256-gcm")
    pid = box.first(server.pid)
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    assert status["NSpid"].split()[-1] == "1"
    assert os.listdir(f"/proc/{pid}/root") == ["ss"]
    assert int(status["CapEff"], 16) == 0


def test_log(start):
    """What it says comes out of the two streams, stamped; there is no syslog, no terminal, no time zone."""
    server, _ = pair(start, "aes-256-gcm")
    assert "tcp server listening at 127.0.0.1:" in server.log()
    assert "ERROR" not in server.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_a_second(start, number):
    """The kernel gives process 1 no default actions. One time in ten it has the second to itself on any machine."""
    took = []
    while not took or (took[-1] > 1 and len(took) < 10):
        server, _ = pair(start, "aes-256-gcm")
        pid, began = box.first(server.pid), time.monotonic()
        os.kill(pid, number)
        assert server.wait(kit.PATIENCE) == 0
        took.append(time.monotonic() - began)
    assert min(took) <= 1, took


def test_orphans_are_reaped(start, tool):
    """What loses its parent in a namespace becomes a child of process 1."""
    tool("nsenter")
    if os.geteuid():
        pytest.skip("only root may put a process into the namespace")
    server, _ = pair(start, "aes-256-gcm")
    pid = box.first(server.pid)
    # the shell ends first; the orphan reads from a pipe, and so ends when we say so
    reader, writer = os.pipe()
    subprocess.run(["nsenter", "-t", str(pid), "-p", "sh", "-c", "exec 3<&0; cat <&3 &"], check=True, timeout=60,
                   stdin=reader, stdout=subprocess.DEVNULL)
    os.close(reader)
    kit.eventually(lambda: len(box.children(pid)) == 1, "the orphan has come to it")
    os.close(writer)
    kit.eventually(lambda: not box.children(pid), "the orphan is gone, and is no zombie")
    assert server.alive()


def test_names_without_resolv_conf(stage, start):
    server, port = free_port(), free_port()
    start("server", "-s", "127.0.0.1", "-p", server, "-k", PASSWORD, "-m", kit.METHOD, port=server)
    local = start("local", "-s", "shadowsocks.test", "-p", server, "-l", port, "-k", PASSWORD, "-m", kit.METHOD)
    kit.eventually(lambda: "no name server in /etc/resolv.conf" in local.stderr(), local.log)
    assert "give one with --nameserver" in local.stderr()


def test_names_with_a_nameserver(stage, start):
    server, port = free_port(), free_port()
    names = stage.dns({"shadowsocks.test": ["127.0.0.1"]})
    start("server", "-s", "127.0.0.1", "-p", server, "-k", PASSWORD, "-m", kit.METHOD, port=server)
    local = start("local", "-s", "shadowsocks.test", "-p", server, "-l", port, "-k", PASSWORD, "-m", kit.METHOD,
                  "--nameserver", names.address, port=port)
    target = stage.target()
    sock = stage.socks(local, target)
    sock.sendall(b"ping")
    assert kit.read(sock, 4) == b"ping"


def test_starts_differ(stage, start):
    """Without /dev/urandom, too: the first questions to a name server have other numbers in each run."""
    names = stage.dns({"*": "drop"})
    for _ in range(4):
        start("local", "-s", "a.test", "-p", 1, "-l", free_port(), "-k", PASSWORD, "-m", kit.METHOD, "--nameserver",
              names.address)
    kit.eventually(lambda: len(names.ids) >= 8, "four programs have asked for A and AAAA")
    assert len(set(names.ids)) > 4


def test_health_check(stage, tool, root, tmp_path):
    """ss-ping beside the server in the container, with the same configuration and nothing else."""
    tool("bwrap")
    port, names = free_port(), stage.dns({"*": "nx"})
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"server": ["::0", "0.0.0.0"], "server_port": port, "password": PASSWORD,
                                  "method": kit.METHOD, "mode": "tcp_and_udp", "nameserver": names.address}))
    (root / "shadowsocks.json").touch()
    box_here = box.bwrap(root, (config, "/shadowsocks.json"))
    server = stage.program("server", argv=[*box_here, "/ss", "server", "-c", "/shadowsocks.json"], port=port)
    ping = [*box_here, "/ss", "ping", "-S", "-u", "-c", "/shadowsocks.json"]
    done = subprocess.run(ping, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2, done.stderr
    server.kill()
    done = subprocess.run(ping, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot connect" in done.stderr
