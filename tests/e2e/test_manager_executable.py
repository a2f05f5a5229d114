"""ss-manager --executable: a server of its own for each port, its files and its command line."""
import base64
import json
import os
import pathlib
import shutil
import signal

import kit
import manager
import pytest

pytestmark = pytest.mark.ours
LIBEV = "/usr/bin/ss-server"


def begin(stage, args=(), executable=None, **options):
    program, ask = manager.start(stage, args=["--executable", executable or kit.BUILD / "ss-server", *args], **options)
    return program, ask, pathlib.Path(program.work)


def pid_of(work, port):
    return int((work / f".shadowsocks_{port}.pid").read_text())


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid):
    kit.eventually(lambda: not alive(pid), f"{pid} lives on")


def test_life(stage):
    program, ask, work = begin(stage)
    port = kit.free_port()
    assert ask.add(port, 'p"\\w') == "ok"
    assert manager.serves(stage, port, 'p"\\w'), "bound when the answer comes"
    first = pid_of(work, port)
    assert json.loads((work / f".shadowsocks_{port}.conf").read_text())["password"] == 'p"\\w'
    assert ask.add(port, 'p"\\w') == "ok" and pid_of(work, port) == first
    assert ask.add(port, "other") == "ok"
    gone(first)
    assert manager.serves(stage, port, "other") and ask.ports() == {port: "other"}
    ask.send('remove: {"server_port":%d}' % port)
    ask.send('add: {"server_port":%d,"password":"again"}' % port)
    assert ask.receive() == ask.receive() == "ok"
    assert manager.serves(stage, port, "again")
    last = pid_of(work, port)
    assert ask.remove(port) == "ok" and ask("list") == "[\n]"
    gone(last)


def test_options_of_sockets(stage):
    """What is set for all connections is set for those of servers of their own, too."""
    _, ask, work = begin(stage, ["--tcp-congestion", "reno", "--keep-alive", "30", "--dscp", "CS1"])
    port = kit.free_port()
    assert ask.add(port) == "ok" and manager.serves(stage, port)
    has = json.loads((work / f".shadowsocks_{port}.conf").read_text())
    assert [has[k] for k in ("tcp_congestion", "keep_alive", "fwmark", "dscp")] == ["reno", 30, 0, 8]


def test_killed(stage):
    """A port whose server is dead has one again when it is added again, as node managers do."""
    _, ask, work = begin(stage)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    server = pid_of(work, port)
    os.kill(server, signal.SIGKILL)
    gone(server)
    assert ask.add(port) == "ok" and pid_of(work, port) != server
    assert manager.serves(stage, port)


FAKE = """#!/bin/sh
while [ "$1" != -f ]; do shift; done
sh -c 'trap "exec sleep 600" TERM; echo $$ >"$1"; while :; do sleep 0.02; done' server "$2" >/dev/null 2>&1 &
while ! [ -s "$2" ]; do sleep 0.02; done
"""


def test_number_of_another(stage, tmp_path):
    """A process is not killed for having the number of a server that has ended."""
    fake = tmp_path / "fake"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    _, ask, work = begin(stage, executable=fake)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    other = pid_of(work, port)
    stage.callback(os.kill, other, signal.SIGKILL)
    assert ask.remove(port) == "ok"
    name = pathlib.Path(f"/proc/{other}/comm")
    kit.eventually(lambda: name.read_text() == "sleep\n", "it has not become another program")
    (work / f".shadowsocks_{port}.pid").unlink()
    assert ask.add(port) == "ok"
    assert alive(other)
    os.kill(pid_of(work, port), signal.SIGKILL)  # it would not end either


def test_users(stage):
    """Whom its server would not know is not let in, nor said to be."""
    _, ask, work = begin(stage, ["-m", "2022-blake3-aes-128-gcm"])
    port, keys = kit.free_port(), [base64.b64encode(bytes([i] * 16)).decode() for i in range(3)]
    users = [{"name": "ann", "password": keys[1]}]
    assert ask.add(port, keys[0], users=users) == "ok"
    assert ask("add_user", server_port=port, name="bob", password=keys[2]) == "err"
    assert ask("remove_user", server_port=port, name="ann") == "err"
    assert ask.add(port, keys[0], users=[{"name": "bob", "password": keys[2]}]) == "ok"
    assert manager.serves(stage, port, f"{keys[0]}:{keys[2]}", method="2022-blake3-aes-128-gcm")


def test_end(stage):
    """Servers end with the manager; those of one that was killed, when the next begins."""
    home = stage.enter_context(kit.tempfile.TemporaryDirectory())
    program, ask, work = begin(stage, home=home)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    server = pid_of(work, port)
    program.kill()
    assert alive(server)
    program, ask, work = begin(stage, home=home)
    gone(server)
    assert ask.add(port) == "ok"
    server = pid_of(work, port)
    program.stop()
    gone(server)


def test_taken(stage):
    _, ask, _ = begin(stage)
    holder = stage.target()
    assert ask.add(holder.port) == "port is not available" and ask("list") == "[\n]"


