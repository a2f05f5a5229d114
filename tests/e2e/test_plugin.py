"""Plugins (SIP003): what they are told, when they are used, how they end. The plugin is plugin.py."""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import kit
import pytest
from datagrams import Client, UdpTarget
from kit import Clock, Stopwatch, eventually, read

pytestmark = pytest.mark.ours
SOON = 10  # seconds in which Python starts, also where much runs beside it
PLUGIN = str(pathlib.Path(__file__).with_name("plugin.py"))


@pytest.fixture
def folder():
    """Where every user may write: for records, and for programs to be found."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="ss-plugin-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


def server(stage, options="", **config):
    config = {"server": "127.0.0.1", "server_port": kit.free_port(), "password": kit.PASSWORD, "method": kit.METHOD,
              "plugin": PLUGIN, "plugin_opts": "server" + options, **config}  # fmt: skip
    return stage.serve("server", config, port=config["server_port"])


def local(stage, server, options="client", /, **config):
    return stage.local(server, plugin=PLUGIN, plugin_opts=options, **config)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def exists(pid):
    """A process that is neither gone nor dead."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


def echoes(stage, local, data=b"ping"):
    """One connection, as soon as it is possible."""
    target = stage.target()
    sock = stage.socks(local, target)
    sock.sendall(data)
    return read(sock, len(data)) == data


def datagrams_echo(stage, local):
    return stage.add(Client(local.port)).echoes(stage.add(UdpTarget()), b"hello")


def refused(stage, role, **config):
    """A program that must not start: the sentence it ends with, and in how many seconds."""
    clock = Stopwatch()
    port = config.pop("server_port", None) or kit.free_port()
    program = stage.program(
        role,
        {"server": "127.0.0.1", "server_port": port, "local_port": kit.free_port(), "password": kit.PASSWORD,
         "method": kit.METHOD, **config},
    )  # fmt: skip
    assert program.wait() == 255, program.log()
    return program.stderr(), clock()


def test_traffic(stage):
    """Through both plugins, both ways; and the end comes through."""
    s = server(stage)
    c = local(stage, s)
    target = stage.target()
    sock = stage.socks(c, target)
    for _ in range(3):
        sock.sendall(b"x" * 100000)
        assert read(sock, 100000) == b"x" * 100000
    sock.shutdown(socket.SHUT_WR)
    assert kit.ending(sock, kit.PATIENCE) == (b"", "fin")


def test_no_way_past_it(stage):
    """Neither side is used without the other: what passes is changed."""
    s = server(stage)
    target = stage.target()
    sock = stage.peer(s, target.host, target.port, b"ping").sock
    assert kit.ending(sock, 1)[0] == b""
    assert not target.conns


@pytest.mark.parametrize("method", ["aes-256-gcm", "2022-blake3-aes-128-gcm"])
def test_pieces(stage, method):
    """A plugin may cut a request into pieces, which is otherwise a mistake with the methods of 2022."""
    key = base64.b64encode(os.urandom(16)).decode() if method.startswith("2022") else kit.PASSWORD
    s = server(stage, method=method, password=key)
    c = local(stage, s, "drip", method=method, password=key)
    assert echoes(stage, c)


def test_what_a_server_s_plugin_is_told(stage, folder):
    options = "record=" + str(folder / "record") + ";a=b\\\\;c=\"x y\";$HOME;`id`;\\n;é;" + "z" * 3000
    s = server(stage, ";" + options)
    (told,) = records(folder / "record")
    assert told["argv"] == [PLUGIN]
    env = told["env"]
    assert (env["SS_REMOTE_HOST"], env["SS_REMOTE_PORT"]) == ("127.0.0.1", str(s.port))
    assert env["SS_LOCAL_HOST"] == "127.0.0.1" and env["SS_PLUGIN_OPTIONS"] == "server;" + options
    assert f"tcp server listening at 127.0.0.1:{env['SS_LOCAL_PORT']}" in s.stdout()
    assert f'plugin "{PLUGIN}" enabled' in s.stdout()
    eventually(lambda: "plugin.py: listening\n" in s.stdout(), s.log)


