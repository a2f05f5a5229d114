"""Users of a 2022 server (SIP023): who is one, who is not, and a change of the list while connections last."""
import base64
import json
import signal

import kit
import pytest

pytestmark = pytest.mark.ours
METHODS = {"2022-blake3-aes-128-gcm": 16, "2022-blake3-aes-256-gcm": 32}
METHOD = "2022-blake3-aes-128-gcm"


def key(number, size=16):
    """A key like no other's."""
    return base64.b64encode(bytes([number] * size)).decode()


def users(*numbers, size=16):
    return [{"name": f"user{number}", "password": key(number, size)} for number in numbers]


def serve(stage, *numbers, method=METHOD, **more):
    size = METHODS[method]
    return stage.server(method=method, password=key(0, size), users=users(*numbers, size=size), **more)


def client(stage, server, password, method=METHOD):
    return stage.local(server, method=method, password=password)


def echoes(sock, text=b"ping"):
    sock.sendall(text)
    return kit.read(sock, len(text)) == text


def is_refused(stage, local, target):
    """The server is silent to strangers: nothing comes."""
    sock = stage.socks(local, target)
    sock.sendall(b"ping")
    return kit.ending(sock, within=1)[0] == b""


def reload(server, changes, line):
    """Write a file with these changes and ask for a reload, until the log has the line."""
    (server.home / "config.json").write_text(
        changes if isinstance(changes, str) else json.dumps({**server.config, **changes}))
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: line in server.log(), lambda: server.log()[-2000:])


@pytest.mark.parametrize("method", METHODS)
def test_who_is_a_user(stage, method):
    size = METHODS[method]
    server, target = serve(stage, 1, 2, method=method), stage.target()
    for user in 1, 2:
        local = client(stage, server, f"{key(0, size)}:{key(user, size)}", method)
        assert echoes(stage.socks(local, target))
    for stranger in (key(0, size), key(1, size), f"{key(0, size)}:{key(3, size)}", f"{key(4, size)}:{key(1, size)}"):
        assert is_refused(stage, client(stage, server, stranger, method), target), stranger


def test_reload(stage):
    """Who is gone keeps the connections of before and gets no new ones."""
    server, target = serve(stage, 1, 2), stage.target()
    old, stays, new = (client(stage, server, f"{key(0)}:{key(n)}") for n in (1, 2, 3))
    lasting = stage.socks(old, target)
    assert echoes(lasting) and is_refused(stage, new, target)
    reload(server, {"users": users(2, 3)}, "reloaded: 2 users")
    assert echoes(lasting)
    assert echoes(stage.socks(stays, target)) and echoes(stage.socks(new, target))
    assert is_refused(stage, old, target)
    assert echoes(lasting, b"x" * 100_000)


def holds(program, wanted):
    """True if these bytes are anywhere in the program's own memory."""
    with open(f"/proc/{program.pid}/maps") as maps, open(f"/proc/{program.pid}/mem", "rb", buffering=0) as memory:
        for place, bits, *_ in map(str.split, maps):
            first, last = (int(end, 16) for end in place.split("-"))
            if bits == "rw-p" and memory.seek(first) == first and wanted in memory.read(last - first):
                return True
    return False


def test_many_reloads_under_one_session(stage, memory):
    """A connection keeps the users it began with, and none of those who came and went in the meantime."""
    def some(turn):
        return [{"name": "lasts", "password": key(1)}] + [
            {"name": f"u{n}", "password": base64.b64encode((turn << 16 | n).to_bytes(16, "big")).decode()}
            for n in range(1, 4000)]

    def turn(number):
        (server.home / "config.json").write_text(json.dumps({**server.config, "users": some(number)}))
        seen = server.log().count("reloaded: 4000 users")
        server.signal(signal.SIGHUP)
        kit.eventually(lambda: server.log().count("reloaded: 4000 users") > seen, lambda: server.log()[-2000:])

    server = stage.server(method=METHOD, password=key(0), users=some(100))
    lasting = stage.socks(client(stage, server, f"{key(0)}:{key(1)}"), stage.target())
    assert echoes(lasting)
    for number in range(101, 106):
        turn(number)
    before = server.anon()
    assert holds(server, (105 << 16 | 7).to_bytes(16, "big"))
    for number in range(106, 131):
        turn(number)
    assert server.anon() - before < 4 * kit.MIB  # 25 tables would take 10 MiB
    assert not holds(server, (105 << 16 | 7).to_bytes(16, "big"))
    assert echoes(lasting)


