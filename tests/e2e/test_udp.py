"""UDP through ss-local and ss-server: sizes, families, names, who may answer, and what is dropped."""
import contextlib
import os
import shutil
import socket
import subprocess

import kit
import pytest
import sip004
import streams
from datagrams import Client, UdpTarget, associate, opened, seal, silent, udp
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours  # shadowsocks-libev cuts datagrams, and more

UDP = {"mode": "tcp_and_udp"}
SIZES = [0, 1, 64, 512, 1200, 1472, 4096, 9000, 65000]
UNDER_WAY = 150  # small datagrams that fit in a socket, as the kernel counts: 1,280 bytes each of 212,992
KEYS = {16: "SeBiKiHKAcdJV6Fu9K+Xfg==", 32: "3L69X4PF2eSL/JIPpLBjQj9rLhBBtgqHYy3AJVNLjz0="}
METHODS = [
    *sip004.METHODS,
    "rc4", "rc4-md5", "aes-256-cfb", "aes-128-ctr", "camellia-256-cfb", "salsa20", "chacha20-ietf", "table", "none",
    "2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm", "2022-blake3-chacha20-poly1305",
    "2022-blake3-chacha8-poly1305",
]


def key_of(method):
    if not method.startswith("2022"):
        return PASSWORD
    return KEYS[16 if "128" in method else 32]


def pair(stage, **config):
    return stage.pair(**UDP, **config)


def target(stage, *args, **options):
    return stage.add(UdpTarget(*args, **options))


def client(stage, local, **options):
    return stage.add(Client(local.port, **options))


@pytest.mark.parametrize("method", METHODS)
def test_sizes(stage, method):
    _, local = pair(stage, method=method, password=key_of(method))
    echo, app = target(stage), client(stage, local)
    for size in SIZES:
        data = os.urandom(size)
        assert app.echoes(echo, data), size
        assert echo.take()[0] == data


def test_whole_or_not_at_all(stage):
    """Neither cut on the way up nor on the way down."""
    server, local = pair(stage)
    overhead = 32 + 7 + 16
    echo = target(stage, answer=lambda data, client: [data if data else bytes(65507)])
    app = client(stage, local)
    assert app.echoes(echo, os.urandom(65507 - overhead))
    app.send((echo.host, echo.port), os.urandom(65507 - overhead + 1))
    app.silent()
    app.send((echo.host, echo.port), b"")
    app.silent()
    assert app.echoes(echo, b"and then")


def test_short_after_long(stage):
    _, local = pair(stage)
    echo, apps = target(stage), [client(stage, local), client(stage, local)]
    for size in (1400, 10, 1400, 0, 1, 1400):
        for number, app in enumerate(apps):
            assert app.echoes(echo, bytes([65 + number]) * size)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_everything_in_one_family(stage, host):
    server = stage.server(server=host, **UDP)
    local = stage.local(server, server=host, local_address=host, **UDP)
    app = client(stage, local, host=host)
    for there in ("127.0.0.1", "::1"):
        assert app.echoes(target(stage, there), b"hello")


@pytest.mark.parametrize("name, there", [
    ("four.test", "127.0.0.1"), ("six.test", "::1"), ("localhost", "127.0.0.1"),
    (b"::1", "::1"), (b"127.0.0.1", "127.0.0.1"), ("::ffff:127.0.0.1", "127.0.0.1"),
])
def test_names_and_literals(stage, name, there):
    """An address may be written as a name, and is answered as what it is."""
    dns = stage.dns({"four.test": ["127.0.0.1"], "six.test": ["::1"]})
    _, local = pair(stage, nameserver=dns.address)
    assert client(stage, local).echoes(target(stage, there), b"hello", host=name)


def test_listening_on_both_families(stage):
    """UD15: `::` serves IPv4 too, and shows it as what it is."""
    server = stage.server(server="::", **UDP)
    local = stage.local(server, local_address="::", **UDP)
    for host, there in (("127.0.0.1", "127.0.0.1"), ("::1", "127.0.0.1"), ("127.0.0.1", "::1")):
        assert client(stage, local, host=host).echoes(target(stage, there), b"hello")


