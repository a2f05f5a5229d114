"""ss-tunnel: several tunnels in one process, TCP and UDP."""

import kit
import pytest
from datagrams import UdpTarget, udp
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours
UDP = {"mode": "tcp_and_udp"}


def tunnel(stage, server, ports, args=(), **config):
    """An ss-tunnel that listens on all of `ports`."""
    config = {"server": "127.0.0.1", "server_port": server.port, "password": PASSWORD, "method": METHOD, **config}
    program = stage.serve("tunnel", config, args, port=ports[0])
    for port in ports[1:]:
        kit.eventually(lambda port=port: kit.listening(port), f"{port} is listened on")
    return program


class Named:
    """A target of both kinds that says its name in front of what it sends back."""

    def __init__(self, stage, name):
        def echo(conn):
            while data := conn.recv(1000):
                conn.sendall(name + data)

        for _ in range(20):
            self.tcp = stage.target(echo)
            try:
                self.udp = UdpTarget(port=self.tcp.port, answer=lambda data, client: [name + data])
            except OSError:
                continue
            stage.add(self.udp)
            self.address = f"127.0.0.1:{self.tcp.port}"
            return
        raise OSError("no port is free for UDP and TCP")


def leads_to(stage, port, name, host="127.0.0.1"):
    sock = stage.connect(port, host=host)
    sock.sendall(b" tcp")
    app = stage.add(udp(host))
    app.sendto(b" udp", (host, port))
    return kit.read(sock, len(name) + 4) == name + b" tcp" and app.recv(100) == name + b" udp"


def three(stage):
    return [Named(stage, name) for name in (b"one", b"two", b"three")], [kit.free_port() for _ in range(3)]


def test_flags(stage):
    """-L host:port leads from -l, -L port=host:port from a port of its own; flags win over the file."""
    (one, two, three_), ports = three(stage)
    server = stage.server(**UDP)
    args = ["-u", "-l", ports[0], "-L", one.address, "-L", f"{ports[1]}={two.address}",
            "-L", f"{ports[2]}={three_.address}"]
    unused = kit.free_port()
    tunnel(stage, server, ports, args,
           tunnels=[{"local_port": unused, "tunnel_address": "127.0.0.1:9"}], tunnel_address="127.0.0.1:9")
    for port, name in zip(ports, (b"one", b"two", b"three")):
        assert leads_to(stage, port, name)
    assert not kit.listening(unused)


def test_file(stage):
    (one, two, three_), ports = three(stage)
    server = stage.server(**UDP)
    program = tunnel(
        stage, server, ports, local_port=ports[0], tunnel_address=one.address, **UDP,
        tunnels=[
            {"local_port": ports[1], "tunnel_address": two.address},
            {"local_address": "::1", "local_port": ports[2], "tunnel_address": three_.address},
        ])
    for port, name, host in zip(ports, (b"one", b"two", b"three"), ("127.0.0.1", "127.0.0.1", "::1")):
        assert leads_to(stage, port, name, host)
    with pytest.raises(ConnectionRefusedError):
        kit.connect(ports[2])
    assert program.log().count("listening at") == 3


def test_only_the_list(stage):
    (one, two, _), ports = three(stage)
    server = stage.server(**UDP)
    tunnel(stage, server, ports[:2], **UDP, tunnels=[
        {"local_port": port, "tunnel_address": target.address} for port, target in zip(ports, (one, two))])
    assert leads_to(stage, ports[0], b"one") and leads_to(stage, ports[1], b"two")


def test_one_of_them_is_taken(stage):
    """What can be bound serves; a line says what cannot."""
    (one, two, _), ports = three(stage)
    holder = stage.add(kit.socket.socket())
    holder.bind(("127.0.0.1", ports[1]))
    server = stage.server()
    program = tunnel(stage, server, ports[:1], tunnels=[
        {"local_port": port, "tunnel_address": target.address} for port, target in zip(ports, (one, two))])
    assert f"cannot listen on 127.0.0.1:{ports[1]}" in program.log()
    sock = stage.connect(ports[0])
    sock.sendall(b"!")
    assert kit.read(sock, 4) == b"one!"