def test_what_a_client_s_plugin_is_told(stage, folder):
    """Several hosts in one variable; the rest of the environment is ours; without options there are none."""
    script = folder / "script"
    script.write_text(f'#!/bin/sh\nenv >{folder}/env; exec sleep 60\n')
    script.chmod(0o755)
    env = {"SS_PLUGIN_OPTIONS": "old", "SS_LOCAL_PORT": "1", "NOTIFY_SOCKET": "/x", "OTHER": "kept"}
    c = stage.local(7777, server=["192.0.2.1", "::1", "a.example"], plugin=str(script), env=env)
    lines = eventually(lambda: (folder / "env").exists() and (folder / "env").read_text(), "no environment")
    told = dict(line.split("=", 1) for line in lines.splitlines())
    assert told["SS_REMOTE_HOST"] == "192.0.2.1|::1|a.example" and told["SS_REMOTE_PORT"] == "7777"
    assert told["SS_LOCAL_HOST"] == "127.0.0.1" and told["SS_LOCAL_PORT"] not in ("1", "0")
    assert "SS_PLUGIN_OPTIONS" not in told and "NOTIFY_SOCKET" not in told and told["OTHER"] == "kept"
    c.stop()


def test_ipv6(stage, folder):
    """A client's plugin listens on ::1 if all servers are IPv6."""
    s = server(stage, server="::1")
    c = local(stage, s, f"record={folder}/record", server="::1", local_address="127.0.0.1")
    assert echoes(stage, c)
    assert records(folder / "record")[0]["env"]["SS_LOCAL_HOST"] == "::1"


@pytest.mark.parametrize("role", ["local", "server"])
def test_first_connection_waits(stage, role):
    """It is not sent before the plugin is ready, however long that takes; a daemon's parent waits, too."""
    clock = Clock()
    late = ";delay=1.5"
    s = server(stage, late if role == "server" else "")
    c = local(stage, s, late if role == "local" else "client")
    assert echoes(stage, c)
    assert clock() > 1.5


def test_found_in_the_working_directory(stage, folder):
    """Before PATH; and a daemon, which leaves it, finds it as well."""
    s = stage.server()
    c = stage.program("local", {"server": "127.0.0.1", "server_port": s.port, "local_port": (port := kit.free_port()),
                                "password": kit.PASSWORD, "method": kit.METHOD, "plugin": "env"},
                      ["-f", folder / "pid"], prefix=["sh", "-c", f"cd {folder} && exec \"$@\"", "sh"])  # fmt: skip
    assert c.wait() == 255, c.log()  # env of PATH ends at once
    script = folder / "env"
    script.write_text(f'#!/bin/sh\nexec {PLUGIN}\n')
    script.chmod(0o755)
    c = stage.program("local", {"server": "127.0.0.1", "server_port": s.port, "local_port": port,
                                "password": kit.PASSWORD, "method": kit.METHOD, "plugin": "env"},
                      ["-f", folder / "pid"], prefix=["sh", "-c", f"cd {folder} && exec \"$@\"", "sh"])  # fmt: skip
    assert c.wait() == 0, c.log()
    pid = int((folder / "pid").read_text())
    stage.callback(lambda: exists(pid) and os.kill(pid, signal.SIGTERM))
    assert kit.listening(port)
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not exists(pid), "the daemon goes on")


def test_obfsproxy(stage, folder):
    """Programs of this name have arguments instead of an environment, as shadowsocks-libev starts them."""
    script = folder / "obfsproxy-x"
    script.write_text(f'#!/bin/sh\nfor a; do echo "$a"; done >{folder}/said; env >>{folder}/said; exec sleep 60\n')
    script.chmod(0o755)
    port = kit.free_port()
    for role, end in (("server", "server\n127.0.0.1|::1:{port}\n"), ("local", "client\n127.0.0.1:")):
        config = {"server": ["127.0.0.1", "::1"], "server_port": port, "local_port": kit.free_port(),
                  "password": "x", "plugin": str(script), "plugin_opts": "obfs3 --a=b  c"}  # fmt: skip
        program = stage.program(role, config)
        said = eventually(lambda: (folder / "said").exists() and "PATH=" in (folder / "said").read_text() and
                          (folder / "said").read_text(), program.log)  # fmt: skip
        assert "SS_REMOTE" not in said and "SS_LOCAL_HOST" not in said and end.format(port=port) in said
        assert re.match(rf"--data-dir\n/tmp/obfsproxy-x_127.0.0.1\|::1:{port}_127.0.0.1:\d+\nobfs3\n--a=b\nc\n--dest\n", said)
        program.signal(signal.SIGTERM)
        assert program.wait() == 0
        (folder / "said").unlink()


