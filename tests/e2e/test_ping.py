"""ss-ping: a request through the server of a configuration, its stages, and what is wrong where it fails."""

import base64
import json
import os
import pathlib
import re
import subprocess

import kit
import pytest
from datagrams import UdpTarget
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours
PLUGIN = str(pathlib.Path(__file__).with_name("plugin.py"))
PSK, OTHER = "MDEyMzQ1Njc4OWFiY2RlZg==", "ZmVkY2JhOTg3NjU0MzIxMA=="
LONG = ["-t", 30]  # enough for a slow machine; a later -t counts
TIME = r"\d+\.\d{3} ms"


def run(*args, env=None):
    return subprocess.run([kit.BUILD / "ss-ping", *map(str, args)], capture_output=True, text=True, timeout=2 * kit.PATIENCE,
                          env={**os.environ, **(env or {})})


@pytest.fixture
def ping(tmp_path, stage):
    """ping(config, args...): (status, stdout, stderr); the target is a name server of the test's."""
    names = stage.dns({"*": ["192.0.2.1"]})

    def ping(config, *args, target=names.address):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        done = run("-c", path, *LONG, *(["-L", target] if target else []), *args)
        return done.returncode, done.stdout, done.stderr

    ping.names = names
    return ping


def client(server, /, **more):
    return {"server": "127.0.0.1", "server_port": server.port, "password": PASSWORD, "method": METHOD, **more}


@pytest.mark.parametrize("method, password", [
    (METHOD, PASSWORD), ("chacha20-ietf-poly1305", PASSWORD), ("2022-blake3-aes-128-gcm", PSK),
    ("aes-256-cfb", PASSWORD), ("rc4-md5", PASSWORD), ("chacha20", PASSWORD), ("none", PASSWORD),
])  # fmt: skip
def test_stages(stage, ping, method, password):
    server = stage.server(method=method, password=password, mode="tcp_and_udp")
    status, out, err = ping(client(server, method=method, password=password), "-u")
    assert status == 0, err
    tcp, udp = out.splitlines()
    where = rf"127\.0\.0\.1:{server.port} {method}:"
    who = re.escape(ping.names.address)
    assert re.fullmatch(rf"TCP {where} connection {TIME}, answer of {who} {TIME}, in all {TIME}", tcp)
    assert re.fullmatch(rf"UDP {where} answer of {who} {TIME}, in all {TIME}", udp)


def test_without_a_file(stage, ping):
    """As the other programs are told; and over what a file says."""
    server = stage.server()
    where = ["-s", "127.0.0.1", "-p", server.port, "-m", METHOD, "-L", ping.names.address, *LONG]
    done = run(*where, "-k", PASSWORD)
    assert done.returncode == 0 and f"TCP 127.0.0.1:{server.port} {METHOD}:" in done.stdout, done.stderr
    assert run(*where, env={"SS_PASSWORD": PASSWORD}).returncode == 0
    done = run(*where[:6], "-k", "wrong", *where[6:], "-t", "1")
    assert done.returncode == 1 and "wrong" not in done.stdout + done.stderr
    done = run(*where[:2], "-k", PASSWORD)
    assert done.returncode == 1 and "no server port is given" in done.stderr + done.stdout
    assert ping(client(server, server="192.0.2.1", server_port=9, password="x", method="rc4-md5"), *where, "-k", PASSWORD)[0] == 0
    for args in ([], ["-p", "1"], ["-c", "/no/such", "ss://x"]):
        done = run(*args)
        assert done.returncode == 1 and "it takes -c FILE or a link" in done.stderr


def test_which_of_both(stage, ping):
    server = stage.server(mode="tcp_and_udp")
    for mode in ({}, {"mode": "tcp_and_udp"}):
        assert ping(client(server, **mode))[1].count("TCP") == 1
    assert re.match("UDP .*\n$", ping(client(server), "-U")[1])
    assert re.match("UDP .*\n$", ping(client(server, mode="udp_only"))[1])


def test_a_name(stage, ping):
    server = stage.server(mode="tcp_and_udp")
    names = stage.dns({"ss.test": ["127.0.0.1"]})
    status, out, err = ping(client(server, server="ss.test"), "-u", "--nameserver", names.address)
    assert status == 0, err
    tcp, udp = out.splitlines()
    assert re.search(f": look-up {TIME}, connection {TIME}, answer of ", tcp)
    assert re.search(f": look-up {TIME}, answer of ", udp)


def test_a_web_server_is_named(stage, ping):
    status, out, err = ping(client(stage.server()), "-w", target=None)
    assert status != 0 and "-L HOST:PORT" in err


def test_web_server(stage, ping):
    server = stage.server()
    target = stage.target(lambda conn: conn.sendall(b"HTTP/1.0 200 OK\r\n\r\n") or conn.recv(100))
    status, out, err = ping(client(server), "-w", target=f"127.0.0.1:{target.port}")
    assert status == 0, err
    assert target.result() == b"HEAD / HTTP/1.0\r\n\r\n"


@pytest.mark.parametrize("change, time, why", [
    ({"password": "wrong"}, 4, r"connected, but no answer after 4000 ms: method, password or clock are others"),
    ({"server_port": 1}, 30, "cannot connect: Connection refused"),
    ({"server": "no.such.test"}, 30, "there is no such name"),
])  # fmt: skip
def test_what_failed(stage, ping, change, time, why):
    server = stage.server()
    names = stage.dns({"*": "nx"})
    status, out, err = ping(client(server, **change), "-t", time, "--nameserver", names.address)
    assert status == 1 and not out
    assert re.match(f"ss-ping: TCP .*{why}", err.splitlines()[-1])


