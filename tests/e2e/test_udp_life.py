"""How long a UDP client is remembered, what ends it, and what does not; the ceiling, and who makes room."""
import contextlib
import os
import time

import kit
import pytest
import sip004
from datagrams import Client, UdpTarget, associate, seal, udp
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours

UDP = {"mode": "tcp_and_udp"}
KEY_2022 = "3L69X4PF2eSL/JIPpLBjQj9rLhBBtgqHYy3AJVNLjz0="


def pair(stage, **config):
    return stage.pair(**UDP, **config)


def target(stage, *args, **options):
    return stage.add(UdpTarget(*args, **options))


def client(stage, local, **options):
    return stage.add(Client(local.port, **options))


def associations(*programs):
    return [program.state()["association"] for program in programs]


def test_expiry(stage):
    """UD07: to a target that answers, one that does not, and a name; nothing is left."""
    dns = stage.dns({"name.test": ["127.0.0.1"]})
    server, local = pair(stage, udp_timeout=6, nameserver=dns.address)
    echo, mute = target(stage), target(stage, answer=lambda *_: [])
    apps = [client(stage, local) for _ in range(60)]
    for number, app in enumerate(apps):
        app.send([(echo.host, echo.port), (mute.host, mute.port), ("name.test", echo.port)][number % 3], b"x")
    kit.eventually(lambda: associations(server, local) == [60, 60], "60 each")
    server.rests()
    local.rests()


def test_use_keeps_it(stage):
    server, local = pair(stage, udp_timeout=4)
    echo, app = target(stage), client(stage, local)
    ports = set()
    for _ in range(12):
        assert app.echoes(echo, b"x")
        ports.add(echo.take()[1])
        time.sleep(0.5)
    assert len(ports) == 1
    assert associations(server, local) == [1, 1]


def test_sessions_are_remembered_longer(stage):
    """SIP022: a packet is that long in time, and must not pass again."""
    server, _ = pair(stage, udp_timeout=1, method="2022-blake3-aes-256-gcm", password=KEY_2022)
    local = stage.local(server, method="2022-blake3-aes-256-gcm", password=KEY_2022, **UDP)
    assert client(stage, local).echoes(target(stage), b"x")
    time.sleep(3)
    assert associations(server) == [1]


def test_icmp_ends_nothing(stage):
    """UD09: neither of the target nor of the client, nor of the server."""
    server, local = pair(stage)
    echo, app = target(stage), client(stage, local)
    assert app.echoes(echo, b"before")
    port = echo.take()[1]
    nobody = ("127.0.0.1", kit.free_port())
    for _ in range(20):
        app.send(nobody, b"x")
        time.sleep(0.01)
    assert app.echoes(echo, b"after")
    assert echo.take()[1] == port
    app.close()  # answers find nobody
    for _ in range(5):
        echo.sock.sendto(b"late", port)
        time.sleep(0.01)
    assert client(stage, local).echoes(echo, b"another")
    local.idles(seconds=0.5)
    server.idles(seconds=0.5)


def test_server_that_comes_later(stage):
    """ICMP from the server's port does not end the client's association."""
    port = kit.free_port()
    local = stage.local(port, **UDP)
    echo, app = target(stage), client(stage, local)
    for _ in range(3):
        app.send((echo.host, echo.port), b"lost")
        time.sleep(0.02)
    stage.server(server_port=port, **UDP)
    assert app.echoes(echo, b"found")
    assert associations(local) == [1]


@pytest.mark.parametrize("method, password", [(METHOD, PASSWORD), ("2022-blake3-aes-256-gcm", KEY_2022)])
def test_server_that_is_started_anew(stage, method, password):
    server, local = pair(stage, method=method, password=password)
    echo, app = target(stage), client(stage, local)
    assert app.echoes(echo, b"before")
    server.stop()
    stage.server(server_port=server.port, method=method, password=password, **UDP)
    assert app.echoes(echo, b"after")
    assert associations(local) == [1]


def test_full_buffers_end_nothing(stage):
    """UD03: a burst that nobody can keep up with."""
    server, local = pair(stage)
    many = target(stage, answer=lambda data, _: [data * 1400] * 3000 if data == b"x" else [data])
    app = client(stage, local)
    app.send((many.host, many.port), b"x")
    _, port = many.take()
    time.sleep(0.5)
    app.sock.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            app.receive()
    app.sock.settimeout(kit.PATIENCE)
    app.send((many.host, many.port), b"ping")
    while app.receive()[0] != b"ping":  # some of the burst may still come
        pass
    assert many.take()[1] == port


def test_ceiling(stage):
    """The longest unused makes room; whoever is there is served."""
    server, local = pair(stage, udp_max_associations=20)
    echo = target(stage)
    first = client(stage, local)
    assert first.echoes(echo, b"x")
    port = echo.take()[1]
    apps = [client(stage, local) for _ in range(19)]
    for app in apps:
        assert app.echoes(echo, b"x")
        echo.take()
    time.sleep(1.1)
    assert first.echoes(echo, b"again")  # no longer the one unused for the longest time
    assert echo.take()[1] == port
    for _ in range(10):
        assert client(stage, local).echoes(echo, b"x")
        echo.take()
    assert associations(server, local) == [20, 20]
    assert first.echoes(echo, b"still")
    assert echo.take()[1] == port


@pytest.mark.parametrize("nofile", [64, 256, 1024])
def test_few_descriptors(stage, nofile):
    """As many clients as there is no descriptor for: TCP goes on, and so do the latest of them."""
    server = stage.server(nofile=nofile, **UDP)
    local = stage.local(server, nofile=nofile, **UDP)
    echo = target(stage)
    for _ in range(nofile):
        with contextlib.closing(Client(local.port)) as app:
            assert app.echoes(echo, b"x")
    assert kit.works(server, local)
    for program in (server, local):
        assert 0 < program.state()["association"] <= nofile / 4 + 1
        assert program.fds() < nofile


