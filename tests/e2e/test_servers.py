"""Lists of servers with a method and key each, keys of their own length, and what is said of weak methods at start."""
import json
import signal
import subprocess

import kit
import pytest
from datagrams import Client, UdpTarget
from kit import PASSWORD, free_port

pytestmark = pytest.mark.ours
PSK = "2022-blake3-aes-256-gcm"


def fresh(method):
    """What ss-key prints."""
    return subprocess.run([kit.BUILD / "ss-key", method], capture_output=True, text=True, check=True,
                          timeout=kit.PATIENCE).stdout.strip()


def echoes(sock):
    sock.sendall(b"ping")
    return kit.read(sock, 4) == b"ping"


def test_client_with_several(stage):
    """Each with its method and key; all of them are used."""
    methods = {"aes-128-gcm": PASSWORD, "chacha20-ietf": PASSWORD, PSK: fresh(PSK), "none": None}
    servers = [stage.server(method=method, password=password) for method, password in methods.items()]
    elements = [{key: server.config[key] for key in ("server", "server_port", "method", "password")} for server in servers]
    elements.append({"server": "127.0.0.1", "server_port": 1, "password": "x", "disabled": True})
    port, target = free_port(), stage.target()
    stage.serve("local", {"servers": elements, "local_port": port}, ["-v"], port=port)
    for _ in range(40):
        assert echoes(stage.add(kit.socks(port, target.host, target.port)))
    for server in servers:
        assert server.fds() > server.idle_fds, server.config["method"]


def test_client_with_modes(stage):
    """One server for connections, another for datagrams."""
    modes = ["udp_only", "tcp_only"]
    servers = [stage.server(mode=mode) for mode in ("tcp_and_udp", "tcp_only")]
    elements = [{**{key: server.config[key] for key in ("server", "server_port", "method", "password")}, "mode": mode}
                for server, mode in zip(servers, modes)]  # fmt: skip
    port, target, echo = free_port(), stage.target(), stage.add(UdpTarget())
    config = {"servers": elements, "local_port": port, "mode": "tcp_and_udp"}
    stage.serve("local", config, port=port)
    for _ in range(10):
        assert echoes(stage.add(kit.socks(port, target.host, target.port)))
    assert servers[0].fds() == servers[0].idle_fds and servers[1].fds() > servers[1].idle_fds
    assert stage.add(Client(port)).echoes(echo, b"hello")
    for kind, left in [("TCP", elements[:1]), ("UDP", elements[1:])]:
        program = stage.program("local", {**config, "servers": left})
        assert program.wait() == 255
        assert f"{kind} is to be relayed, and each of the servers is" in program.stderr()


@pytest.mark.parametrize("role", ["local", "server"])
def test_rules_of_one(stage, role):
    """Nobody may believe that they are in force."""
    element = {"server": "127.0.0.1", "server_port": free_port(), "password": PASSWORD, "acl": "/dev/null"}
    program = stage.program(role, {"servers": [element], "local_port": free_port()})
    assert program.wait() == 255
    assert "key 'acl' belongs to the top level" in program.stderr()


def test_server_with_one(stage):
    port = free_port()
    server = stage.serve("server", {"servers": [{"address": "127.0.0.1", "port": port, "method": "AES-256-GCM",
                                                 "password": PASSWORD}]}, port=port)
    assert kit.works(server)


