"""The configuration file: what is read as ever, what only warns, what ends the program, and where
the message points.
"""

import json

import kit
import pytest
import sip004
from kit import METHOD, PASSWORD, free_port


def text(**changes):
    """A good file, one key a line, with these values; a value of ... leaves the key out."""
    config = {
        "server": "127.0.0.1",
        "server_port": free_port(),
        "local_port": free_port(),
        "password": PASSWORD,
        "method": METHOD,
        **changes,
    }
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in config.items() if v is not ...]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def serves(stage, config, role="server"):
    """It starts and serves; what it wrote."""
    port = int(json.loads(config)["server_port" if role == "server" else "local_port"])
    program = stage.serve(role, config, port=port)
    assert role == "local" or kit.works(program)
    return program.log()


def refuses(stage, config, role="server", status=255):
    """It ends with this status; what it wrote to stderr."""
    program = stage.program(role, config)
    assert program.wait() == status, program.log()
    assert PASSWORD not in program.log()
    return program.stderr()


@pytest.mark.parametrize(
    "changes",
    [
        {"server_port": str(free_port())},
        {"timeout": "60"},
        {"server": ["127.0.0.1"]},
        {"plugin": ""},
        {"plugin": None},
        {"mode": "tcp_only"},
        {"mode": None},
        {"acl": None},
        {"user": None},
        {"nameserver": "127.0.0.1"},
        {"plugin_opts": ""},
        {
            "nofile": 4096,
            "mtu": 1400,
            "no_delay": True,
            "reuse_port": True,
            "fast_open": True,
            "ipv6_first": True,
        },
        {"method": METHOD, "key": None},
        {"local_address": None},
    ],
)
def test_values_that_are_read(stage, changes):
    """Also as other types, null or empty (CF03)."""
    serves(stage, text(**changes))


def test_password_as_a_number(stage):
    server = stage.server(password=12345)
    target = stage.target()
    sock = stage.connect(server.port)
    peer = sip004.Peer(sock, METHOD, "12345").open(target.host, target.port, b"hi")
    assert peer.read(2) == b"hi"


def test_trailing_comma(stage):
    port = free_port()
    config = text(server_port=port).replace("\n}", ",\n}")
    assert kit.works(stage.serve("server", config, port=port))


@pytest.mark.ours
@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t,
        lambda t: "// comment\n" + t,
        lambda t: t.replace("{", "{ /* comment\n */", 1),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n}", '\n// "}\n}'),
        lambda t: t + " " * 1_000_000,
    ],
)
def test_what_users_files_have(stage, change):
    """BOM, comments, CRLF, size."""
    port = free_port()
    assert kit.works(stage.serve("server", change(text(server_port=port)), port=port))


@pytest.mark.ours
def test_unknown_keys_warn(stage):
    """Each is named; a comment key is nobody's mistake; a key of another program is named as such."""
    log = serves(
        stage, text(udp_timeout_x=1, obfs={"a": [1, {"b": None}]}, tunnel_address="127.0.0.1:53")
    )
    for key in ("udp_timeout_x", "obfs", "tunnel_address"):
        assert key in log
    assert "ss-tunnel" in log


@pytest.mark.parametrize("role", ["server", "local"])
def test_one_file_for_both(stage, role):
    """As Debian's: the keys of the other program do no harm."""
    serves(stage, text(mode="tcp_only", timeout=86400), role)


@pytest.mark.ours
def test_clients_local_address_on_a_server(stage):
    """127.0.0.1 means something else there: a warning."""
    log = serves(stage, text(local_address="127.0.0.1"))
    assert "local_address" in log or "loopback" in log


@pytest.mark.ours
@pytest.mark.parametrize(
    "key, value, allowed",
    [
        ("fast_open", "yes", "bool"),
        ("no_delay", 1, "bool"),
        ("reuse_port", "true", "bool"),
        ("ipv6_first", [], "bool"),
        ("server_port", 70000, "65535"),
        ("server_port", -1, "65535"),
        ("server_port", "8388x", "port"),
        ("server_port", 1.5, ""),
        ("server_port", {}, ""),
        ("method", "table2", "--version lists"),
        ("method", 5, ""),
        ("server", {}, ""),
        ("server", [5], ""),
        ("nofile", "many", ""),
        ("password", ["x"], ""),
        ("nameserver", "not an address", ""),
        ("server", "a:b:c", ""),
        ("server", "x" * 300, ""),
        ("server", "[::1", ""),
    ],
)
def test_wrong_values(stage, key, value, allowed):
    """File, line, key, and what is allowed."""
    config = text(**{key: value})
    err = refuses(stage, config)
    line = 1 + next(i for i, row in enumerate(config.splitlines()) if row.startswith(f'"{key}"'))
    assert key in err and allowed in err
    assert f"config.json:{line}:" in err, (line, err)


