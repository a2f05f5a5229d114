"""Those who start shadowsocks-libev today start ours without a change: their command lines, and the files they write.

Only ports and the places of files are the test's. $0 is what they say; names of programs, options, keys and
the types of values are theirs.
"""
import json
import os
import pathlib
import signal
import subprocess

import kit
import manager
import pytest
import sip004
from kit import PASSWORD, free_port

pytestmark = pytest.mark.ours
METHOD = "chacha20-ietf-poly1305"
ROLES = ["local", "server", "tunnel", "redir"]


def gone(pid):
    """True if it has ended, whether or not init has collected it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Started:
    """A program by its command line, words separated by blanks, in a directory of its own."""

    def __init__(self, stage, folder, line, files=(), env=None):
        self.folder = pathlib.Path(folder)
        for name, config in dict(files).items():
            (self.folder / name).write_text(json.dumps(config))
        words = line.replace("DIR", str(folder)).split()
        self.name = os.path.basename(words[0])
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(words, executable=kit.BUILD / self.name, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd=folder, env={**os.environ, **(env or {})}, start_new_session=True)
        stage.callback(self.end)

    def log(self):
        return (self.folder / "log").read_text()

    def listens(self, port):
        kit.eventually(lambda: kit.listening(port) or self.process.poll(), lambda: self.log())
        assert kit.listening(port), self.log()
        return self

    def end(self):
        """Foreground: SIGTERM, and 0."""
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(kit.PATIENCE) == 0, self.log()


def config(port, role="server", **more):
    base = {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD, "timeout": 60}
    if role != "server":
        base |= {"local_address": "127.0.0.1", "local_port": free_port()}
    if role == "tunnel":
        base["tunnel_address"] = "example.com:80"
    return base | more


def serves(stage, port, method=METHOD, password=PASSWORD):
    target = stage.target()
    peer = sip004.Peer(stage.connect(port), method, password).open(target.host, target.port, b"ping")
    return peer.read(4) == b"ping"


# ---- Debian: systemd, sysv


def test_debian_default(stage, tmp_path):
    """shadowsocks-libev.service, with the configuration that the package makes."""
    port = free_port()
    text = {"server": ["::1", "127.0.0.1"], "mode": "tcp_and_udp", "server_port": port, "local_port": 1080,
            "password": PASSWORD, "timeout": 86400, "method": METHOD}
    for arguments in ("", "-u"):
        started = Started(stage, tmp_path, f"/usr/bin/ss-server -c DIR/config.json {arguments}", {"config.json": text})
        assert serves(stage, started.listens(port) and port)
        started.end()


@pytest.mark.parametrize("role", ROLES)
def test_debian_templates(stage, tmp_path, role):
    """shadowsocks-libev-*@.service; a client reads the server's file, too."""
    server = free_port()
    text = config(server, role)
    started = Started(stage, tmp_path, f"/usr/bin/ss-{role} -c DIR/%i.json", {"%i.json": text})
    started.listens(text.get("local_port", server))


def test_debian_sysv(stage, tmp_path):
    """start-stop-daemon: a daemon with a pid file, asked to end by it."""
    port = free_port()
    started = Started(stage, tmp_path, "/usr/bin/ss-server -c DIR/config.json -f DIR/ss.pid -u", {"config.json": config(port)})
    assert started.process.wait(kit.PATIENCE) == 0 and kit.listening(port), started.log()
    pid = int((tmp_path / "ss.pid").read_text())
    stage.callback(lambda: gone(pid) or os.kill(pid, signal.SIGKILL))
    assert os.readlink(f"/proc/{pid}/exe") == str(kit.BUILD / "ss-server")
    assert serves(stage, port)
    os.kill(pid, signal.SIGTERM)
    kit.eventually(lambda: gone(pid) and not (tmp_path / "ss.pid").exists(), "it ends")


# ---- OpenWrt: procd, luci


def openwrt(role, port):
    """What the init script of 22.03 writes: every key that a section may have, whoever reads it."""
    written = {"server": "127.0.0.1", "server_port": port, "method": METHOD, "password": PASSWORD, "use_syslog": True,
               "ipv6_first": True, "fast_open": True, "reuse_port": True, "no_delay": True, "local_address": "0.0.0.0",
               "local_port": free_port(), "mode": "tcp_only", "mtu": 1492, "timeout": 60, "user": "nobody"}
    if role == "server":
        del written["local_address"], written["local_port"]
        written |= {"local_ipv4_address": "127.0.0.1", "local_ipv6_address": "::1"}
    if role == "tunnel":
        written["tunnel_address"] = "8.8.8.8:53"
    return written


@pytest.mark.parametrize("verbose", ["", " -v"])
@pytest.mark.parametrize("role", ROLES)
def test_openwrt(stage, tmp_path, role, verbose):
    port = free_port()
    text = openwrt(role, port)
    line = f"/usr/bin/ss-{role} -c DIR/ss_{role}.cfg1.json{verbose}" + (" -b 127.0.0.1" if role != "server" and verbose else "")
    Started(stage, tmp_path, line, {f"ss_{role}.cfg1.json": text}).listens(text.get("local_port", port))


