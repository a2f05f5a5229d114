"""Options, exit codes and streams: those of shadowsocks-libev 3.3.5, and where ours say more."""

import os
import re
import signal

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, free_port

SERVER = ["-s", "127.0.0.1", "-k", PASSWORD, "-m", METHOD]


def run(stage, role, *args, **options):
    """(exit status, stdout, stderr) of a program that ends by itself."""
    program = stage.program(role, None, args, **options)
    status = program.wait()
    assert status is not None, f"still running:\n{program.log()}"
    assert status >= 0, f"ended by signal {-status}"
    return status, program.stdout(), program.stderr()


@pytest.mark.parametrize("role", ["local", "server"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(stage, role, option):
    status, out, err = run(stage, role, option)
    assert status == 0 and err == ""
    for word in (
        "-s",
        "-p",
        "-k",
        "-m",
        "-c",
        "-f",
        "-t",
        "-n",
        "--fast-open",
        "--no-delay",
        "--reuse-port",
        "--acl",
        "--plugin",
    ):
        assert word in out, word


@pytest.mark.ours
@pytest.mark.parametrize("role", ["local", "server"])
def test_version(stage, role):
    """The libraries and methods that are built in are told, too."""
    status, out, err = run(stage, role, "--version")
    assert status == 0 and err == ""
    for word in ("libsodium", "mbed", "c-ares", *sip004.METHODS):
        assert word.lower() in out.lower(), word
    assert re.search(r"\d+\.\d+", out.splitlines()[0])


@pytest.mark.parametrize("role", ["local", "server"])
@pytest.mark.parametrize("args", [["-Z"], ["--no-such-option"], ["-k"], ["--password"], ["-s"]])
def test_unknown_option_or_missing_value(stage, role, args):
    status, out, err = run(stage, role, *args)
    assert status == 1
    assert "usage" in (out + err).lower()


@pytest.mark.ours
def test_unknown_option_is_named(stage):
    assert "--no-such-option" in run(stage, "server", "--no-such-option")[2]


MISSING = [
    ("local", ["-p", "9", "-l", "9", "-k", "x"], "server"),
    ("local", ["-s", "127.0.0.1", "-l", "9", "-k", "x"], "port"),
    ("local", ["-s", "127.0.0.1", "-p", "9", "-k", "x"], "local"),
    ("local", ["-s", "127.0.0.1", "-p", "9", "-l", "9"], "password"),
    ("server", ["-s", "127.0.0.1", "-k", "x"], "port"),
    ("server", ["-s", "127.0.0.1", "-p", "9"], "password"),
]


@pytest.mark.parametrize("role, args, word", MISSING)
def test_missing_item(stage, role, args, word):
    """CL01: exit 1; ours also names what is missing, on stderr."""
    status, _, err = run(stage, role, *args, "-m", METHOD)
    assert status == 1
    if kit.is_ours(role):
        assert word in err.lower()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /etc/shadowsocks-libev")
@pytest.mark.parametrize("role", ["local", "server"])
def test_no_arguments_and_no_file(stage, role, tmp_path):
    folder = "/etc/shadowsocks-libev"
    hide = f'if test -d {folder}; then mount -t tmpfs none {folder}; fi; exec "$0"'
    status, _, err = run(
        stage,
        role,
        env={"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        prefix=["unshare", "--mount", "sh", "-c", hide],
    )
    assert status == 255 and "onfig" in err
    if kit.is_ours(role):
        for place in (tmp_path, tmp_path / ".config", "/etc"):
            assert f"{place}/shadowsocks-libev/config.json" in err


@pytest.mark.ours
def test_default_file(stage, tmp_path):
    """Without arguments $XDG_CONFIG_HOME/shadowsocks-libev/config.json, else the one below
    $HOME/.config.
    """
    for variable, folder in (("XDG_CONFIG_HOME", "xdg"), ("HOME", "home/.config")):
        port = free_port()
        home = tmp_path / folder / "shadowsocks-libev"
        home.mkdir(parents=True)
        (home / "config.json").write_text(
            f'{{"server":"127.0.0.1","server_port":{port},"password":"x","method":"{METHOD}"}}'
        )
        env = {
            "HOME": str(tmp_path / "home"),
            "XDG_CONFIG_HOME": str(tmp_path / "xdg" if variable[0] == "X" else tmp_path / "no"),
        }
        server = stage.serve("server", None, port=port, env=env)
        assert not kit.is_ours("server") or f"configuration file: {home}/config.json" in server.log()


FATAL = [
    (["-p", "8388", "-m", "no-such-method"], "no-such-method"),
    (["-p", "8388", "--key", "c2hvcnQ"], "key"),
    (["-p", "8388", "-A"], "One time auth"),
    (["-p", "8388", "-c", "/no/such/file"], "onfig"),
    (["-p", "8388", "-a", "no-such-user"], "no-such-user"),
    (["-p", "8388", "-f", "/no/such/folder/pid"], "pid"),
]


@pytest.mark.parametrize("args, word", FATAL)
def test_fatal_settings(stage, args, word):
    """Exit 255 and one sentence on stderr."""
    if word == "pid" and not kit.is_ours("server"):
        pytest.skip("the child of shadowsocks-libev would run on, a daemon that nobody knows")
    status, _, err = run(
        stage, "server", *SERVER, *[str(free_port()) if a == "8388" else a for a in args]
    )
    assert status == 255
    assert word.lower() in err.lower()


@pytest.mark.ours
@pytest.mark.parametrize("port", ["65536", "70000", "-1", "8388x", " ", "", "1e4", "0x50"])
def test_wrong_ports(stage, port):
    """CF09: never another port than the one that was written."""
    for role, option in (("server", "-p"), ("local", "-l"), ("local", "-p")):
        args = [*SERVER, "-l", str(free_port()), "-p", str(free_port()), option, port]
        status, _, err = run(stage, role, *args)
        assert status in (1, 255) and "port" in err.lower(), role


@pytest.mark.ours
def test_no_place_to_listen(stage):
    """What is no address is looked up, and the message says what came of it."""
    dns = stage.dns({})
    for role, args in (("server", ["-s", "nosuch.invalid", "-d", dns.address]),
                       ("local", ["-s", "127.0.0.1", "-b", "zzz", "-l", free_port(), "--nameserver", dns.address])):
        status, _, err = run(stage, role, *args, "-p", free_port(), "-k", "x")
        assert status == 255
        assert "this is no address, and there is no such name" in err, err


@pytest.mark.ours
def test_no_such_interface(stage):
    port = free_port()
    server = stage.serve("server", None, [*SERVER, "-p", port, "-i", "noif0"], port=port)
    assert "there is no interface noif0 now" in server.log()


@pytest.mark.ours
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_user_who_may_not_read_the_file(stage):
    """A reload cannot work then: said at the start, once."""
    port = free_port()
    config = {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD}
    server = stage.serve("server", config, ["-a", "nobody"], port=port)
    assert "SIGHUP will reload nothing: this process may not read" in server.log()  # its directory is root's
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: "not reloaded, everything stays as it is" in server.log(), lambda: server.log())


def controls(kind):
    """Of congestion: what the kernel has ("available"), or lets everybody choose ("allowed")."""
    with open(f"/proc/sys/net/ipv4/tcp_{kind}_congestion_control") as file:
        return set(file.read().split())


@pytest.mark.ours
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_congestion_control_for_root_alone(stage):
    """What root may choose, and the user that it becomes may not: said at the start."""
    rare = controls("available") - controls("allowed")
    if not rare:
        pytest.skip("this kernel lets everybody choose every congestion control")
    logs = {}
    for name in (rare.pop(), "reno"):
        port = free_port()
        server = stage.serve("server", None, [*SERVER, "-p", port, "-a", "nobody", "--tcp-congestion", name], port=port)
        logs[name] = "tcp_congestion: this process may not choose it" in server.log()
    assert list(logs.values()) == [True, False]


@pytest.mark.ours
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_congestion_control_for_root_alone_and_reload(stage):
    rare = controls("available") - controls("allowed")
    if not rare:
        pytest.skip("this kernel lets everybody choose every congestion control")
    server = stage.server(user="nobody", tcp_congestion=rare.pop())
    server.home.chmod(0o755)
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: "reloaded: " in server.log(), "the file is refused by the user that the program became")


def test_port_taken(stage):
    server = stage.server()
    status, _, err = run(stage, "server", *SERVER, "-p", server.port)
    assert status == 255 and err
    status, _, err = run(stage, "local", *SERVER, "-p", 9, "-l", server.port)
    assert status == 255 and err


def serves(stage, *args):
    """A server with these arguments, its address and key among them, serves."""
    port = free_port()
    server = stage.serve("server", None, [a.replace("PORT", str(port)) for a in args], port=port)
    return kit.works(server)


@pytest.mark.parametrize(
    "args",
    [
        ["-s", "127.0.0.1", "-p", "PORT", "-k", PASSWORD, "-m", METHOD],
        ["-s127.0.0.1", "-pPORT", f"-k{PASSWORD}", f"-m{METHOD}"],
        ["-v6", "-s", "127.0.0.1", "-p", "PORT", f"--password={PASSWORD}", "-m", METHOD],
        ["-s", "127.0.0.1", "-p", "PORT", f"--pass={PASSWORD}", "-m", METHOD, "--no-de", "--reuse"],
        ["start", "-s", "127.0.0.1", "operand", "-p", "PORT", "-k", PASSWORD, "-m", METHOD],
        [
            "-s",
            "127.0.0.1",
            "-p",
            "PORT",
            "-k",
            PASSWORD,
            "-m",
            METHOD,
            "-l",
            "1080",
            "--no-delay",
            "--reuse-port",
            "-t",
            "60",
        ],
        [
            "-s",
            "127.0.0.1",
            "-p",
            "PORT",
            "-k",
            PASSWORD,
            "-m",
            METHOD,
            "-t",
            "abc",
            "-n",
            "2048",
            "--fast-open",
            "--mptcp",
        ],
        [
            "-s",
            "127.0.0.1",
            "-s",
            "127.0.0.2",
            "-p",
            "PORT",
            "-k",
            PASSWORD,
            "-m",
            METHOD,
            "-b",
            "127.0.0.1",
            "-b",
            "::1",
        ],
        [
            "-s",
            "[::0]",
            "-p",
            "PORT",
            "-k",
            PASSWORD,
            "-m",
            METHOD,
            "--mtu",
            "1400",
            "-i",
            "lo",
            "-d",
            "127.0.0.1",
        ],
    ],
)
def test_forms_of_options(stage, args):
    """Clusters, values joined, long options cut or with =, operands ignored, options that change
    nothing here.
    """
    if args[1] == "[::0]" and not kit.is_ours("server"):
        pytest.skip("shadowsocks-libev listens there for IPv6 only")
    assert serves(stage, *args)


def test_command_line_wins(stage):
    port = free_port()
    config = {
        "server": "127.0.0.1",
        "server_port": 9,
        "password": "another",
        "method": "aes-128-gcm",
    }
    server = stage.serve("server", config, ["-p", port, "-k", PASSWORD, "-m", METHOD], port=port)
    server.port = port
    assert kit.works(server)


def test_log_lines(stage):
    """Form and stream of a line, unbuffered and without colours (CL03); the lines that tools look
    for.
    """
    server, local = stage.pair()
    stamp = r"^ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO: "
    assert re.search(stamp + ".*tcp server listening at", server.stdout(), re.M)
    assert re.search(stamp + ".*listening at", local.stdout(), re.M)
    assert "initializing ciphers..." in server.stdout()
    assert "\x1b" not in server.log() + local.log()
    assert PASSWORD not in server.log() + local.log()
    sock = stage.connect(server.port)
    sock.sendall(b"x" * 200)
    line = r"^ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ERROR: failed to handshake with 127.0.0.1: \w+"
    kit.eventually(lambda: re.search(line, server.stderr(), re.M), lambda: server.log())


def test_nofile(stage):
    port = free_port()
    server = stage.serve("server", None, [*SERVER, "-p", port, "-n", "3000"], port=port)
    with open(f"/proc/{server.pid}/limits") as limits:
        assert re.search(r"Max open files +3000 +3000 ", limits.read())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("user", ["nobody", "65534"])
def test_user(stage, user):
    """DM01: all four ids, and no group of root's; the port is bound before."""
    if user == "65534" and not kit.is_ours("server"):
        pytest.skip("shadowsocks-libev keeps the groups of root when the user is a number")
    port = free_port()
    server = stage.serve("server", None, [*SERVER, "-p", port, "-a", user], port=port)

    def status_of():
        with open(f"/proc/{server.pid}/status") as file:
            return file.read()

    kit.eventually(lambda: re.search(r"^Uid:\t65534\t65534\t65534\t65534$", status_of(), re.M), status_of)
    status = status_of()
    assert re.search(r"^Gid:\t65534\t65534\t65534\t65534$", status, re.M)
    assert re.search(r"^Groups:\t(65534 )?$", status, re.M)