@pytest.mark.parametrize("changes, why", [
    ('{"server_port": ', "config.json:1:"),
    ({"users": users(1, 2) + users(2)}, "there are two users named 'user2'"),
    ({"users": users(1) + [{"name": "twin", "password": key(1)}]}, "users 'user1' and 'twin' have the same key"),
    ({"users": users(1, size=32)}, "user 'user1': the key of 2022-blake3-aes-128-gcm must be 16 random bytes"),
    ({"users": []}, "must not be an empty array"),
    ({"users": users(2), "server_port": 0}, "key 'server_port' must be a port"),
    ({"users": users(2), "method": "rot13"}, "invalid cipher name: rot13"),
    ({"users": None}, "there are no users any more"),
])
def test_reload_of_what_is_wrong(stage, changes, why):
    """The log says why, and everything stays as it was."""
    server, target = serve(stage, 1), stage.target()
    local = client(stage, server, f"{key(0)}:{key(1)}")
    lasting = stage.socks(local, target)
    assert echoes(lasting)
    reload(server, changes, why)
    assert "not reloaded, everything stays as it is" in server.log() and key(1) not in server.log()
    assert echoes(lasting) and echoes(stage.socks(local, target))


def test_reload_of_what_stays(stage):
    """Users are taken; what else has changed in the file is named."""
    server, target = serve(stage, 1), stage.target()
    reload(server, {"users": users(2), "timeout": 7}, "without effect before a new start: timeout\n")
    kit.eventually(lambda: "reloaded: 1 users" in server.log(), "they are taken")
    assert echoes(stage.socks(client(stage, server, f"{key(0)}:{key(2)}"), target))


def test_reload_of_a_client(stage):
    """Nothing of it is reloaded yet, but the file is looked at."""
    server, local = stage.pair()
    reload(local, '{"server": ', "not reloaded, everything stays as it is")
    reload(local, {"timeout": 7}, "without effect before a new start: timeout\n")
    assert kit.works(server, local)


def test_many_users(stage):
    """10,000 load, and the last is found."""
    many = [{"name": f"u{n}", "password": base64.b64encode(n.to_bytes(16, "big")).decode()} for n in range(1, 10_001)]
    server = stage.server(method=METHOD, password=base64.b64encode(b"\xff" * 16).decode(), users=many)
    local = client(stage, server, f"{server.config['password']}:{many[-1]['password']}")
    assert echoes(stage.socks(local, stage.target()))
    reload(server, {"users": many[1:]}, "reloaded: 9999 users")
    assert echoes(stage.socks(local, stage.target()))


@pytest.mark.parametrize("config, why", [
    ({"users": users(1) + [{"name": "twin", "password": key(1)}]}, "users 'user1' and 'twin' have the same key"),
    ({"method": "2022-blake3-chacha20-poly1305", "password": key(0, 32)}, "has no users"),
    ({"method": "aes-256-gcm"}, "has no users"),
    ({"password": f"{key(0)}:{key(1)}"}, "chains are for clients"),
])
def test_refused_at_start(stage, config, why):
    program = stage.program("server", {"server": "127.0.0.1", "server_port": kit.free_port(), "method": METHOD,
                                       "password": key(0), "users": users(1), **config})
    assert program.wait() == 255 and why in program.stderr()


def test_small_replay_size(stage):
    """Nobody uses up by a thousand requests what all need to be let in: the line of state has the room for them."""
    server = stage.server(method=METHOD, password=key(0), replay_size=1000)
    assert echoes(stage.socks(client(stage, server, key(0)), stage.target()))
    server.state()
    assert "1 request salts of at most 65536\n" in server.log()
