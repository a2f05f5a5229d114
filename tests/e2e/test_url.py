"""ss:// links: ss-url in both ways, and clients that are started from one."""
import json
import os
import subprocess

import kit
import pytest
from kit import METHOD, PASSWORD, free_port

pytestmark = pytest.mark.ours
KEY = "3SGSqCks7mX0ZA9GrUEykXGVkgeHTY/pYvM7dHtw29A="
LINKS = [
    "ss://YWVzLTI1Ni1nY206cEBzcy93OnJk@192.0.2.1:8388",
    "ss://Y2hhY2hhMjAtaWV0Zi1wb2x5MTMwNTp0ZXN0@[2001:db8::1]:8888/?plugin=v2ray-plugin%3Btls%3Bhost%3Da%5C%3Bb.example",
    "ss://2022-blake3-aes-256-gcm:3SGSqCks7mX0ZA9GrUEykXGVkgeHTY%2FpYvM7dHtw29A%3D@example.com:443",
    "ss://bm9uZTo@localhost:1",
]


def url(*args, stdin=""):
    done = subprocess.run([kit.BUILD / "ss-url", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=kit.PATIENCE)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("link", LINKS)
def test_both_ways(tmp_path, link):
    status, out, err = url(link)
    assert status == 0 and not err
    (tmp_path / "config.json").write_text(out)
    assert url("-c", tmp_path / "config.json") == (0, link + "\n", "")


def test_what_is_read():
    """The vector with a plugin, and a tag that JSON must escape."""
    assert json.loads(url(LINKS[1] + "#a%20%22b")[1]) == {
        "remarks": 'a "b', "server": "2001:db8::1", "server_port": 8888, "method": "chacha20-ietf-poly1305",
        "password": "test", "plugin": "v2ray-plugin", "plugin_opts": "tls;host=a\\;b.example"}


def test_several(tmp_path):
    """Of a list, each address is a link; links of the standard input are a list again."""
    config = {"server": ["192.0.2.1", "[::1]:7"], "server_port": 8388, "password": "p@ss/w:rd", "method": METHOD,
              "servers": [{"server": "example.com", "server_port": 443, "method": "2022-blake3-aes-256-gcm", "password": KEY},
                          {"server": "no.example", "password": "x", "disabled": True}]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    status, out, err = url("-c", tmp_path / "config.json")
    links = [LINKS[0], LINKS[0].replace("192.0.2.1:8388", "[::1]:7"), LINKS[2]]
    assert (status, out.split(), err) == (0, links, "")
    (tmp_path / "again.json").write_text(url("-", stdin=out)[1])
    assert len(json.loads((tmp_path / "again.json").read_text())["servers"]) == 3
    assert url("-c", tmp_path / "again.json")[1].split() == links
    assert json.loads(url(*links)[1]) == json.loads((tmp_path / "again.json").read_text())


def test_a_servers_file(tmp_path):
    """-s says by which name clients know it."""
    (tmp_path / "config.json").write_text(json.dumps({"server": "0.0.0.0", "server_port": 8388, "method": METHOD,
                                                      "password": "p@ss/w:rd"}))
    assert url("-c", tmp_path / "config.json", "-s", "192.0.2.1")[1] == LINKS[0] + "\n"


@pytest.mark.parametrize("args, why", [
    ([], "usage"),
    (["http://x"], "does not begin with ss://"),
    (["ss://YWVzLTI1Ni1nY206cEBzcy93OnJk@:8388"], "host:port"),
    (["ss://aes-256-gcm:%ff@h:1"], "not UTF-8"),
    (["-s", "h", "-p", "1", "-m", METHOD, "--key", KEY.replace("/", "_")], "no other key"),
    (["-s", "h", "-p", "1"], "no password"),
    (["-"], "no link"),
])
def test_refused(args, why):
    status, out, err = url(*args)
    assert status == 1 and why in err and not out, (status, out, err)


def link_to(server):
    return url("-s", f"127.0.0.1:{server.port}", "-p", 9, "-k", PASSWORD, "-m", METHOD)[1].strip()


def started(stage, link, *args):
    """A client from a link, which nobody can read in the list of processes; and its target's answer."""
    port = free_port()
    local = stage.serve("local", None, ["--server-url", link, "-l", port, *args], port=port)
    with open(f"/proc/{local.pid}/cmdline", "rb") as file:
        assert link.encode() not in file.read()
    target = stage.add(kit.Target())
    with kit.socks(port, target.host, target.port) as sock:
        sock.sendall(b"over there")
        return kit.read(sock, 10)


def test_client_from_a_link(stage):
    assert started(stage, link_to(stage.server())) == b"over there"


def test_later_flags_win(stage):
    link = "ss://YWVzLTEyOC1nY206bm90IGl0@192.0.2.1:9/?plugin=no-such-plugin"
    server = stage.server()
    args = ["-s", "127.0.0.1", "-p", server.port, "-k", PASSWORD, "-m", METHOD, "--plugin", ""]
    assert started(stage, link, *args) == b"over there"


def test_it_wins_over_the_file(stage):
    """Over `servers` and `key`, too."""
    port, server = free_port(), stage.server()
    config = {"server": "192.0.2.1", "server_port": 9, "method": "aes-128-gcm", "key": "x", "plugin": "no-such-plugin",
              "local_port": port, "servers": [{"server": "192.0.2.2", "password": "x"}]}
    stage.serve("local", config, ["--server-url", link_to(server)], port=port)
    target = stage.add(kit.Target())
    with kit.socks(port, target.host, target.port) as sock:
        sock.sendall(b"x")
        assert kit.read(sock, 1) == b"x"


def test_wrong_link(stage):
    local = stage.program("local", None, ["--server-url", "ss://secret@", "-l", free_port()])
    assert local.wait() == 255
    assert "option --server-url is no link to a server" in local.stderr() and "secret" not in local.log()


def test_users(tmp_path):
    """A server's own file has a link for each of its users, and none for everybody."""
    key, alice, bob = ("A" * 22 + "==", "B" * 21 + "A==", "C" * 21 + "A==")
    config = {"server": "192.0.2.1", "server_port": 443, "method": "2022-blake3-aes-128-gcm", "password": key,
              "local_port": 1080, "users": [{"name": "alice", "password": alice}, {"name": "bob", "password": bob}]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    status, out, err = url("-c", tmp_path / "config.json")
    assert err == "", "it warns of keys that it, or the other program, has read"
    assert status == 0 and [line.rsplit("#")[1] for line in out.split()] == ["alice", "bob"]
    for line, user in zip(out.split(), (alice, bob)):
        assert json.loads(url(line)[1])["password"] == f"{key}:{user}"

def test_unknown_key(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"server": "192.0.2.1:1", "password": "x", "passwrod": "y"}))
    status, _, err = url("-c", tmp_path / "config.json")
    assert status == 0 and "key 'passwrod' is not known" in err


def test_what_cannot_be_read(tmp_path):
    """A directory can be opened, but not be read: that is no end of a list."""
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        done = subprocess.run([kit.BUILD / "ss-url", "-"], stdin=directory, capture_output=True, text=True, timeout=kit.PATIENCE)
    finally:
        os.close(directory)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "ss-url: cannot read standard input: Is a directory\n")