@pytest.mark.parametrize("role", ["local", "server"])
def test_dies_before_it_was_ready(stage, role):
    """One sentence with its name and status, after what it said itself."""
    side = "server;" if role == "server" else ""
    said, seconds = refused(stage, role, plugin=PLUGIN, plugin_opts=side + "fail=3")
    assert re.search(rf"the plugin {PLUGIN} ended with status 3 before it listened on 127\.0\.0\.1:\d+\n", said)
    assert seconds < SOON


@pytest.mark.parametrize("role", ["local", "server"])
def test_cannot_start(stage, folder, role):
    """Each with its name and the system's words; what only a shell could run is not given to one."""
    text = folder / "text"
    text.write_text("exit 0\n")
    text.chmod(0o755)
    data = folder / "data"
    data.write_text("exit 0\n")
    for plugin, why in (("no-such-plugin", "No such file or directory"), ("/dev/null", "Permission denied"),
                        (str(data), "Permission denied"), (str(text), "Exec format error")):  # fmt: skip
        said, seconds = refused(stage, role, plugin=plugin)
        assert f"failed to start the plugin {plugin}: {why}\n" in said and seconds < SOON


def test_busy_port(stage):
    """Somebody else's port is not taken for the plugin's."""
    target = stage.target()
    said, seconds = refused(stage, "server", plugin=PLUGIN, plugin_opts="server", server_port=target.port)
    assert f"the plugin {PLUGIN} cannot listen on 127.0.0.1:{target.port}: another program does\n" in said
    assert seconds < SOON


@pytest.mark.parametrize("role", ["local", "server"])
def test_killed(stage, folder, role):
    """It is started again, on the same port, and all is well."""
    record = f"record={folder}/record"
    s = server(stage, ";" + record if role == "server" else "")
    c = local(stage, s, record if role == "local" else "client")
    assert echoes(stage, c)
    (told,) = records(folder / "record")
    os.kill(told["pid"], signal.SIGKILL)
    clock = Stopwatch()
    eventually(lambda: len(records(folder / "record")) == 2, "not started again")

    def served():
        with contextlib.suppress(EOFError, OSError):
            return echoes(stage, c)

    eventually(served, "not served again")
    assert clock() < SOON
    again = records(folder / "record")[1]
    assert again["env"]["SS_LOCAL_PORT"] == told["env"]["SS_LOCAL_PORT"]
    assert "plugin.py was killed by signal 9: it is started again" in (s if role == "server" else c).stderr()


def test_back_off(stage, folder):
    """One that dies each time is started less and less often, and the program goes on."""
    s = server(stage, f";die=0.3;record={folder}/record")
    eventually(lambda: len(records(folder / "record")) == 4, "not started again")
    waits = [int(ms) for ms in re.findall(r"started again in (\d+) ms", s.stderr())]
    assert waits[:3] == [100, 200, 400]
    assert s.alive()