def test_server_with_several(stage):
    """Each on its port with its key, its method and its users; a reload reaches all of them."""
    ports, target = [free_port() for _ in range(4)], stage.target()
    ipsk, old, new = (fresh("2022-blake3-aes-128-gcm") for _ in range(3))
    with_users = {"server_port": ports[0], "method": "2022-blake3-aes-128-gcm", "password": ipsk,
                  "users": [{"name": "u", "password": old}]}
    elements = [{"server": "127.0.0.1", **element} for element in (
        {"server_port": ports[1], "method": PSK, "password": fresh(PSK)},
        {"server_port": 1, "password": "x", "disabled": True},
        {"server_port": ports[2], "method": "aes-128-cfb", "password": PASSWORD}, with_users)]
    server = stage.serve("server", {"server": "127.0.0.1", "server_port": ports[3], "password": PASSWORD,
                                    "method": kit.METHOD, "servers": elements}, port=ports[0])
    for port, method, password in [(ports[0], with_users["method"], f"{ipsk}:{old}"), (ports[3], kit.METHOD, PASSWORD),
                                   (ports[1], PSK, elements[0]["password"]), (ports[2], "aes-128-cfb", PASSWORD)]:
        local = stage.local(port, method=method, password=password)
        assert echoes(stage.socks(local, target)), method
    elements[-1]["users"][0]["password"] = new
    (server.home / "config.json").write_text(json.dumps({**server.config, "servers": elements}))
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: "reloaded: 1 users" in server.log(), "it reloads")
    assert echoes(stage.socks(stage.local(ports[0], method=with_users["method"], password=f"{ipsk}:{new}"), target))


def test_flag_wins(stage):
    server, port = stage.server(), free_port()
    stage.serve("local", {"servers": [{"server": "127.0.0.1", "server_port": 1, "password": "x"}], "local_port": port,
                          "server_port": server.port, "password": PASSWORD, "method": kit.METHOD},
                ["-s", "127.0.0.1"], port=port)
    target = stage.target()
    assert echoes(stage.add(kit.socks(port, target.host, target.port)))


@pytest.mark.parametrize("method, where", [
    ("2022-blake3-aes-128-gcm", "password"), ("2022-BLAKE3-aes-256-gcm", "password"),
    ("2022-blake3-chacha20-poly1305", "password"), ("2022-blake3-aes-256-gcm", "key"), ("AEAD_AES_256_GCM", "key"),
    ("Aes-256-Ctr", "key"), ("TABLE", "key"),
])
def test_key_of_ss_key(stage, method, where):
    """Names in any case and aliases; old methods take the key where it is called a key."""
    key = fresh(method)
    config = {"method": method, "password": None, where: key}
    server, local = stage.pair(**config)
    assert kit.works(server, local)
    assert key not in server.log() + local.log()


@pytest.mark.parametrize("options", [
    {"prefix": "GET / HT"}, {"printable_salt": True}, {"prefix": "\x16\x03\x01\x00\xa8", "printable_salt": True},
])
@pytest.mark.parametrize("method", ["aes-128-gcm", "2022-blake3-aes-128-gcm", "2022-blake3-chacha20-poly1305"])
def test_looks(stage, method, options):
    """A server takes them like any other salt, and on the wire they are what was asked for."""
    seen = []

    def listen(conn):
        seen.append(kit.read(conn, 16))

    stand_in, key = stage.target(listen), fresh(method)
    config = {"method": method, "password": key}
    server = stage.server(**config)
    assert kit.works(server, stage.local(server, **config, **options))
    stage.socks(stage.local(stand_in.port, **config, **options), stage.target()).sendall(b"ping")
    stand_in.result()
    prefix = options.get("prefix", "").encode("latin-1")
    assert seen[0].startswith(prefix)
    if "printable_salt" in options:
        assert all(0x20 <= byte < 0x7f for byte in seen[0][len(prefix):])


@pytest.mark.parametrize("padding", ["900", "0-5", 100])
def test_padding(stage, padding):
    config = {"method": PSK, "password": fresh(PSK)}
    server = stage.server(**config)
    assert kit.works(server, stage.local(server, **config, padding=padding))


@pytest.mark.parametrize("method, word", [("rc4-md5", "redirect attack"), ("none", "NOTHING IS ENCRYPTED"),
                                          ("aes-256-gcm", None)])
def test_warning(stage, method, word):
    """Once, at start, by both programs."""
    for program in stage.pair(method=method):
        log = program.stderr()
        assert log.count(word or method) == (1 if word else 0), log
