"""What a service manager says and hears: sd_notify(3), sockets that it has bound (sd_listen_fds(3))."""

import os
import pathlib
import signal
import socket

import kit
import pytest
from datagrams import Client, UdpTarget
from kit import METHOD, PASSWORD, Clock, Stopwatch, eventually

pytestmark = pytest.mark.ours


class Manager:
    """A socket to be told things: .hears(word) waits for a message with that line."""

    def __init__(self, name):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(name)
        self.sock.settimeout(kit.PATIENCE)

    def hears(self, word):
        while True:
            lines = self.sock.recv(4096).decode().split("\n")
            if word in lines:
                return lines

    def close(self):
        self.sock.close()


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_life(stage, tmp_path, abstract):
    """Ready when it can be used; reloading, and ready again; stopping."""
    name = f"\0ss-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    manager = stage.add(Manager(name))
    server = stage.server(env={"NOTIFY_SOCKET": name.replace("\0", "@")})
    assert f"MAINPID={server.pid}" in manager.hears("READY=1")
    assert kit.works(server)
    server.signal(signal.SIGHUP)
    assert any(line.startswith("MONOTONIC_USEC=") for line in manager.hears("RELOADING=1"))
    manager.hears("READY=1")
    server.signal(signal.SIGTERM)
    manager.hears("STOPPING=1")
    assert server.wait() == 0


def test_daemon(stage, tmp_path):
    """Its process is named, which is not the one that was started; and it is ready before that one leaves."""
    manager = stage.add(Manager(str(tmp_path / "notify")))
    port = kit.free_port()
    args = ["-s", "127.0.0.1", "-p", port, "-k", PASSWORD, "-m", METHOD, "-f", tmp_path / "pid"]
    starter = stage.program("server", None, args, env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
    assert starter.wait() == 0
    pid = int((tmp_path / "pid").read_text())
    try:
        assert f"MAINPID={pid}" in manager.hears("READY=1") and pid != starter.pid
    finally:
        os.kill(pid, signal.SIGTERM)
    manager.hears("STOPPING=1")


def test_watchdog(stage, tmp_path):
    """A sign of life twice in the time in which one is asked for."""
    manager = stage.add(Manager(str(tmp_path / "notify")))
    clock = Clock()
    stage.server(env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"})
    manager.hears("WATCHDOG=1")
    watch = Stopwatch()
    for _ in range(5):
        manager.hears("WATCHDOG=1")
    assert 0.8 < clock() and watch() < 3


def test_nobody_listens(stage, tmp_path):
    """It goes on, and says so."""
    server = stage.server(env={"NOTIFY_SOCKET": str(tmp_path / "none")})
    assert "NOTIFY_SOCKET: cannot tell" in server.stderr()
    assert kit.works(server)


def test_children_are_not_told(stage, tmp_path):
    """A plugin must not speak in our name."""
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nenv >{tmp_path}/env; exec sleep 60\n")
    script.chmod(0o755)
    stage.add(Manager(str(tmp_path / "notify")))
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "9000000", "LISTEN_FDS": "1"}
    stage.local(1, plugin=str(script), env=env)
    told = eventually(lambda: (tmp_path / "env").exists() and (tmp_path / "env").read_text(), "no environment")
    assert not any(name in told for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"))


# ---- sockets that are passed

PASS = """
import os, socket, sys
for fd, (kind, host, port) in enumerate((word.split(",") for word in sys.argv[1].split()), 3):
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, getattr(socket, "SOCK_" + kind))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, int(port)))
    os.dup2(sock.detach(), fd)
    os.set_inheritable(fd, True)
os.environ["LISTEN_FDS"] = str(len(sys.argv[1].split()))
os.environ["LISTEN_PID"] = str(os.getpid())
os.execvp(sys.argv[2], sys.argv[2:])
"""


def started(stage, sockets, port, **config):
    config = {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD,
              "mode": "tcp_and_udp", **config}  # fmt: skip
    return stage.serve("server", config, port=port, prefix=["python3", "-c", PASS, sockets])


def inodes(pid, kinds):
    """The descriptors below 10 that are sockets."""
    return [fd for fd in range(3, 10) if os.path.exists(f"/proc/{pid}/fd/{fd}")
            and os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")][:kinds]  # fmt: skip


def test_passed_sockets(stage):
    """TCP and UDP, bound by who starts it: used instead of new ones, which could not be bound."""
    port = kit.free_port()
    server = started(stage, f"STREAM,127.0.0.1,{port} DGRAM,127.0.0.1,{port}", port)
    eventually(lambda: "udp server listening" in server.stdout(), server.log)
    assert "cannot listen" not in server.log() and "LISTEN_FDS" not in server.log()
    assert inodes(server.pid, 2) == [3, 4]
    assert kit.works(server)
    local = stage.local(server, mode="tcp_and_udp")
    assert kit.works(server, local)
    assert stage.add(Client(local.port)).echoes(stage.add(UdpTarget()), b"hello")


def test_passed_to_workers(stage):
    """A socket that cannot be bound beside is every worker's."""
    port = kit.free_port()
    server = started(stage, f"STREAM,127.0.0.1,{port} DGRAM,127.0.0.1,{port}", port, workers=3)
    children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children")
    workers = eventually(lambda: (all := children.read_text().split()) and len(all) == 3 and all, server.log)
    for alone in workers:
        others = [int(pid) for pid in workers if pid != alone]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            assert kit.works(server), "by one worker alone"
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)
    os.kill(int(workers[0]), signal.SIGKILL)
    assert kit.works(server)


def test_passed_beside_others(stage):
    """One that nobody wants is warned about, and closed; what was not passed is bound."""
    port, other = kit.free_port(), kit.free_port()
    server = started(stage, f"STREAM,127.0.0.1,{other}", port)
    eventually(lambda: "udp server listening" in server.stdout(), server.log)
    assert f"nobody listens on 127.0.0.1:{other}, whose socket was passed" in server.stderr()
    assert not kit.listening(other)
    assert kit.works(server)


def test_passed_to_another(stage):
    """LISTEN_PID of somebody else: the descriptors are not ours."""
    server = stage.server(env={"LISTEN_FDS": "2", "LISTEN_PID": "1"})
    assert "LISTEN_FDS" not in server.log()
    assert kit.works(server)
