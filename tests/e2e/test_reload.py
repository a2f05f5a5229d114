"""SIGHUP: servers that come, change and go, at a server and at clients, while connections live on."""
import json
import signal

import kit
import pytest
import sip004
from datagrams import UdpTarget, opened, seal, udp
from kit import METHOD, PASSWORD, ending, free_port, read

pytestmark = pytest.mark.ours
METHODS = [METHOD, "aes-256-ctr", "rc4-md5"]
OTHER = "quite another"


def reload(program, config, line="reloaded: "):
    """Write the file, send the signal, wait for the line."""
    path = program.home / "config.json"
    seen = program.log().count(line)
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    program.signal(signal.SIGHUP)
    kit.eventually(lambda: program.log().count(line) > seen, lambda: program.log()[-3000:])


def peer(stage, port, target, method=METHOD, password=PASSWORD):
    return sip004.Peer(stage.connect(port), method, password).open(target.host, target.port)


def echoes(peer, text=b"hello"):
    peer.send(text)
    return peer.read(len(text)) == text


def is_silent(stage, port, target, password):
    before = len(target.conns)
    sock = stage.connect(port)
    sock.sendall(sip004.request(METHOD, password, target.host, target.port, b"hello")[0])
    return ending(sock, 0.5) == (b"", "open") and len(target.conns) == before


def element(port, password=PASSWORD, method=METHOD, **more):
    return {"server": "127.0.0.1", "server_port": port, "password": password, "method": method, **more}


def test_another_password(stage):
    """The listener stays, old connections too; the old password is nobody's any more."""
    server, target = stage.server(), stage.target()
    lasting = peer(stage, server.port, target)
    assert echoes(lasting)
    reload(server, server.config | {"password": OTHER}, "reloaded: other servers")
    assert echoes(lasting, b"x" * 200_000)
    assert echoes(peer(stage, server.port, target, password=OTHER))
    assert is_silent(stage, server.port, target, PASSWORD)
    assert echoes(lasting)


@pytest.mark.parametrize("method", METHODS)
def test_another_method(stage, method):
    """To another one and back, under connections of either; the schedule of a stream method stays as long."""
    server, target = stage.server(method=method), stage.target()
    client = {method: stage.local(server, method=method) for method in (method, "chacha20-ietf-poly1305")}

    def through(method):
        sock = stage.socks(client[method], target)
        return sock if answers(sock) else None

    def answers(sock, text=b"x" * 50_000):
        sock.sendall(text)
        return read(sock, len(text)) == text

    first = through(method)
    reload(server, server.config | {"method": "chacha20-ietf-poly1305"}, "reloaded: other servers")
    second = through("chacha20-ietf-poly1305")
    assert answers(first) and answers(second)
    reload(server, server.config, "reloaded: other servers")
    third = through(method)
    assert answers(first) and answers(second) and answers(third)


def test_ports_come_and_go(stage):
    """A port that stays is not touched; who was connected to one that goes stays connected."""
    stays, goes, comes = free_port(), free_port(), free_port()
    server = stage.serve("server", {"servers": [element(goes, "goes"), element(stays)]}, port=stays)
    target = stage.target()
    one, two = peer(stage, stays, target), peer(stage, goes, target, password="goes")
    assert echoes(one) and echoes(two)
    reload(server, {"servers": [element(stays), element(comes, OTHER, "aes-128-gcm")]}, "reloaded: other servers")
    assert not kit.listening(goes) and kit.listening(stays) and kit.listening(comes)
    assert echoes(one) and echoes(two, b"x" * 100_000)
    assert echoes(peer(stage, stays, target)) and echoes(peer(stage, comes, target, "aes-128-gcm", OTHER))
    reload(server, {"servers": [element(goes, OTHER), element(comes, OTHER, "aes-128-gcm")]}, "reloaded: other servers")
    assert not kit.listening(stays) and echoes(peer(stage, goes, target, password=OTHER))
    assert echoes(one) and echoes(two)
    for sock in (one, two):
        sock.sock.close()


def test_from_one_to_several(stage):
    """The top level becomes a list, with the same port among it, and another address of the port."""
    server, target = stage.server(), stage.target()
    other = free_port()
    lasting = peer(stage, server.port, target)
    reload(server, {"servers": [element(other, OTHER), element(server.port)]}, "reloaded: other servers")
    assert echoes(lasting) and echoes(peer(stage, server.port, target)) and echoes(peer(stage, other, target, password=OTHER))


def test_order_is_no_change(stage):
    one, two = free_port(), free_port()
    server = stage.serve("server", {"servers": [element(one), element(two, OTHER)]}, port=two)
    reload(server, {"servers": [element(two, OTHER), element(one)]})
    assert "other servers" not in server.log()