def test_target_that_does_not_exist(stage, ping):
    """The server closes the connection, or is silent: as is its way with each method."""
    server = stage.server()
    closed = f"127.0.0.1:{kit.free_port()}"
    status, _, err = ping(client(server), target=closed)
    assert status == 1 and f"(target {closed})" in err


def test_no_datagrams(stage, ping):
    server = stage.server()  # TCP only
    status, out, err = ping(client(server), "-u")
    assert status == 1 and out.startswith("TCP ")
    assert re.match("ss-ping: UDP .*: no answer: Connection refused", err.splitlines()[-1])


@pytest.mark.parametrize("args", [[], ["-w"]], ids=["names", "web"])
@pytest.mark.parametrize("method", ["none", "aes-256-cfb"])
def test_no_server_at_all(stage, ping, method, args):
    """Something else listens there, and says something: these methods open whatever comes."""
    other = stage.target(lambda conn: conn.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n") or conn.recv(1000))
    status, out, err = ping(client(other, method=method), *args)
    assert status == 1 and not out and "is no answer of a " in err


def test_what_is_asked_comes_back(stage, ping):
    """A datagram as it was sent is no answer to it."""
    mirror = stage.add(UdpTarget())
    status, out, err = ping(client(mirror), "-U", "-t", 1)
    assert status == 1 and not out and "no answer after" in err


def test_an_answer_in_pieces(stage, ping):
    def name_server(conn):
        length = int.from_bytes(kit.read(conn, 2), "big")
        query = kit.read(conn, length)
        kit.drip(conn, length.to_bytes(2, "big") + query[:2] + bytes([query[2] | 0x80]) + query[3:])
        conn.recv(1)

    target = stage.target(name_server)
    status, out, err = ping(client(stage.server()), target=f"127.0.0.1:{target.port}")
    assert status == 0, err


def test_lost_datagrams(stage, ping):
    """What gets no answer within a second is asked again."""
    server = stage.server(mode="tcp_and_udp")
    names = stage.dns({"*": ["192.0.2.1"]})
    answer, lost = names._answer, []
    names._answer = lambda query, cut: answer(query, cut) if lost else lost.append(query)
    status, out, err = ping(client(server), "-U", target=names.address)
    assert status == 0 and lost, err
    assert float(re.search(r"in all (\d+)", out)[1]) >= 990  # clocks are rounded


def test_a_link(stage, ping):
    server = stage.server()
    link = "ss://" + base64.urlsafe_b64encode(f"{METHOD}:{PASSWORD}".encode()).decode().rstrip("=")
    done = run(f"{link}@127.0.0.1:{server.port}#name", *LONG, "-L", ping.names.address)
    assert done.returncode == 0 and done.stdout.startswith(f"TCP 127.0.0.1:{server.port} {METHOD}: "), done.stderr


def test_every_server(stage, ping):
    one, two = stage.server(), stage.server(method="aes-128-gcm")
    config = {"servers": [client(one), {**client(two), "method": "aes-128-gcm"}]}
    status, out, err = ping(config)
    assert status == 0 and len(out.splitlines()) == 2, err
    config["servers"][0]["password"] = "wrong"
    status, out, err = ping(config, "-t", 5)
    assert status == 1 and len(out.splitlines()) == 1 and f":{one.port} " in err


@pytest.mark.parametrize("addresses", ["0.0.0.0", ["::0", "0.0.0.0"], ["127.0.0.1"]])
def test_the_servers_own_file(stage, ping, addresses):
    """A health check in the server's container: with -S, or without where both sides read the same."""
    server = stage.server(server=addresses)
    for side in ([], ["-S"]):
        status, out, err = ping(server.config, *side)
        assert status == 0 and len(out.splitlines()) == 1, err
        assert f"TCP 127.0.0.1:{server.port} " in out


def test_a_server_with_users(stage, ping):
    config = {"method": "2022-blake3-aes-128-gcm", "password": PSK, "mode": "tcp_and_udp",
              "users": [{"name": "first", "password": OTHER}]}
    server = stage.server(**config)
    status, out, err = ping(server.config, "-S", "-u")
    assert status == 0 and len(out.splitlines()) == 2, err


def test_the_server_says_whom_to_ask(stage, ping):
    server = stage.server(nameserver=ping.names.address)
    status, out, err = ping(server.config, "-S", target=None)
    assert status == 0 and f"answer of {ping.names.address} " in out, err


def test_plugin(stage, ping):
    port = kit.free_port()
    config = {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD, "plugin": PLUGIN}
    server = stage.serve("server", {**config, "plugin_opts": "server"})
    kit.eventually(lambda: kit.listening(port), server.log)
    status, out, err = ping({**config, "plugin_opts": "client"})
    assert status == 0 and out.splitlines()[-1].startswith("TCP 127.0.0.1:"), err
    status, _, err = ping({**config, "plugin_opts": "client;fail=3"})
    assert status == 1 and "ended with status 3 before it listened" in err
    status, _, err = ping({**config, "plugin_opts": "server"}, "-S")
    assert status == 1 and "use the configuration of a client" in err


@pytest.mark.parametrize("args, why", [
    ([], "it takes -c FILE or a link"),
    (["-c", "x", "ss://y"], "it takes -c FILE or a link"),
    (["-c", "x", "-L", "host"], "must be an address or a name, a colon and a port"),
    (["-c", "x", "-t", "0"], "1"),
    (["--no-such"], "no-such"),
])  # fmt: skip
def test_usage(args, why):
    done = run(*args)
    assert done.returncode == 1 and why in done.stderr.splitlines()[0] and "usage: ss-ping" in done.stderr


def test_missing_file():
    done = run("-c", "/no/such/file")
    assert done.returncode == 255 and "/no/such/file" in done.stderr
