"""User and password (RFC 1929): the key `socks_auth` is a list of {"user", "password"} (SK17)."""

import kit
import pytest
import sip004
from kit import drip, ending, read

pytestmark = pytest.mark.ours
USERS = [("a", "b"), ("user", "pass:word"), ("u" * 255, "p" * 255), ("ünï", "cödé")]


@pytest.fixture
def local(stage):
    server = stage.server()
    return stage.local(
        server, socks_auth=[{"user": user, "password": password} for user, password in USERS]
    )


def field(text):
    text = text.encode() if isinstance(text, str) else text
    return bytes([len(text)]) + text


def login(stage, local, user, password, version=1):
    """A connection on which method 2 was chosen and this was sent."""
    sock = stage.connect(local.port)
    sock.sendall(b"\x05\x02\x00\x02")
    assert read(sock, 2) == b"\x05\x02"
    sock.sendall(bytes([version]) + field(user) + field(password))
    return sock


@pytest.mark.parametrize("user, password", USERS)
def test_right(stage, local, user, password):
    target = stage.target()
    sock = login(stage, local, user, password)
    assert read(sock, 2) == b"\x01\x00"
    assert kit.socks_request(sock, sip004.header(target.host, target.port)) == 0
    sock.sendall(b"hi")
    assert read(sock, 2) == b"hi"


@pytest.mark.parametrize(
    "user, password",
    [
        ("a", "c"),
        ("b", "b"),
        ("a", "pass:word"),
        ("user", "pass"),
        ("user", "pass:word\0"),
        ("user\0", "pass:word"),
        ("a", "b\0"),
        ("u" * 255, "p" * 254),
        ("", ""),
        ("a", ""),
        ("", "b"),
        ("USER", "pass:word"),
    ],
)
def test_wrong(stage, local, user, password):
    """A NUL shortens nothing; the answer is a failure, then the end."""
    data, how = ending(login(stage, local, user, password), kit.PATIENCE)
    assert len(data) == 2 and data[0] == 1 and data[1] != 0 and how == "fin"


def test_wrong_version(stage, local):
    data, how = ending(login(stage, local, "a", "b", version=5), kit.PATIENCE)
    assert data[1:] != b"\x00" and how != "open"


@pytest.mark.parametrize("greeting", [b"\x05\x01\x00", b"\x05\x02\x00\x01"])
def test_not_offered(stage, local, greeting):
    """Without method 2 nobody gets in."""
    sock = stage.connect(local.port)
    sock.sendall(greeting)
    assert ending(sock, kit.PATIENCE) == (b"\x05\xff", "fin")


def test_request_without_login(stage, local):
    """A request pipelined behind the greeting is read as a login, and fails."""
    target = stage.target()
    sock = stage.connect(local.port)
    sock.sendall(b"\x05\x02\x00\x02\x05\x01\x00" + sip004.header(target.host, target.port))
    data, how = ending(sock, kit.PATIENCE)
    assert (
        data[:2] == b"\x05\x02" and b"\x05\x00" not in data and how != "open" and not target.conns
    )


def test_byte_by_byte_and_at_once(stage, local):
    target = stage.target()
    request = b"\x05\x01\x00" + sip004.header(target.host, target.port)
    whole = b"\x05\x01\x02\x01" + field("user") + field("pass:word") + request + b"hi"
    for send in (drip, lambda sock, data: sock.sendall(data)):
        sock = stage.connect(local.port)
        send(sock, whole)
        assert read(sock, 4) == b"\x05\x02\x01\x00"
        assert kit.socks_reply(sock) == 0
        assert read(sock, 2) == b"hi"


def test_nothing_secret_in_the_log(stage, local):
    ending(login(stage, local, "user", "pass:wrong"), kit.PATIENCE)
    assert "pass:w" not in local.log() and "pass:word" not in local.log()


@pytest.mark.parametrize(
    "value",
    [
        [],
        [{"user": "a"}],
        [{"password": "a"}],
        [{"user": "", "password": "b"}],
        [{"user": "u" * 256, "password": "b"}],
        "a:b",
        {"user": "a", "password": "b"},
        [{"user": "a", "password": 5.5}],
        [["a", "b"]],
    ],
)
def test_values_that_are_wrong(stage, value):
    """Nobody must believe that a password is asked for when none is."""
    config = {
        "server": "127.0.0.1",
        "server_port": 9,
        "local_port": kit.free_port(),
        "password": "x",
        "method": kit.METHOD,
        "socks_auth": value,
    }
    local = stage.program("local", config)
    assert local.wait() == 255
    assert "socks_auth" in local.stderr()
