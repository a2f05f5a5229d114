"""One executable, many names: by its own name, as a subcommand, by a link."""

import os
import subprocess

import kit
import pytest
from kit import METHOD, PASSWORD, free_port

SS = kit.BUILD / "ss"
pytestmark = pytest.mark.skipif(
    not SS.exists(), reason=f"{SS} does not exist: SS_LOCAL and SS_SERVER are tested alone"
)
APPLETS = ["local", "server", "tunnel", "redir", "manager"]


def ss(*args):
    done = subprocess.run([SS, *map(str, args)], capture_output=True, text=True, timeout=kit.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def test_list():
    status, out, _ = ss("--list")
    assert status == 0
    assert all(any(applet in line for line in out.splitlines()) for applet in APPLETS)


def test_version():
    status, out, _ = ss("--version")
    assert status == 0 and "libsodium" in out and "aes-256-gcm" in out


@pytest.mark.parametrize("args, why", [
    (["no-such-applet"], 'no applet named "no-such-applet"'),
    (["--list", "x"], "--list takes no argument"),
    (["--version", "x"], "--version takes no argument"),
    (["--no-such"], "there is no option --no-such"),
])
def test_what_is_wrong_is_said(args, why):
    status, out, err = ss(*args)
    assert status == 1 and why in err and not out


@pytest.mark.parametrize("args", [
    ["--list"], ["--help"], ["--version"], ["key", METHOD], ["key", "--help"], ["local", "--help"], ["server", "--version"],
    ["url", "-s", "127.0.0.1", "-p", "1", "-k", "x", "-m", METHOD], ["check", "--help"],
])
def test_an_answer_that_is_lost_fails(args):
    """A script keeps a key in a file: it must know that the disk was full."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SS, *args], stdout=full, stderr=subprocess.PIPE, timeout=kit.PATIENCE)
    assert done.returncode == 1 and b": the answer cannot be written\n" in done.stderr
    assert subprocess.run([SS, *args], stdout=subprocess.DEVNULL, timeout=kit.PATIENCE).returncode == 0


@pytest.mark.parametrize("args", [[], ["no-such-applet"]])
def test_unknown(args):
    status, out, err = ss(*args)
    assert status != 0 and out + err


@pytest.mark.parametrize("name", ["ss-server", "server"])
def test_subcommand(stage, name):
    """The process is called ss-server, for pidof and killall."""
    port = free_port()
    args = ["-s", "127.0.0.1", "-p", str(port), "-k", PASSWORD, "-m", METHOD]
    process = subprocess.Popen(
        [SS, name, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    stage.callback(process.wait)
    stage.callback(process.terminate)
    kit.eventually(lambda: kit.listening(port), "it listens")
    with open(f"/proc/{process.pid}/comm") as comm:
        assert comm.read() == "ss-server\n"


@pytest.mark.parametrize("symbolic", [False, True])
def test_install(tmp_path, symbolic):
    status, _, err = ss("--install", *(["-s"] if symbolic else []), tmp_path)
    assert status == 0, err
    for applet in APPLETS:
        link = tmp_path / f"ss-{applet}"
        assert link.is_symlink() == symbolic
        assert os.path.samefile(link, SS)
    assert not (tmp_path / "ss").exists(), "it would hide iproute2's"
    done = subprocess.run([tmp_path / "ss-local", "--version"], capture_output=True, timeout=kit.PATIENCE)
    assert done.returncode == 0


def test_install_over_a_directory(tmp_path):
    """It is named, and nothing is changed, whichever comes first."""
    (tmp_path / "ss-url").mkdir()
    (tmp_path / "ss-local").write_text("old")
    status, _, err = ss("--install", tmp_path)
    assert status == 1 and f"{tmp_path}/ss-url" in err and err.endswith(": Is a directory\n")
    assert {path.name for path in tmp_path.iterdir()} == {"ss-url", "ss-local"}
    assert (tmp_path / "ss-local").read_text() == "old"
