"""ss-check: it names all that is wrong, and a program starts exactly if nothing is."""
import base64
import json
import os
import socket
import subprocess

import kit
import pytest
from kit import METHOD, PASSWORD, free_port

pytestmark = pytest.mark.ours


def check(*args, cwd=None, prefix=()):
    done = subprocess.run([*prefix, kit.BUILD / "ss-check", *map(str, args)], capture_output=True, text=True, timeout=kit.PATIENCE, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def config(tmp_path):
    """Write a server's configuration with these changes: its path."""

    def write(**changes):
        path = tmp_path / "config.json"
        base = {"server": "127.0.0.1", "server_port": free_port(), "password": PASSWORD, "method": METHOD}
        path.write_text(json.dumps(base | changes))
        return path

    return write


def test_good(config):
    status, out, err = check("server", "-c", config(mode="tcp_and_udp", user="nobody", plugin="sh"))
    assert status == 0 and not err and "FAIL" not in out
    for line in ("settings of ss-server", "key of 127.0.0.1", f"{METHOD}, 32 bytes, 0 users", "user nobody", "plugin sh: /",
                 "(TCP)", "(UDP)"):
        assert line in out


def test_every_wrong_value(config):
    """Not only the first one; also inside `servers`; unknown keys warn."""
    path = config(timeout=[], fast_open=1, passwrod="x", servers=[{"server": "::1", "port": "x", "users": 7}])
    status, out, err = check("ss-server", "-c", path)
    assert status == 1
    lines = out.splitlines()
    assert [line.split("key '")[1].split("'")[0] for line in lines] == ["timeout", "fast_open", "port", "users"]
    assert all(line.startswith(f"FAIL  {path}:1:") for line in lines)
    assert "key 'passwrod' is not known, ignored" in err


def faults(out):
    return [line.removeprefix("FAIL  ") for line in out.splitlines() if line.startswith("FAIL")]


def test_everything_at_once(config, tmp_path):
    """Options, elements of lists, what is missing, keys: each with its own line, one after the other."""
    status, out, _ = check("server", "-c", config(timeout=[]), "--replay-size", "1", "--keep-alive", "-1", "--dscp=x")
    told = faults(out)
    assert status == 1 and len(told) == 4, out
    assert all(word in line for line, word in zip(told, ("--replay-size", "--keep-alive", "--dscp", "timeout"))), out

    status, out, _ = check("server", "-c", config(servers=[
        {"server": "127.0.0.1"}, {"server": "127.0.0.2", "server_port": 1, "password": "x"},
        {"server": "127.0.0.3", "server_port": 1, "method": "2022-blake3-aes-128-gcm", "password": "c2hvcnQ="},
        {"server": "127.0.0.4", "server_port": 1}], server=None, server_port=None))
    told = faults(out)
    assert status == 1 and len(told) == 4, out
    assert "servers[0]: no server port" in told[0] and "servers[0]: no password" in told[1]
    assert "servers[3]: no password" in told[2] and "servers[2]: key 'password'" in told[3]

    keys = [base64.b64encode(bytes([i] * 16)).decode() for i in range(3)]
    status, out, _ = check("server", "-c", config(method="2022-blake3-aes-128-gcm", password=keys[0], users=[
        {"name": "ann", "password": "short"}, {"name": "bob", "password": keys[1]}, {"name": "cid", "password": keys[0]}]))
    assert status == 1 and ["ann" in line or "cid" in line for line in faults(out)] == [True, True], out
    status, out, _ = check("server", "-c", config(users=[{"name": "ann"}, {"password": "x"}, {"name": "bob"}]))
    assert status == 1 and len(faults(out)) == 3, out

    status, out, _ = check("tunnel", "-c", config(tunnels=[
        {"local_port": "x", "tunnel_address": "y"}, {"local_port": 1}, {"tunnel_address": "a.example:1"}]))
    assert status == 1 and len(faults(out)) == 4, out
    (tmp_path / "manager.json").write_text(json.dumps({"port_password": {"0": "x", "1": "", "70000": "y", "2": "z"}}))
    status, out, _ = check("manager", "-c", tmp_path / "manager.json", "--manager-address", "127.0.0.1:7")
    assert status == 1 and len(faults(out)) == 3, out
    status, out, _ = check("server", "-c", config(servers=[{"server": "::1", "disabled": True, "method": "rot13"}], server=None))
    assert status == 1, out


def test_as_the_program(stage, config):
    """What a program warns of is no fault, unless there is nothing else at which it may listen."""
    for server, good in ((["127.0.0.1", "203.0.113.9"], True), (["203.0.113.9", "203.0.113.10"], False)):
        path = config(server=server)
        status, out, _ = check("server", "-c", path)
        assert (status == 0) == good and len(faults(out)) == (0 if good else 2), out
        assert not good or "warn  cannot listen on 203.0.113.9:" in out
        program = stage.program("server", args=["-c", path])
        if good:
            kit.eventually(lambda: "listening at 127.0.0.1" in program.log(), program.log)
            assert "cannot listen on 203.0.113.9" in program.log()
        else:
            assert program.wait() == 255


@pytest.mark.parametrize("changes, args, why", [
    ({"acl": "/no/such"}, [], "/no/such"),
    ({"plugin": "no-such-plugin"}, [], "plugin no-such-plugin: not found in PATH"),
    ({"plugin": "/etc/passwd"}, [], "plugin /etc/passwd: Permission denied"),
    ({"password": None, "password_file": "/no/such"}, [], "/no/such"),
    ({"user": "no-such-user"}, [], "user no-such-user"),
    ({}, ["-f", "/no/such/pid"], "pid file /no/such/pid"),
    ({}, ["-f", "/etc"], "pid file /etc: is a directory"),
    ({"server": "203.0.113.9"}, [], "this machine has no such address"),
    ({"password": None}, [], "no password or key"),
    ({"method": "no-such"}, [], "no-such"),
    ({"method": "2022-blake3-aes-128-gcm", "password": "c2hvcnQ="}, [], "16 random bytes"),
    ({}, ["--no-such"], "Unrecognized option: --no-such"),
])
def test_what_is_wrong(config, changes, args, why):
    if args == ["-f", "/etc"] and os.geteuid() != 0:
        pytest.skip("a directory is told from a file that may not be written")
    status, out, _ = check("server", "-c", config(**changes), *args)
    assert status == 1 and len(faults(out)) == 1 and why in faults(out)[0], out


def test_bad_json(tmp_path):
    (tmp_path / "config.json").write_text('{\n"server": 1,,}')
    status, out, _ = check("server", "-c", tmp_path / "config.json")
    assert status == 1 and "config.json:2:13: " in out


@pytest.mark.parametrize("udp", [False, True])
def test_port_in_use(config, udp):
    """Of TCP and UDP each for itself; nothing is bound by the question."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", port))
        if not udp:
            sock.listen()
        status, out, _ = check("server", "-c", config(server_port=port, mode="udp_only" if udp else "tcp_only"))
        assert status == 1 and "the port is in use" in out
        assert check("server", "-c", config(server_port=port, mode="tcp_only" if udp else "udp_only"))[0] == 0


def test_other_programs(config, tmp_path):
    """Clients where they listen, a manager with its ports and working directory."""
    port = free_port()
    status, out, _ = check("local", "-c", config(local_port=port))
    assert status == 0 and f"would listen on 127.0.0.1:{port} (TCP)" in out
    status, out, _ = check("tunnel", "-c", config(), "-L", f"{port}=example.com:1", "-u")
    assert status == 0 and f"127.0.0.1:{port} (UDP)" in out
    manager = {"server": "127.0.0.1", "port_password": {str(port): "x"}, "servers": [{"server_port": 9, "password": "y"}]}
    (tmp_path / "manager.json").write_text(json.dumps(manager))
    args = ["manager", "-c", tmp_path / "manager.json", "--manager-address", "127.0.0.1:7"]
    status, out, _ = check(*args, "--workdir", tmp_path / "work")
    assert status == 0 and f"127.0.0.1:{port} (TCP)" in out and "127.0.0.1:9 (TCP)" in out and "127.0.0.1:7 (UDP)" in out
    status, out, _ = check(*args, "--workdir", "/no/such/work")
    assert status == 1 and "workdir" in out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_as_somebody_else(config):
    port = free_port()
    args = ["server", "-s", "127.0.0.1", "-k", "x"]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*nobody, kit.BUILD / "ss-check", "-h"], capture_output=True, timeout=kit.PATIENCE).returncode:
        pytest.skip("nobody may not reach the build")
    status, out, _ = check(*args, "-p", port, "-a", "root", prefix=nobody)
    assert status == 1 and "only root can become another user" in out
    status, out, _ = check(*args, "-p", 1000, prefix=nobody)
    assert status == 0 and "if it may use ports below 1024" in out


def test_open_files(stage, config):
    """What is not permitted is warned of, with the number that the program goes on with."""
    few = ["prlimit", "--nofile=1100:1200"]
    if os.geteuid() == 0:
        few += ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
    for number, permitted in ((1200, True), (1201, False)):
        path = config(nofile=number)
        status, out, err = check("server", "-c", path, prefix=few)
        assert status == 0 and not faults(out) and out.endswith(("ok  " if permitted else "warn") + "  open files: 1200\n"), out
        assert (not err) if permitted else "nofile: 1201 descriptors are not permitted here" in err, err
        program = stage.program("server", args=["-c", path], prefix=few)
        kit.eventually(lambda: "listening at" in program.log(), program.log)
        assert ("nofile: 1201 descriptors are not permitted here" in program.log()) != permitted
        assert permitted or "going on with 1200" in program.log()
    assert "open files" not in check("server", "-c", config())[1]


def test_usage():
    assert check()[0] == 1 and check("nat")[0] == 1
    assert check("-h")[0] == 0 and check("server", "-h")[0] == 0