@pytest.mark.parametrize("method", [METHOD, "2022-blake3-aes-256-gcm"])
def test_full_cone(stage, method):
    """One far port for all targets of a family, and whoever knows it may answer."""
    _, local = pair(stage, method=method, password=key_of(method))
    one, two, app = target(stage), target(stage), client(stage, local)
    assert app.echoes(one, b"1") and app.echoes(two, b"2")
    (_, first), (_, second) = one.take(), two.take()
    assert first == second
    stranger = stage.add(udp())
    stranger.sendto(b"surprise", first)
    assert app.receive() == (b"surprise", stranger.getsockname())
    other = client(stage, local)
    assert other.echoes(one, b"3")
    assert one.take()[1] != first


def test_answers_leave_from_where_they_were_asked(stage):
    server = stage.server(server="0.0.0.0", **UDP)
    echo = target(stage)
    local = stage.local(server, server="127.0.0.2", local_address="0.0.0.0", **UDP)
    app = client(stage, local, host="127.0.0.3")
    assert app.echoes(echo, b"through both")  # Client.receive() looks where it came from
    peer = stage.add(udp())
    peer.sendto(seal(METHOD, PASSWORD, sip004.header(echo.host, echo.port) + b"x"), ("127.0.0.4", server.port))
    assert peer.recvfrom(2000)[1] == ("127.0.0.4", server.port)


def test_fragments_are_dropped(stage):
    _, local = pair(stage)
    echo, app = target(stage), client(stage, local)
    for frag in (1, 0x80, 0x81):
        app.send((echo.host, echo.port), b"part", frag=frag)
    echo.silent()
    assert app.echoes(echo, b"whole")


@pytest.mark.parametrize("noise", [
    b"", b"\0", b"\0\0\0", b"\0\0\0\1", b"\0\0\0\2abcdef", b"\0\0\0\3\0\0\1", b"\0\0\0\3\377ab",
])
def test_noise_at_local(stage, noise):
    _, local = pair(stage)
    echo, app = target(stage), client(stage, local)
    app.sock.sendto(noise, app.to)
    app.silent(0.1)
    assert app.echoes(echo, b"after")


@pytest.mark.parametrize("method", [METHOD, "aes-256-cfb", "none", "2022-blake3-aes-256-gcm"])
def test_noise_at_the_server(stage, method):
    server, local = pair(stage, method=method, password=key_of(method))
    echo, noise = target(stage), stage.add(udp())
    for size in (0, 1, 15, 16, 31, 32, 33, 48, 49, 100, 1400):
        noise.sendto(b"\x05" + os.urandom(size), ("127.0.0.1", server.port))
    silent(noise)
    if method == METHOD:
        good = seal(method, PASSWORD, sip004.header(echo.host, echo.port) + b"x")
        for broken in (good[:-1], good + b"\0", good[:40] + bytes([good[40] ^ 1]) + good[41:]):
            noise.sendto(broken, ("127.0.0.1", server.port))
        for text in (b"", b"\1\1", b"\5abcdef", b"\3\3a/b\0\1", b"\3\0\0\1"):
            noise.sendto(seal(method, PASSWORD, text), ("127.0.0.1", server.port))
        silent(noise)
        echo.silent(0.1)
    assert client(stage, local).echoes(echo, b"after")
    assert server.state()["association"] <= (12 if method in ("aes-256-cfb", "none") else 1)


@pytest.mark.parametrize("method", ["aes-256-gcm", "chacha20-ietf-poly1305", "rc4-md5", "aes-256-cfb"])
def test_replays(stage, method):
    """The same packet passes once, from wherever; TCP's memory is another."""
    server = stage.server(method=method, **UDP)
    echo, peer, other = target(stage), stage.add(udp()), stage.add(udp())
    packet = seal(method, PASSWORD, sip004.header(echo.host, echo.port) + b"once")
    for sock in (peer, peer, other):
        sock.sendto(packet, ("127.0.0.1", server.port))
    assert echo.take()[0] == b"once"
    echo.silent()
    answer = peer.recv(2000)
    assert opened(method, PASSWORD, answer) == sip004.header(echo.host, echo.port) + b"once"
    other.sendto(answer, ("127.0.0.1", server.port))  # our own, sent back to us
    echo.silent()