def test_luci(stage, tmp_path):
    port = free_port()
    started = Started(stage, tmp_path, f"ss-redir -c DIR/shadowsocks.1.json --fast-open --no-delay -l {port} --mtu 1344 "
                      "-f DIR/ss-redir-1.pid", {"shadowsocks.1.json": config(free_port(), "redir", local_port=1)})
    assert started.process.wait(kit.PATIENCE) == 0 and kit.listening(port), started.log()
    pid = int((tmp_path / "ss-redir-1.pid").read_text())
    assert (pathlib.Path(f"/proc/{pid}/comm")).read_text() == "ss-redir\n"
    os.kill(pid, signal.SIGTERM)
    kit.eventually(lambda: gone(pid), "it ends")


# ---- FreeBSD, NixOS, RPM, containers


def test_freebsd(stage, tmp_path):
    port = free_port()
    started = Started(stage, tmp_path, "/usr/local/bin/ss-server -f DIR/ss.pid -c DIR/config.json", {"config.json": config(port)})
    assert started.process.wait(kit.PATIENCE) == 0 and serves(stage, port), started.log()
    pid = int((tmp_path / "ss.pid").read_text())
    os.kill(pid, signal.SIGTERM)
    kit.eventually(lambda: gone(pid), "it ends")


def test_nixos(stage, tmp_path):
    port = free_port()
    text = config(port, server=["[::0]", "0.0.0.0"], user="nobody", fast_open=True, mode="tcp_and_udp")
    assert serves(stage, Started(stage, tmp_path, "ss-server -c DIR/config", {"config": text}).listens(port) and port)


def test_rpm(stage, tmp_path):
    port = free_port()
    assert serves(stage, Started(stage, tmp_path, "/usr/bin/ss-server -c DIR/config.json -uv -u",
                                 {"config.json": config(port)}).listens(port) and port)


def test_container(stage, tmp_path):
    """docker/alpine: options from the environment, SIGINT to stop."""
    port = free_port()
    started = Started(stage, tmp_path, f"ss-server -s 0.0.0.0 -p {port} -k of_an_image -m aes-256-gcm -a nobody -t 300 -u "
                      "-d 8.8.8.8,8.8.4.4 --fast-open").listens(port)
    assert serves(stage, port, "aes-256-gcm", "of_an_image")
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(kit.PATIENCE) == 0


def test_scratch_container(stage, tmp_path):
    """No shell reads PASSWORD_FILE there."""
    port = free_port()
    (tmp_path / "password").write_text(PASSWORD + "\n")
    Started(stage, tmp_path, f"ss-server -s 127.0.0.1 -p {port} -m {METHOD}",
            env={"PASSWORD_FILE": str(tmp_path / "password")}).listens(port)
    assert serves(stage, port)


# ---- node managers, field scripts


@pytest.mark.parametrize("line", [
    "ss-manager -v -m aes-256-gcm -u --manager-address 127.0.0.1:PORT",
    "ss-manager -m aes-256-gcm -u --manager-address 127.0.0.1:PORT",
    "ss-manager -m aes-256-gcm -u -6 --fast-open --manager-address 127.0.0.1:PORT",
    "ss-manager -u -n 65535 --executable DIR/ss-server --manager-address 127.0.0.1:PORT --workdir DIR -s 0.0.0.0 -m aes-256-gcm",
])
def test_managers(stage, tmp_path, line):
    control, port = free_port(), free_port()
    (tmp_path / "ss-server").symlink_to(kit.BUILD / "ss-server")
    started = Started(stage, tmp_path, line.replace("PORT", str(control)), env={"HOME": str(tmp_path)})
    kit.eventually(lambda: "listening at" in started.log() or "manager" in started.log(), lambda: started.log())

    def answers():
        asker = stage.add(manager.Asker(("127.0.0.1", control), timeout=0.5))  # no late answer to another question
        try:
            return asker("ping")
        except OSError:
            return None

    kit.eventually(lambda: answers() == "stat: {}", lambda: started.log())
    asker = stage.add(manager.Asker(("127.0.0.1", control)))
    assert asker.add(port, "p") == "ok"
    kit.eventually(lambda: kit.listening(port), lambda: started.log())
    assert serves(stage, port, "aes-256-gcm", "p")
    assert asker("list").startswith("[\n\t{")
    assert asker("remove", server_port=port) == "ok"


@pytest.mark.parametrize("line", [
    "ss-redir -c DIR/c.json -u -v -f DIR/pid",
    "ss-local -c DIR/c.json -b 0.0.0.0 -l PORT -f DIR/pid",
    "ss-local -s 127.0.0.1 -p 9 -l PORT -k x -m rc4-md5 -t 600 -u -v",
    "ss-tunnel -c DIR/c.json -b 0.0.0.0 -l PORT -L 8.8.8.8:53 -u",
])
def test_field_scripts(stage, tmp_path, line):
    port = free_port()
    if "ss-redir" in line and os.geteuid() != 0:
        pytest.skip("UDP of ss-redir needs root")
    started = Started(stage, tmp_path, line.replace("PORT", str(port)), {"c.json": config(free_port(), "local", local_port=port)})
    started.listens(port)
    if "pid" in line:
        assert started.process.wait(kit.PATIENCE) == 0
        pid = int(kit.eventually(lambda: (tmp_path / "pid").read_text(), "a pid"))
        os.kill(pid, signal.SIGKILL)  # as they do
        kit.eventually(lambda: not kit.listening(port), "it is gone")
