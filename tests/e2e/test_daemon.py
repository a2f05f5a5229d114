"""-f: the parent ends when the child has bound, the file holds the child's pid, and goes with it."""

import contextlib
import os
import pathlib
import signal

import kit
import pytest
from kit import METHOD, PASSWORD, eventually, free_port

pytestmark = pytest.mark.ours  # 3.3.5 ends its parent before it has bound, and leaves the file


@pytest.fixture
def pid_file(tmp_path):
    """Its daemon is ended with the test."""
    file = tmp_path / "ss.pid"
    yield file
    with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
        pid = int(file.read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        if str(file).encode() in command:
            os.kill(pid, signal.SIGKILL)


def start(stage, pid_file, port, *more):
    """The program that becomes a daemon; its exit status."""
    args = ["-s", "127.0.0.1", "-p", port, "-k", PASSWORD, "-m", METHOD, "-f", pid_file, *more]
    return stage.program("server", None, args)


def gone(pid):
    """True if it has ended, whether or not init has collected it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_life(stage, pid_file):
    port = free_port()
    parent = start(stage, pid_file, port)
    assert parent.wait() == 0
    assert kit.listening(port), "the parent ended before the child had bound"
    pid = int(pid_file.read_text())
    assert pid != parent.pid and not gone(pid)
    with open(f"/proc/{pid}/comm") as comm:
        assert comm.read().strip() == "ss-server"
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}
    assert os.getsid(pid) == pid
    parent.port = port
    assert kit.works(parent)
    clock = kit.Stopwatch()
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: gone(pid), "the daemon ends on SIGTERM")
    assert clock() < 1.1
    assert not pid_file.exists()


def test_relative_paths(stage, pid_file):
    """They are meant from where the program was started."""
    port = free_port()
    program = stage.program(
        "server",
        {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD},
        ["-f", pid_file.name],
        prefix=["env", "-C", str(pid_file.parent)],
    )
    assert program.wait() == 0
    pid = int(pid_file.read_text())
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: gone(pid), "the daemon ends")
    assert not pid_file.exists()


def test_port_taken(stage, pid_file):
    """The starting shell sees the failure, and no daemon and no file stay."""
    taken = stage.server()
    parent = start(stage, pid_file, taken.port)
    assert parent.wait() == 255
    assert not pid_file.exists()
    assert kit.works(taken)


def test_bad_setting(stage, pid_file):
    parent = start(stage, pid_file, free_port(), "-m", "no-such-method")
    assert parent.wait() == 255 and "no-such-method" in parent.stderr()
    assert not pid_file.exists()


@pytest.mark.parametrize("content", ["1\n", "99999999", "", "not a number\n"])
def test_stale_file(stage, pid_file, content):
    """What an earlier life, or somebody else, has left is replaced."""
    pid_file.write_text(content)
    assert start(stage, pid_file, free_port()).wait() == 0
    pid = int(pid_file.read_text())
    assert pid != 1 and not gone(pid)
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: gone(pid), "the daemon ends")


def test_symbolic_link(stage, pid_file):
    """DM03: what it points to is not written over."""
    precious = pid_file.parent / "precious"
    precious.write_text("precious")
    pid_file.symlink_to(precious)
    status = start(stage, pid_file, free_port()).wait()
    assert precious.read_text() == "precious"
    if status == 0:
        assert not pid_file.is_symlink()
        os.kill(int(pid_file.read_text()), signal.SIGTERM)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user(stage, pid_file):
    """The file is written and removed although nobody may not write there."""
    pid_file.parent.chmod(0o700)
    assert start(stage, pid_file, free_port(), "-a", "nobody").wait() == 0
    pid = int(pid_file.read_text())
    assert os.stat(f"/proc/{pid}").st_uid == 65534
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: gone(pid), "the daemon ends")
    assert not pid_file.exists() or pid_file.read_text() == ""


def test_killed_and_started_again(stage, pid_file):
    port = free_port()
    assert start(stage, pid_file, port).wait() == 0
    first = int(pid_file.read_text())
    os.kill(first, signal.SIGKILL)
    eventually(lambda: gone(first), "it is gone")
    assert start(stage, pid_file, port).wait() == 0
    second = int(pid_file.read_text())
    assert second != first
    os.kill(second, signal.SIGTERM)
    eventually(lambda: gone(second), "the daemon ends")


def end(pid_file, port):
    """Tell the daemon to end, unless it has been told; and wait until it has."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(pid_file.read_text()), signal.SIGTERM)
    eventually(lambda: not pid_file.exists() and not kit.listening(port), "the daemon ends")


def test_ended_while_it_starts(stage, pid_file):
    """Whenever SIGTERM comes, neither an empty file nor a process that nobody knows of is left."""
    port, clock = free_port(), kit.Clock()
    assert start(stage, pid_file, port).wait(30) == 0
    takes = clock()
    end(pid_file, port)
    for step in range(24):
        parent, clock = start(stage, pid_file, port), kit.Clock()
        while clock() < takes * step / 20 and parent.alive():
            pass
        with contextlib.suppress(ProcessLookupError):
            parent.signal(signal.SIGTERM)
        if parent.wait(30) == 0:  # it came too late, or was passed on when the daemon was ready
            end(pid_file, port)
        assert not pid_file.exists() and not kit.listening(port), step