@pytest.mark.parametrize("options", ["", ";deaf"], ids=["polite", "deaf"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(stage, folder, number, options):
    """However the program ends; and it ends at once."""
    s = stage.program("server", {"server": "127.0.0.1", "server_port": kit.free_port(), "password": "x",
                                 "plugin": PLUGIN, "plugin_opts": f"server;record={folder}/record{options}"})  # fmt: skip
    eventually(lambda: "listens on" in s.stdout(), s.log)
    pid = records(folder / "record")[0]["pid"]
    clock = Stopwatch()
    s.signal(number)
    assert s.wait() == (0 if number != signal.SIGKILL else -9)
    eventually(lambda: not exists(pid), "the plugin goes on")
    assert clock() < 4


def test_stop_while_it_starts(stage):
    s = stage.program("server", {"server": "127.0.0.1", "server_port": kit.free_port(), "password": "x",
                                 "plugin": PLUGIN, "plugin_opts": "server;delay=60"})  # fmt: skip
    eventually(lambda: "enabled" in s.stdout(), s.log)
    s.signal(signal.SIGTERM)
    assert s.wait(30) == 0  # which is before the plugin listens


def test_descendants(stage, folder):
    """A script that starts the plugin proper, and dies: nothing of it holds the port."""
    script = folder / "script"
    script.write_text(f'#!/bin/sh\n{PLUGIN} & wait\n')
    script.chmod(0o755)
    s = stage.server(plugin=str(script), plugin_opts=f"server;record={folder}/record")
    eventually(lambda: "listens on" in s.stdout(), s.log)
    parent = int(pathlib.Path(f"/proc/{records(folder / 'record')[0]['pid']}/stat").read_text().split()[3])
    os.kill(parent, signal.SIGKILL)
    eventually(lambda: len(records(folder / "record")) == 2, s.log)
    first, second = (r["pid"] for r in records(folder / "record"))
    assert not exists(first)
    eventually(lambda: kit.listening(s.port), s.log)
    s.stop()
    eventually(lambda: not exists(second), "the plugin proper goes on")


def test_killed_above_a_script(stage, folder):
    """kill -9, and between us and the plugin proper a shell that waits for it."""
    script = folder / "script"
    script.write_text(f"#!/bin/sh\n{PLUGIN} & wait\n")
    script.chmod(0o755)
    s = stage.program("server", {"server": "127.0.0.1", "server_port": kit.free_port(), "password": "x",
                                 "plugin": str(script), "plugin_opts": f"server;record={folder}/record"})  # fmt: skip
    eventually(lambda: "listens on" in s.stdout(), s.log)
    pid = records(folder / "record")[0]["pid"]
    s.signal(signal.SIGKILL)
    assert s.wait() == -9
    eventually(lambda: not exists(pid), "the plugin proper goes on")


def test_chatty(stage):
    """PL13: what it writes is read, although most of it is left out."""
    s = server(stage, ";chatty=1048576")
    c = local(stage, s)
    assert echoes(stage, c)
    lines = s.stdout().count("plugin.py: xxx")
    assert 1 <= lines <= 200
    assert len(s.log()) < 100000


def test_udp_beside_it(stage, folder):
    """UD17: UDP does not go through the plugin: from the client to the server's own address."""
    s = server(stage, f";record={folder}/record", mode="tcp_and_udp")
    c = local(stage, s, mode="tcp_and_udp")
    assert f"udp server listening at 127.0.0.1:{s.port}" in s.stdout()
    assert echoes(stage, c)
    assert datagrams_echo(stage, c)


def test_udp_through_it(stage, folder):
    """plugin_mode (SIP003u)."""
    mode = {"mode": "tcp_and_udp", "plugin_mode": "tcp_and_udp"}
    s = server(stage, f";udp;record={folder}/record", **mode)
    c = local(stage, s, "udp", **mode)
    inner = records(folder / "record")[0]["env"]["SS_LOCAL_PORT"]
    assert f"udp server listening at 127.0.0.1:{inner}" in s.stdout()
    assert echoes(stage, c)
    assert datagrams_echo(stage, c)


def test_udp_only_through_it(stage):
    """TCP is without the plugin then."""
    mode = {"mode": "tcp_and_udp", "plugin_mode": "udp_only"}
    s = server(stage, ";udp;only", **mode)
    c = local(stage, s, "udp;only", **mode)
    assert f"tcp server listening at 127.0.0.1:{s.port}" in s.stdout()
    assert echoes(stage, c)
    assert datagrams_echo(stage, c)


def test_each_server_has_its_own(stage, folder):
    """Elements of `servers`, on both sides, one with a plugin and one without."""
    ports = kit.free_port(), kit.free_port()
    places = [
        {"server": "127.0.0.1", "server_port": ports[0], "password": "a", "plugin": PLUGIN,
         "plugin_opts": f"server;record={folder}/record"},
        {"server": "127.0.0.1", "server_port": ports[1], "password": "b"},
    ]  # fmt: skip
    s = stage.serve("server", {"method": kit.METHOD, "servers": places}, port=ports[0])
    eventually(lambda: kit.listening(ports[1]), s.log)
    for place in places:
        if "plugin" in place:
            place["plugin_opts"] = "client"
        c = stage.serve("local", {"method": kit.METHOD, "local_port": (port := kit.free_port()), "servers": [place]},
                        port=port)  # fmt: skip
        assert echoes(stage, c)
    c = stage.serve("local", {"method": kit.METHOD, "local_port": (port := kit.free_port()), "servers": places},
                    port=port)  # fmt: skip
    for _ in range(8):
        assert echoes(stage, c)


def test_strangers_ban_nobody(stage):
    """PL11: all come from one address, which nothing is held against; and no line names it to those who ban."""
    s = server(stage)
    c = local(stage, s)
    for _ in range(50):
        with kit.connect(s.port) as sock:
            sock.sendall(os.urandom(300))
    eventually(lambda: "failed handshake through the plugin" in s.log(), s.log)
    assert echoes(stage, c)
    assert "failed to handshake with" not in s.log()


def test_no_loop_through_it(stage):
    """The server's own port is no target, also where the plugin holds it."""
    s = server(stage)
    c = local(stage, s)
    sock = stage.add(kit.socks(c.port, "127.0.0.1", s.port))
    sock.sendall(b"ping")
    kit.ending(sock, kit.PATIENCE)
    assert "refused: it is this server itself" in s.log()


def test_many_at_once(stage, folder):
    """PL09: no two clients choose the same port, and none has a descriptor too many."""
    script = folder / "script"
    script.write_text(f'#!/bin/sh\necho $SS_LOCAL_PORT >>{folder}/ports; exec sleep 60\n')
    script.chmod(0o755)
    for _ in range(50):
        stage.program("local", {"server": "127.0.0.1", "server_port": 1, "local_port": kit.free_port(),
                                "password": "x", "plugin": str(script)})  # fmt: skip
    ports = eventually(lambda: (folder / "ports").exists() and len(p := (folder / "ports").read_text().split()) == 50
                       and p, "not all start")  # fmt: skip
    assert len(set(ports)) == 50


def low_port():
    for port in range(1023, 600, -1):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port below 1024")


@pytest.mark.parametrize("port", [0, low_port], ids=["high", "low"])
def test_user(stage, folder, port):
    """DM05: it runs as the user that -a says, and has of root's rights only that to ports below 1024."""
    if os.geteuid() != 0:
        pytest.skip("SKIPPED test_user: only root can become another user")
    shutil.copy(PLUGIN, folder / "plugin.py")
    s = stage.server(["-a", "nobody"], server_port=port() if port else kit.free_port(),
                     plugin=str(folder / "plugin.py"), plugin_opts=f"server;record={folder}/record")  # fmt: skip
    told = records(folder / "record")[0]
    status = pathlib.Path(f"/proc/{told['pid']}/status").read_text()
    assert told["uid"] != 0 and re.search(r"^Gid:(\t65534){4}\nFDSize.*\nGroups:\t(65534 )?$", status, re.M), status
    assert int(re.search(r"CapEff:\s*(\w+)", status)[1], 16) == (1 << 10 if port else 0)
    assert int(re.search(r"CapEff:\s*(\w+)", pathlib.Path(f"/proc/{s.pid}/status").read_text())[1], 16) == 0
    eventually(lambda: "listens on" in s.stdout(), s.log)
    os.kill(told["pid"], signal.SIGKILL)
    eventually(lambda: len(records(folder / "record")) == 2 and kit.listening(s.port), s.log)