@pytest.mark.ours
@pytest.mark.parametrize("key", ["dG9vc2hvcnQ", "not base64!", "=" * 44])
def test_bad_key(stage, key):
    """Only method and key together tell that it is too short: the message names the length, and
    shows a good one.
    """
    err = refuses(stage, text(key=key))
    assert "base64url" in err and "32 bytes" in err and key not in err


@pytest.mark.ours
@pytest.mark.parametrize("mode", ["nonsense", "TCP"])
def test_unknown_mode_warns(stage, mode):
    assert "mode" in serves(stage, text(mode=mode))


def test_auth_is_fatal(stage):
    """Even `false`, as ever."""
    for value in (True, False):
        assert "One time auth" in refuses(stage, text(auth=value))


@pytest.mark.parametrize(
    "broken, place",
    [
        ("{", "1:2"),
        ('{"server": "127.0.0.1"\n"password": "x"}', "2:1"),
        ("{'server': 'x'}", "1:2"),
        ("[]", ""),
        ("", ""),
        ('{"server": tru}', "1:12"),
        ('{"server": "a\tb"}', "1:14"),
        ("{} x", "1:4"),
        ('{"a": "\\ud800"}', ""),
        ("\0", ""),
        ('{"a": 01}', "1:8"),
    ],
)
def test_syntax_errors(stage, broken, place):
    """Exit 255; ours gives line:column (CF01)."""
    if not kit.is_ours("server"):
        place, broken = "", broken.replace("\t", "\0")
    program = stage.program("server", broken)
    assert program.wait() == 255
    assert place in program.stderr() and program.stderr()


@pytest.mark.ours
def test_deep_nesting(stage):
    refuses(stage, '{"a":' * 100_000)
    refuses(stage, '{"a":' + "[" * 100_000)


@pytest.mark.parametrize("missing", ["server_port", "password"])
def test_missing_keys(stage, missing):
    err = refuses(stage, text(**{missing: ...}), status=1)
    assert not kit.is_ours("server") or missing.split("_")[-1] in err


def test_null_password(stage):
    refuses(stage, text(password=None), status=1)


@pytest.mark.ours
@pytest.mark.parametrize("path", ["/no/such/file", "/", "/dev/null"])
def test_unreadable_file(stage, path):
    program = stage.program("server", None, ["-c", path])
    assert program.wait() == 255 and program.stderr()


@pytest.mark.ours
@pytest.mark.parametrize("variable", ["SS_PASSWORD", "PASSWORD_FILE"])
def test_password_from_the_environment(stage, variable, tmp_path):
    """Neither in the file nor on the command line."""
    secret = tmp_path / "secret"
    secret.write_text(PASSWORD + "\n")
    port = free_port()
    value = PASSWORD if variable == "SS_PASSWORD" else str(secret)
    server = stage.serve(
        "server", text(server_port=port, password=...), port=port, env={variable: value}
    )
    assert kit.works(server)


@pytest.mark.ours
@pytest.mark.parametrize("element", [False, True], ids=["top level", "element"])
def test_password_from_a_file(stage, tmp_path, element):
    """A relative path begins at the configuration file, wherever the program runs."""
    (tmp_path / "secret").write_text(PASSWORD + "\nmore\n")
    port = free_port()
    place = {"server": "127.0.0.1", "server_port": port, "method": METHOD, "password_file": "secret"}
    (tmp_path / "config").write_text(json.dumps({"servers": [place]} if element else place))
    server = stage.serve("server", None, ["-c", tmp_path / "config"], port=port)
    assert kit.works(server)


@pytest.mark.ours
@pytest.mark.parametrize(
    "content, why", [(None, "No such file"), ("\n", "there is no password in its first line")]
)
def test_password_file_of_no_use(stage, tmp_path, content, why):
    if content:
        (tmp_path / "secret").write_text(content)
    (tmp_path / "config").write_text('{"server_port": 1,\n"password_file": "secret"}')
    program = stage.program("server", None, ["-c", tmp_path / "config"])
    assert program.wait() == 255
    assert f"config:2:1: key 'password_file' cannot be used: {tmp_path}/secret: {why}" in program.stderr()


@pytest.mark.ours
def test_option_wins_over_password_file(stage, tmp_path):
    (tmp_path / "secret").write_text("another")
    (tmp_path / "config").write_text('{"server": "127.0.0.1", "password_file": "secret"}')
    args = ["-c", tmp_path / "config", "-p", (port := free_port()), "-k", PASSWORD, "-m", METHOD]
    assert kit.works(stage.serve("server", None, args, port=port))


@pytest.mark.ours
def test_password_is_wiped_from_the_command_line(stage):
    """CL05"""
    port = free_port()
    server = stage.serve(
        "server", None, ["-s", "127.0.0.1", "-p", port, "-k", PASSWORD, "-m", METHOD], port=port
    )
    with open(f"/proc/{server.pid}/cmdline", "rb") as file:
        assert PASSWORD.encode() not in file.read()
    assert kit.works(server)