def test_no_program(stage):
    _, ask, _ = begin(stage, executable="/nonexistent")
    assert ask.add(kit.free_port()) == "err" and ask("list") == "[\n]"


@pytest.mark.parametrize("body, why", [("exit 3", "ended with status 3"), ("kill -SEGV $$", "was killed by signal 11")])
def test_program_that_fails_in_silence(stage, tmp_path, body, why):
    path = tmp_path / "fails"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    program, ask, _ = begin(stage, executable=str(path))
    port = kit.free_port()
    assert ask.add(port) == "err"
    assert f"ss-server {port} {why}" in program.log()


def test_arguments(stage, tmp_path):
    """MG09: all that the manager was told is passed on, as words and through no shell."""
    acl = tmp_path / "a c'l"
    acl.write_text("[accept_all]\n")
    args = ["-u", "-6", "-i", "lo", "--fast-open", "--no-delay", "-n", 4000, "--mtu", 1400, "-t", 77, "-d", "127.0.0.1", "--acl", acl]
    program, ask, work = begin(stage, args)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    words = pathlib.Path(f"/proc/{pid_of(work, port)}/cmdline").read_text().split("\0")[:-1]
    for option, value in {"-n": "4000", "-i": "lo", "--mtu": "1400", "-t": "77", "-d": "127.0.0.1", "--acl": str(acl), "-s": "127.0.0.1",
                          "-f": str(work / f".shadowsocks_{port}.pid"),
                          "-c": str(work / f".shadowsocks_{port}.conf")}.items():
        assert words[words.index(option) + 1] == value
    assert {"-u", "-6", "--fast-open", "--no-delay", "--manager-address"} <= set(words)


def test_reports(stage):
    """What a server passed is known within five seconds."""
    _, ask, _ = begin(stage)
    port = kit.free_port()
    assert ask.add(port) == "ok" and manager.serves(stage, port)
    kit.eventually(lambda: ask.counts()[port] > 0, "nothing was reported")


def test_the_one_executable(stage, tmp_path):
    """Where PATH has no ss-server, the manager's own file is one."""
    program, ask, work = begin(stage, executable="ss-server", env={"PATH": str(tmp_path)})
    port = kit.free_port()
    assert ask.add(port) == "ok" and manager.serves(stage, port)


def test_configured(stage):
    port = kit.free_port()
    program, ask, work = begin(stage, config={"port_password": {str(port): "x"}})
    kit.eventually(lambda: kit.listening(port), program.log)
    assert ask.ports() == {port: "x"}
    (program.home / "config.json").write_text("{}")
    server = pid_of(work, port)
    program.signal(signal.SIGHUP)
    gone(server)
    assert ask("list") == "[\n]"


@pytest.mark.skipif(not os.path.exists(LIBEV) or shutil.which(LIBEV) is None, reason=f"SKIPPED: no {LIBEV}")
def test_shadowsocks_libev(stage):
    """The distribution's ss-server under our manager."""
    _, ask, work = begin(stage, executable=LIBEV)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    kit.eventually(lambda: kit.listening(port), "it does not listen")
    assert manager.serves(stage, port)
    kit.eventually(lambda: ask.counts()[port] > 0, "nothing was reported")
    server = pid_of(work, port)
    assert ask.remove(port) == "ok"
    gone(server)


PLUGIN = """#!/usr/bin/env python3
# a plugin that carries bytes as they are
import os, socket, threading
def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    finally:
        for s in (a, b):
            try: s.shutdown(2)
            except OSError: pass
assert os.environ["SS_PLUGIN_OPTIONS"] == "a=b;c d", os.environ
server = socket.create_server((os.environ["SS_REMOTE_HOST"], int(os.environ["SS_REMOTE_PORT"])))
while True:
    a, _ = server.accept()
    b = socket.create_connection((os.environ["SS_LOCAL_HOST"], int(os.environ["SS_LOCAL_PORT"])))
    for pair in ((a, b), (b, a)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


def test_plugin(stage, tmp_path):
    """A port with a plugin has a server of its own, beside ports that are served here."""
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o755)
    program, ask = manager.start(stage)
    port, other = kit.free_port(), kit.free_port()
    assert ask.add(other) == "ok"
    assert ask.add(port, plugin=str(plugin), plugin_opts="a=b;c d") == "ok"
    assert manager.serves(stage, port) and manager.serves(stage, other)
    server = pid_of(pathlib.Path(program.work), port)
    assert ask.add(port, plugin=str(plugin), plugin_opts="a=b;c d") == "ok" and alive(server)
    assert ask.add(port, "plain") == "ok", "without a plugin"
    gone(server)
    assert manager.serves(stage, port, "plain")
    for bad in ("$(touch x)", "/bin/true"):  # it is not there; it ends at once
        assert ask.add(kit.free_port(), plugin=bad) == "err"
    assert set(ask.ports()) == {port, other}
    assert ask.remove(port) == "ok"
    kit.eventually(lambda: not kit.listening(port), "it is served still")