def test_flood_of_clients(stage, memory):
    """20,000 addresses: memory stays below what the ceiling allows, TCP works, and afterwards all is well."""
    server, local = pair(stage, udp_timeout=3, udp_max_associations=2000)
    echo = target(stage)
    before = [program.anon() for program in (server, local)]
    sources = [(f"127.{number % 40 + 1}.0.1", 20000 + number // 40) for number in range(20000)]
    head = b"\0\0\0" + sip004.header(echo.host, echo.port)
    for number, (host, port) in enumerate(sources):
        with contextlib.suppress(OSError), udp(host, port) as sock:  # a port may be another's
            sock.sendto(head + b"flood", ("127.0.0.1", local.port))
        if number % 5000 == 0:
            assert kit.works(server, local)
    assert kit.works(server, local)
    app = client(stage, local, timeout=0.5)

    def carried():  # unless it is among what nobody could keep up with
        with contextlib.suppress(TimeoutError):
            return app.echoes(echo, b"x")

    kit.eventually(carried, "datagrams are carried")
    for program, anon in zip((server, local), before):
        assert program.state()["association"] <= 2000
        assert program.anon() - anon < 2000 * 1280 + (3 << 20)
    server.rests()
    local.rests()


def test_associations_end_with_their_connection(stage):
    """SK13."""
    server, local = pair(stage)
    echo, app = target(stage), client(stage, local)
    control, _ = associate(stage, local.port)
    assert app.echoes(echo, b"1")
    port = echo.take()[1]
    assert associations(local) == [1]
    local.idles(seconds=0.5)
    control.close()
    kit.eventually(lambda: associations(local) == [0], "none is left")
    assert app.echoes(echo, b"2")  # a new one, which lives by the timeout
    assert associations(local) == [1]
    assert echo.take()[1] != port


def test_the_last_connection_counts(stage):
    _, local = pair(stage)
    echo, app = target(stage), client(stage, local)
    assert app.echoes(echo, b"1")  # it was there before
    first, _ = associate(stage, local.port)
    second, _ = associate(stage, local.port)
    elsewhere, _ = associate(stage, local.port, host="127.0.0.1")
    time.sleep(1.1)  # an older one is bound within a second
    assert app.echoes(echo, b"2")
    for sock in (first, elsewhere):
        sock.close()
    time.sleep(0.3)
    assert associations(local) == [1]
    kit.reset(second)
    kit.eventually(lambda: associations(local) == [0], "none is left")
    local.rests()


def test_other_addresses_are_left_alone(stage):
    server = stage.server(**UDP)
    local = stage.local(server, local_address="0.0.0.0", **UDP)
    echo = target(stage)
    other = stage.add(Client(local.port, source="127.0.0.7"))
    app = client(stage, local)
    control, _ = associate(stage, local.port)
    assert app.echoes(echo, b"1") and other.echoes(echo, b"2")
    control.close()
    kit.eventually(lambda: associations(local) == [1], "one is left")


def test_logins(stage):
    """Where logins are asked for, datagrams need a connection that has logged in."""
    server = stage.server(**UDP)
    local = stage.local(server, socks_auth=[{"user": "u", "password": "p"}], **UDP)
    echo, app = target(stage), client(stage, local)
    app.send((echo.host, echo.port), b"x")
    echo.silent()
    control, _ = associate(stage, local.port, login=("u", "p"))
    assert app.echoes(echo, b"x")
    control.close()
    kit.eventually(lambda: associations(local) == [0], "none is left")
    app.send((echo.host, echo.port), b"x")
    echo.take()
    echo.silent()


def test_names_do_not_block(stage):
    """Who waits for a name waits alone; its datagrams arrive in order, once it is known."""
    dns = stage.dns({"slow.test": ["127.0.0.1"], "no.test": "nx"}, delay=3)
    server, local = pair(stage, nameserver=dns.address)
    echo, slow, app = target(stage), client(stage, local), client(stage, local)
    for number in range(5):
        slow.send(("slow.test", echo.port), bytes([number]) * 20000)
    slow.send(("no.test", echo.port), b"never")
    assert app.echoes(echo, b"now")
    assert echo.take()[0] == b"now", "it waited, too"
    for number in range(5):
        assert slow.receive()[0] == bytes([number]) * 20000
    slow.silent()
    assert server.state()["block"] == 0


def test_names_that_never_come(stage):
    """What waits is bounded, and leaves room for TCP."""
    dns = stage.dns({"*": "drop"})
    server, local = pair(stage, nameserver=dns.address, buffer_limit=1, timeout=3)
    echo = target(stage)
    for _ in range(10):
        app = client(stage, local)
        for number in range(30):
            app.send((f"n{number}.test", 9), os.urandom(20000))
    assert server.state()["block"] <= 16
    assert kit.works(server, local)
    assert client(stage, local).echoes(echo, b"x")
    kit.eventually(lambda: server.state()["block"] == 0, "all blocks are back")


def test_direct_to_the_server(stage):
    """Clients are told apart by their addresses."""
    server = stage.server(**UDP)
    echo = target(stage)
    packets = [seal(METHOD, PASSWORD, sip004.header(echo.host, echo.port) + bytes([n])) for n in range(3)]
    socks = [stage.add(udp()) for _ in packets]
    for sock, packet in zip(socks, packets):
        sock.sendto(packet, ("127.0.0.1", server.port))
    assert len({echo.take()[1] for _ in socks}) == 3
    for sock in socks:
        sock.recv(2000)
    assert associations(server) == [3]