def test_no_iv_no_replay(stage):
    """All packets of rc4 have the same IV: none."""
    server = stage.server(method="rc4", **UDP)
    echo, peer = target(stage), stage.add(udp())
    assert streams.METHODS["rc4"][1] == 0
    for _ in range(3):
        peer.sendto(seal("rc4", PASSWORD, sip004.header(echo.host, echo.port) + b"x"), ("127.0.0.1", server.port))
        assert echo.take()[0] == b"x"


@pytest.mark.parametrize("role", ["local", "server"])
def test_mtu(stage, role):
    """What would be a larger IP packet between the two is not sent, and counted."""
    config = {"local": {}, "server": {}}
    config[role]["mtu"] = 1400
    server = stage.server(**UDP, **config["server"])
    local = stage.local(server, **UDP, **config["local"])
    echo, app = target(stage), client(stage, local)
    largest = 1400 - 28 - 32 - 7 - 16
    assert app.echoes(echo, os.urandom(largest))
    app.send((echo.host, echo.port), os.urandom(largest + 1))
    app.silent()
    program = local if role == "local" else server
    kit.eventually(lambda: "1 datagrams were too large" in program.log(), program.log, within=60 + kit.PATIENCE)


def test_off_unless_asked(stage):
    server, local = stage.pair()
    echo = target(stage)
    sock = stage.connect(local.port)
    kit.greet(sock)
    assert kit.socks_request(sock, b"\1\0\0\0\0\0\0", cmd=3) == 7
    assert sock.recv(1) == b""
    for program in (server, local):
        with udp() as probe:
            probe.connect(("127.0.0.1", program.port))
            probe.send(b"x")
            with pytest.raises(ConnectionRefusedError):
                probe.recv(1)
    echo.silent(0.1)


@pytest.mark.parametrize("how", [{"args": ["-U"]}, {"mode": "udp_only"}])
def test_udp_alone(stage, how):
    def config(**more):
        mode = {"mode": how["mode"]} if "mode" in how else {}
        return {"server": "127.0.0.1", "password": PASSWORD, "method": METHOD, **mode, **more}

    args, ports = how.get("args", []), [kit.free_port(), kit.free_port()]
    server = stage.serve("server", config(server_port=ports[0]), args)
    local = stage.serve("local", config(server_port=ports[0], local_port=ports[1]), args)
    kit.eventually(lambda: "UDP relay enabled" in local.log(), "local is up")
    kit.eventually(lambda: "udp server listening at" in server.log(), "the server is up")
    echo, app = target(stage), stage.add(Client(ports[1]))
    assert app.echoes(echo, b"hello")
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            kit.connect(port)


@pytest.mark.parametrize("flag", ["-u", "-uv"])
def test_both_by_a_flag(stage, flag):
    server = stage.server(args=[flag])
    local = stage.local(server, args=[flag])
    assert client(stage, local).echoes(target(stage), b"hello")
    assert kit.works(server, local)


def test_elements_of_servers(stage):
    """Each is served with its own key and mode."""
    ports = [kit.free_port() for _ in range(2)]
    server = stage.serve("server", {
        "mode": "tcp_and_udp",
        "servers": [
            {"server": "127.0.0.1", "server_port": ports[0], "method": METHOD, "password": "one"},
            {"server": "127.0.0.1", "server_port": ports[1], "method": "chacha20-ietf-poly1305", "password": "two",
             "mode": "udp_only"},
        ],
    }, port=ports[0])
    echo = target(stage)
    for port, method, password in ((ports[0], METHOD, "one"), (ports[1], "chacha20-ietf-poly1305", "two")):
        app = client(stage, stage.local(port, method=method, password=password, **UDP))
        assert app.echoes(echo, b"hello")
    with pytest.raises(ConnectionRefusedError):
        kit.connect(ports[1])
    assert server.state()["association"] == 2


def test_bound_to_one_family(stage):
    """SE01: a target of the other family is dropped, and nothing else."""
    server = stage.server(args=["-b", "127.0.0.1"], **UDP)
    local = stage.local(server, **UDP)
    app, six, four = client(stage, local), target(stage, "::1"), target(stage)
    app.send((six.host, six.port), b"x")
    six.silent()
    assert app.echoes(four, b"hello")
    assert four.take()[1][0] == "127.0.0.1"


