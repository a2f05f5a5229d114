"""Plugins that others have written, between ours and shadowsocks-libev, in both roles: SIP003 as it is used."""
import os
import pathlib
import shutil
import signal

import exchange
import kit
import pytest
from peers import PEERS

PLUGINS = {  # program of the client, of the server; options of either
    "v2ray-plugin": ("ss-v2ray-plugin", "ss-v2ray-plugin", "path=/x\\=y;host=a.example", "server;path=/x\\=y"),
    "obfs-http": ("obfs-local", "obfs-server", "obfs=http;obfs-host=a.example", "obfs=http"),
    "obfs-tls": ("obfs-local", "obfs-server", "obfs=tls;obfs-host=a.example", "obfs=tls"),
}
LIBEV = PEERS["shadowsocks-libev"]
METHODS = ["aes-256-gcm", "2022-blake3-aes-256-gcm"]


def kinds():
    for name in PLUGINS:
        for local, server in (("ours", "ours"), ("ours", "libev"), ("libev", "ours")):
            for method in METHODS if local == server else METHODS[:1]:
                yield name, local, server, method


def start(stage, whose, role, config, port):
    argv = None if whose == "ours" else [LIBEV.programs[role == "server"]]
    started = stage.program(role, config, argv=argv, port=port, within=60)
    kit.eventually(started.alive, started.log)
    return started


def answers(port):
    """A plugin of shadowsocks-libev's may not be there yet when its port is: the first connections are lost."""
    with kit.Stage() as stage:
        target = stage.target()
        try:
            sock = stage.add(kit.socks(port, target.host, target.port, timeout=5))
            sock.sendall(b"ping")
            return kit.read(sock, 4) == b"ping"
        except (OSError, EOFError):
            return False


@pytest.mark.parametrize("kind", list(kinds()), ids="-".join)
def test_plugin(stage, kind):
    name, local, server, method = kind
    programs, options = PLUGINS[name][:2], PLUGINS[name][2:]
    missing = [program for program in programs if not shutil.which(program)]
    if "libev" in kind and LIBEV.missing():
        missing.append(LIBEV.missing())
    if missing:
        pytest.skip(f"SKIPPED {'-'.join(kind)}: no {', '.join(missing)}; sh dist/setup.sh check installs them")
    both = {"server": "127.0.0.1", "server_port": kit.free_port(), "password": exchange.key_for(method),
            "method": method, "timeout": 60}  # fmt: skip
    port = kit.free_port()
    start(stage, server, "server", {**both, "plugin": programs[1], "plugin_opts": options[1]}, both["server_port"])
    client = start(stage, local, "local", {**both, "local_address": "127.0.0.1", "local_port": port,
                                           "plugin": programs[0], "plugin_opts": options[0]}, port)  # fmt: skip
    if "libev" in kind:
        kit.eventually(lambda: answers(port), client.log, 60)
    exchange.check(stage, port, by_name=False)


@pytest.mark.parametrize("side", ["local", "server"])
def test_killed(stage, side):
    """Whichever plugin is killed, it is started again at once, and all is well; and with the program it goes."""
    client, server, options, server_options = PLUGINS["v2ray-plugin"]
    if not shutil.which(client):
        pytest.skip(f"SKIPPED test_killed: no {client}; sh dist/setup.sh check installs it")
    s = stage.server(plugin=server, plugin_opts=server_options)
    c = stage.local(s, plugin=client, plugin_opts=options)
    kit.eventually(lambda: answers(c.port), c.log, 60)
    owner = {"local": c, "server": s}[side]

    def plugin():
        with open(f"/proc/{owner.pid}/task/{owner.pid}/children") as file:
            pids = [int(pid) for pid in file.read().split()]
        return [pid for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text() != "ss-guard\n"]

    (pid,) = plugin()
    os.kill(pid, signal.SIGKILL)
    kit.eventually(lambda: "it is started again in 100 ms" in owner.log(), owner.log)
    kit.eventually(lambda: answers(c.port), owner.log, 60)
    (pid,) = plugin()
    owner.kill()
    kit.eventually(lambda: not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read(), "goes on")