def test_port_in_use(stage):
    """It is said, and all else goes on; a later reload gets it."""
    server, target, blocker = stage.server(), stage.target(), stage.target()
    config = {"servers": [element(server.port), element(blocker.port, OTHER)]}
    reload(server, config, f"cannot listen on 127.0.0.1:{blocker.port}")
    assert echoes(peer(stage, server.port, target))


def test_datagrams(stage):
    """UDP of a port that changes and of one that comes."""
    server, target = stage.server(mode="tcp_and_udp"), stage.add(UdpTarget())
    comes = free_port()
    reload(server, {"mode": "tcp_and_udp", "servers": [element(server.port, OTHER), element(comes)]}, "reloaded: other servers")
    for port, password in ((server.port, OTHER), (comes, PASSWORD)):
        app = stage.add(udp())
        app.sendto(seal(METHOD, password, sip004.header(target.host, target.port) + b"there"), ("127.0.0.1", port))
        assert opened(METHOD, password, app.recv(2000)).endswith(b"there")


def test_client_with_another_server(stage):
    """What is connected stays where it is; what is new goes to the new server."""
    old, new, target = stage.server(), stage.server(password=OTHER, method="aes-128-gcm"), stage.target()
    local = stage.local(old)
    lasting = stage.socks(local, target)
    lasting.sendall(b"here")
    assert read(lasting, 4) == b"here"
    reload(local, local.config | {"server_port": new.port, "password": OTHER, "method": "aes-128-gcm"}, "reloaded: other servers")
    fresh = stage.socks(local, target)
    fresh.sendall(b"there")
    assert read(fresh, 5) == b"there"
    kit.eventually(lambda: new.state()["session"] == 1 and old.state()["session"] == 1, "one at each")
    lasting.sendall(b"x" * 100_000)
    assert read(lasting, 100_000) == b"x" * 100_000


@pytest.mark.parametrize("method", METHODS)
def test_tunnels(stage, method):
    """Each has the new servers; the schedules of stream methods live as long as who uses them."""
    target, ports = stage.target(), [free_port(), free_port()]
    old, new = stage.server(method=method), stage.server(password=OTHER, method=method)
    config = {"server": "127.0.0.1", "server_port": old.port, "password": PASSWORD, "method": method,
              "tunnels": [{"local_port": port, "tunnel_address": f"127.0.0.1:{target.port}"} for port in ports]}
    tunnel = stage.serve("tunnel", config, port=ports[1])
    lasting = [stage.connect(port) for port in ports]
    for sock in lasting:
        sock.sendall(b"1")
        assert read(sock, 1) == b"1"
    reload(tunnel, config | {"server_port": new.port, "password": OTHER}, "reloaded: other servers")
    for sock in [*lasting, *(stage.connect(port) for port in ports)]:
        sock.sendall(b"2" * 50_000)
        assert read(sock, 50_000) == b"2" * 50_000


REFUSED = [
    ({"workers": 2}, {"password": OTHER}, [], "several workers"),
    ({}, {"plugin": "sh", "password": OTHER}, [], "the plugin sh"),
    ({"password": None}, {"method": "aes-128-gcm"}, ["-k", PASSWORD], "a password that is not in the file"),
    ({}, {"server": "no.such.name"}, [], "no.such.name is no address to listen on"),
]


@pytest.mark.parametrize("before, changes, args, why", REFUSED, ids=lambda value: str(value)[:20])
def test_refused(stage, before, changes, args, why):
    server = stage.server(args=args, **before)
    reload(server, server.config | changes, why)
    assert "not reloaded, everything stays as it is" in server.log()
    assert echoes(peer(stage, server.port, stage.target()))


def test_option_stays_the_password(stage):
    """It was given as -k: the port changes, the key does not."""
    server, port = stage.server(args=["-k", PASSWORD], password=None), free_port()
    reload(server, server.config | {"server_port": port}, "reloaded: other servers")
    assert not kit.listening(server.port) and echoes(peer(stage, port, stage.target()))
    reload(server, server.config | {"server_port": port, "servers": [element(server.port, OTHER)]}, "reloaded: other servers")
    assert echoes(peer(stage, port, stage.target())) and echoes(peer(stage, server.port, stage.target(), password=OTHER))


@pytest.mark.parametrize("role", ["server", "local"])
def test_nothing_is_left(stage, role):
    """A hundred reloads: no descriptor and no memory more."""
    server, target = stage.server(), stage.target()
    program = server if role == "server" else stage.local(server)
    lasting = peer(stage, server.port, target)

    def turn(number):
        reload(program, program.config | {"password": f"number {number}"}, "reloaded: other servers")

    for number in range(10):
        turn(number)
    fds, anon = program.fds(), program.anon()
    for number in range(100):
        turn(number)
    assert program.fds() == fds
    if not kit.sanitized(role):
        assert program.anon() - anon < 256 << 10
    assert echoes(lasting)