def echo_of_both_kinds(stage):
    """Targets for UDP and TCP on one port: the port that one gets may be taken for the other."""
    for _ in range(20):
        echo = target(stage)
        with contextlib.suppress(OSError):
            stage.target(port=echo.port)
            return echo
    raise OSError("no port is free for UDP and TCP")


def test_datagrams_before_connections(stage):
    """Whoever sees a program listen may send datagrams at once."""
    first = {"server": ("udp server", "tcp server"), "local": ("UDP relay enabled", " listening at")}
    for program in stage.pair(**UDP):
        udp_, tcp = first[program.role]
        kit.eventually(lambda log=program.log, tcp=tcp: tcp in log(), "it says that it listens")
        assert udp_ in program.log().split(tcp)[0]


def test_tunnel(stage):
    echo = echo_of_both_kinds(stage)
    server = stage.server(**UDP)
    port = kit.free_port()
    stage.serve("tunnel", {
        "server": "127.0.0.1", "server_port": server.port, "local_port": port, "password": PASSWORD, "method": METHOD,
        "tunnel_address": f"127.0.0.1:{echo.port}", **UDP,
    }, port=port)
    app = stage.add(udp())
    for size in (0, 1, 1200, 65000):
        data = os.urandom(size)
        app.sendto(data, ("127.0.0.1", port))
        assert app.recvfrom(70000) == (data, ("127.0.0.1", port))
    sock = stage.connect(port)
    sock.sendall(b"over TCP")
    assert kit.read(sock, 8) == b"over TCP"


def name_server_behind_a_tunnel(stage):
    """(port to ask, what it is asked)."""
    dns = stage.dns({"*": ["192.0.2.1"]})
    server = stage.server(**UDP)
    port = kit.free_port()
    stage.serve("tunnel", {
        "server": "127.0.0.1", "server_port": server.port, "local_port": port, "password": PASSWORD, "method": METHOD,
        "tunnel_address": dns.address, **UDP,
    }, port=port)
    return port, dns


def test_queries_at_once_through_a_tunnel(stage):
    """1,000 clients with one query each: none is lost. No more are under way than a socket holds, however long who reads
    it is not let run."""
    port, _ = name_server_behind_a_tunnel(stage)
    kit.raise_nofile()
    query = b"\0\0\1\0\0\1\0\0\0\0\0\0\4name\4test\0\0\1\0\1"
    socks = [stage.add(udp()) for _ in range(1000)]

    def check(number):
        answer = socks[number].recv(512)
        assert answer[:2] == number.to_bytes(2, "big") and socket.inet_aton("192.0.2.1") in answer

    for number, sock in enumerate(socks):
        sock.sendto(number.to_bytes(2, "big") + query[2:], ("127.0.0.1", port))
        if number >= UNDER_WAY:
            check(number - UNDER_WAY)
    for number in range(len(socks) - UNDER_WAY, len(socks)):
        check(number)


def test_dig_through_a_tunnel(stage, tmp_path):
    """1,000 names by dig, from forty processes at once; nobody asks a second time, and all are answered. BIND's programs
    share ports (SO_REUSEPORT), and then miss answers, so each process has an address of its own."""
    if not shutil.which("dig"):
        pytest.skip("dig is not installed (sh dist/setup.sh check): NOT TESTED with it")
    port, dns = name_server_behind_a_tunnel(stage)
    names, running = [f"n{number}.test" for number in range(1000)], []
    for number in range(40):
        batch = tmp_path / f"batch{number}"
        batch.write_text("".join(f"{name}\n" for name in names[number::40]))
        argv = ["dig", "-r", "-b", f"127.0.1.{number + 1}", "@127.0.0.1", "-p", str(port)]
        argv += ["+tries=1", "+timeout=60", "+short", "-f", str(batch)]
        running.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    told = "".join(one.communicate(timeout=5 * kit.PATIENCE)[0] for one in running)
    assert told == "192.0.2.1\n" * len(names)
    assert sorted(dns.asked) == sorted((name, 1) for name in names)


def test_associate_names_the_address(stage):
    """SK11."""
    server = stage.server(**UDP)
    local = stage.local(server, local_address="::", **UDP)
    for host in ("127.0.0.1", "127.0.0.2", "::1"):
        _, bound = associate(stage, local.port, host=host)
        assert bound == (host, local.port)
        assert client(stage, local, host=host).echoes(target(stage), b"hello")
