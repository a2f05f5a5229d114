"""Where a connection goes, and what the client sees when it cannot go there."""

import kit
import pytest
import sip004
from kit import PATIENCE, ending, free_port, read

PROMPTLY = 4.0  # who waits for a connection does so for ten seconds


@pytest.mark.parametrize(
    "listen, host", [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("127.0.0.1", "localhost")]
)
def test_each_kind(stage, listen, host):
    _, local = stage.pair()
    target = stage.target(host=listen)
    sock = stage.socks(local, target, host=host)
    sock.sendall(b"hi")
    assert read(sock, 2) == b"hi"


@pytest.mark.parametrize("server_address", ["127.0.0.1", "::1", "localhost"])
def test_where_the_server_is(stage, server_address):
    """Local finds its server by IPv4, IPv6 and name; server listens on either family."""
    listen = "::1" if server_address == "::1" else "127.0.0.1"
    server = stage.server(server=listen)
    local = stage.local(server, server=server_address)
    assert kit.works(server, local) if listen == "127.0.0.1" else echoes(stage, local)


def echoes(stage, local):
    sock = stage.socks(local, stage.target())
    sock.sendall(b"hi")
    return read(sock, 2) == b"hi"


@pytest.mark.ours
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_any_address_is_both_families(stage, host):
    """`::` listens for IPv4 as well, and local can listen there, too."""
    server = stage.server(server="::")
    local = stage.local(server, server=host, local_address="::")
    target = stage.target()
    for near in ("127.0.0.1", "::1"):
        sock = stage.connect(local.port, host=near)
        kit.greet(sock)
        assert kit.socks_request(sock, sip004.header(target.host, target.port)) == 0
        sock.sendall(b"hi")
        assert read(sock, 2) == b"hi"


def test_server_host_and_port_in_one(stage):
    server = stage.server()
    local = stage.local(server, server=f"127.0.0.1:{server.port}", server_port=9)
    assert kit.works(server, local)


def test_one_bad_listen_address(stage):
    """What can be bound is bound (CF07); 3.3.5 does not start."""
    if not kit.is_ours("server"):
        pytest.skip("shadowsocks-libev ends when one of its addresses cannot be bound")
    server = stage.server(server=["203.0.113.9", "127.0.0.1"])
    assert "203.0.113.9" in server.log()
    assert kit.works(server)


@pytest.mark.parametrize("payload", [b"", b"payload"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_target_refuses(stage, host, payload):
    """Closed promptly and without a reset, whether or not the client has sent something."""
    server, local = stage.pair()
    closed = free_port(host)
    peer = stage.peer(server, host, closed, payload)
    clock = kit.Stopwatch()
    assert ending(peer.sock, PATIENCE) == (b"", "fin")
    assert clock() < PROMPTLY
    sock = stage.add(kit.socks(local.port, host, closed))
    sock.sendall(payload)
    clock = kit.Stopwatch()
    assert ending(sock, PATIENCE)[0] == b"" and clock() < PROMPTLY
    peer.sock.close()
    sock.close()
    server.rests()
    local.rests()


@pytest.mark.ours
def test_target_is_silent(stage):
    """A target that never answers costs min(10 s, timeout)."""
    server = stage.server(timeout=2)
    hole = stage.add(kit.BlackHole())
    peer = stage.peer(server, hole.host, hole.port, b"x")
    clock, watch = kit.Clock(), kit.Stopwatch()
    assert ending(peer.sock, PATIENCE) == (b"", "fin")
    assert 1.5 < clock() and watch() < 6


def test_target_port_zero(stage):
    server = stage.server()
    peer = stage.peer(server, "127.0.0.1", 0, b"x")
    assert ending(peer.sock, PATIENCE)[1] == "fin"
    assert kit.works(server)


def test_server_is_not_there(stage):
    """CONNECT succeeds at once, as with 3.3.5; then the connection is closed."""
    local = stage.local(free_port())
    clock = kit.Stopwatch()
    sock = stage.add(kit.socks(local.port, "127.0.0.1", 80))
    sock.sendall(b"x")
    assert ending(sock, PATIENCE)[0] == b"" and clock() < PROMPTLY
    sock.close()
    local.rests()


@pytest.mark.ours
def test_server_does_not_answer(stage):
    hole = stage.add(kit.BlackHole("127.0.0.1"))
    local = stage.local(hole.port, timeout=2)
    sock = stage.add(kit.socks(local.port, "127.0.0.1", 80))
    clock, watch = kit.Clock(), kit.Stopwatch()
    sock.sendall(b"x")
    assert ending(sock, PATIENCE)[1] != "open"
    assert 1.5 < clock() and watch() < 6


@pytest.mark.ours
def test_connect_timer_ends_with_the_connect(stage):
    """RD05: a connection that is made is not cut when the time for making it is over."""
    _, local = stage.pair(timeout=3)
    sock = stage.socks(local, stage.target())
    assert ending(sock, 4.5) == (b"", "open")
    sock.settimeout(PATIENCE)
    sock.sendall(b"late")
    assert read(sock, 4) == b"late"


@pytest.mark.parametrize("of_server, host", [("127.0.0.2", "127.0.0.1"), ("::1", "::1")])
def test_source_address(stage, of_server, host):
    """local_address of a server is where its own connections come from."""
    server = stage.server(local_address=of_server)
    target = stage.target(lambda conn: conn.getpeername()[0], host=host)
    stage.peer(server, host, target.port, b"x")
    assert target.result() == of_server


@pytest.mark.parametrize("of_server, host", [("127.0.0.2", "::1"), ("::1", "127.0.0.1")])
def test_source_address_of_the_other_family(stage, of_server, host):
    """SE01: the request fails alone, nothing is sent from elsewhere, the server lives."""
    server = stage.server(local_address=of_server)
    target = stage.target(host=host)
    peer = stage.peer(server, host, target.port, b"x")
    if kit.is_ours("server"):
        assert ending(peer.sock, PATIENCE)[1] == "fin"
        assert not target.conns
    good = stage.target(host="127.0.0.1" if "." in of_server else "::1")
    assert stage.peer(server, good.host, good.port, b"hi").read(2) == b"hi"


@pytest.mark.ours
def test_source_address_that_is_not_ours(stage):
    """TC09: either it does not start, or each request fails alone."""
    server = stage.server(local_address="203.0.113.7")
    target = stage.target()
    for _ in range(5):
        assert ending(stage.peer(server, target.host, target.port, b"x").sock, PATIENCE)[1] == "fin"
    assert not target.conns and server.alive()
