"""Whoever means harm with datagrams, with a key and without one: afterwards both programs serve as before, are alive,
and have forgotten what came. With SAN=1 they are watched while it happens."""
import os
import random
import struct

import kit
import pytest
import sip004
from datagrams import Client, Session, UdpTarget, associate, seal, udp
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours

UDP = {"mode": "tcp_and_udp", "udp_timeout": 2, "udp_max_associations": 500}
KEY = bytes(range(32))
METHOD_2022, PASSWORD_2022 = "2022-blake3-aes-256-gcm", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SIZES = [*range(90), 127, 255, 512, 1200, 1408, 1472, 1500, 4096, 9000, 16384, 65507]
NAMES = [b"a" * 255, b".", b"..", b"\0", b"a\0b", b"%s%n", b"-", b"a." * 127, b"[::1]", b"1.2.3.4.", b"0x7f.1", b"\xff" * 63]


@pytest.fixture(params=[METHOD, "rc4-md5", "none", METHOD_2022])
def pair(request, stage):
    """(server, local, seal): seal(header and payload) makes a packet that the server takes."""
    method = request.param
    password = PASSWORD_2022 if method == METHOD_2022 else PASSWORD
    if method == "none":
        def sealed(text):
            return text
    elif method == METHOD_2022:
        session = Session(method, [KEY])
        sealed = session.seal
    else:
        def sealed(text):
            return seal(method, password, text)
    return *stage.pair(method=method, password=password, **UDP), sealed


def survives(stage, *programs):
    """Served as before, over UDP and TCP, and then at rest, but for sessions of SIP022, which outlive the test."""
    server, local = programs
    echo, app = stage.add(UdpTarget()), stage.add(Client(local.port))
    app.sock.settimeout(0.5)

    def echoes():  # what was sent before is in front of it
        try:
            app.send((echo.host, echo.port), b"still here?")
            while app.receive() != (b"still here?", (echo.host, echo.port)):
                pass
        except TimeoutError:
            return False
        return True

    kit.eventually(echoes, "datagrams are carried")
    target = stage.target()
    with kit.socks(local.port, target.host, target.port) as sock:
        sock.sendall(b"ping")
        assert kit.read(sock, 4) == b"ping"
    app.close()
    for program in programs:
        assert program.alive() and program.state()["association"] <= UDP["udp_max_associations"]
        if program.config["method"] != METHOD_2022:
            program.rests()


def test_noise_from_many(stage, pair):
    """Without a key: every size, from many addresses, to both programs."""
    server, local, _ = pair
    for number, size in enumerate(SIZES * 4):
        with udp(f"127.0.{number % 200 + 2}.1") as sock:
            for program in (server, local):
                sock.sendto(os.urandom(size), ("127.0.0.1", program.port))
    survives(stage, server, local)


def test_every_beginning_of_a_packet(stage, pair):
    """A true packet and a true request of SOCKS5, cut off at every byte, and with each bit of the front turned."""
    server, local, sealed = pair
    echo, sock = stage.add(UdpTarget()), stage.add(udp())
    text = sip004.header(echo.host, echo.port) + b"payload"
    plain = b"\0\0\0" + text
    for whole, program in ((sealed(text), server), (plain, local)):
        for size in range(len(whole)):
            sock.sendto(whole[:size], ("127.0.0.1", program.port))
        for bit in range(min(8 * len(whole), 512)):
            turned = bytearray(whole)
            turned[bit // 8] ^= 1 << bit % 8
            sock.sendto(turned, ("127.0.0.1", program.port))
    survives(stage, server, local)


def test_fragments_and_reserved_bytes(stage, pair):
    """RFC 1928, 7: FRAG is dropped, whatever it is."""
    server, local, _ = pair
    echo, sock = stage.add(UdpTarget()), stage.add(udp())
    for frag in range(1, 256):
        sock.sendto(bytes([0, 0, frag]) + sip004.header(echo.host, echo.port) + b"part", ("127.0.0.1", local.port))
    survives(stage, server, local)
    assert echo.seen.empty()


def odd_targets():
    for host in ("0.0.0.0", "255.255.255.255", "127.255.255.255", "224.0.0.1", "239.255.255.250", "240.0.0.1", "::",
                 "ff02::1", "ff05::1", "fe80::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::ffff:255.255.255.255"):
        for port in (0, 1, 53, 65535):
            yield sip004.header(host, port)
    for name in NAMES:
        for port in (0, 53, 65535):
            yield bytes([3, len(name)]) + name + struct.pack("!H", port)
    yield from (b"\3\0\0\7", b"\3", b"\1\1", b"\4\1", b"", b"\0" * 7, b"\5" * 7, b"\x11\1\1\1\1\0\1", b"\xff" * 300)


def test_odd_targets(stage, pair):
    """With a key: nobody's addresses, everybody's, names that are none; with and without a payload."""
    server, local, sealed = pair
    sock = stage.add(udp())
    for target in odd_targets():
        for payload in (b"", b"x", b"x" * 1472):
            sock.sendto(b"\0\0\0" + target + payload, ("127.0.0.1", local.port))
            sock.sendto(sealed(target + payload), ("127.0.0.1", server.port))
    survives(stage, server, local)


def test_packets_in_packets(stage, pair):
    """Targets that are the two programs themselves: it ends when the packet does."""
    server, local, sealed = pair
    echo, sock = stage.add(UdpTarget()), stage.add(udp())
    text = sip004.header(echo.host, echo.port) + b"kernel"
    for _ in range(20):
        text = sip004.header("127.0.0.1", server.port) + sealed(text)
    sock.sendto(sealed(text), ("127.0.0.1", server.port))
    text = sip004.header(echo.host, echo.port) + b"kernel"
    for _ in range(20):
        text = sip004.header("127.0.0.1", local.port) + b"\0\0\0" + text
    sock.sendto(b"\0\0\0" + text, ("127.0.0.1", local.port))
    for sort in (sip004.header("127.0.0.1", server.port), sip004.header("127.0.0.1", local.port)):
        for payload in (b"", b"\0\0\0", b"\0\0\0" + sort, os.urandom(100)):
            sock.sendto(sealed(sort + payload), ("127.0.0.1", server.port))
            sock.sendto(b"\0\0\0" + sort + payload, ("127.0.0.1", local.port))
    survives(stage, server, local)
    for program in (server, local):
        program.idles(0.5, 0.5)  # nothing goes round and round


def test_icmp_storm(stage, pair):
    """3,000 datagrams to ports where nobody is, each answered by ICMP, in both families."""
    server, local, sealed = pair
    app, sock = stage.add(Client(local.port)), stage.add(udp())
    for number in range(1500):
        for host in ("127.0.0.1", "::1"):
            app.send((host, 1 + number % 1000), b"nobody")
            sock.sendto(sealed(sip004.header(host, 1 + number % 1000) + b"nobody"), ("127.0.0.1", server.port))
    survives(stage, server, local)


def test_names_that_nobody_knows(stage):
    """With a key: 5,000 names that are never answered, from ten ports of one address. Others' names, over TCP and UDP,
    do not wait for any of them."""
    dns = stage.dns({"known.test": ["127.0.0.1"], "*": "drop"})
    server, local = stage.pair(nameserver=dns.address, **UDP)
    socks = [stage.add(udp("127.0.0.77")) for _ in range(10)]
    for number in range(5000):
        head = sip004.header(f"n{number}.test", 53 if number % 2 else 443)
        socks[number % 10].sendto(seal(METHOD, PASSWORD, head + b"x" * 1000), ("127.0.0.1", server.port))
    clock, target, echo = kit.Stopwatch(), stage.target(), stage.add(UdpTarget())
    with kit.socks(local.port, "known.test", target.port) as sock:
        sock.sendall(b"ping")
        assert kit.read(sock, 4) == b"ping"
    assert stage.add(Client(local.port)).ask(("known.test", echo.port), b"x")[0] == b"x"
    assert clock() < 4  # they would be given up after five seconds
    survives(stage, server, local)


def test_sessions_without_end(stage):
    """With a key of SIP022: 1,500 sessions, their IDs chosen to look alike, from one address and from many."""
    server, local = stage.pair(method=METHOD_2022, password=PASSWORD_2022, **UDP)
    echo = stage.add(UdpTarget())
    socks = [stage.add(udp(f"127.0.0.{number + 2}")) for number in range(20)]
    text = sip004.header(echo.host, echo.port) + b"x"
    for number in range(1500):
        odd = [0, 1, 1 << 63, (1 << 64) - 1, (1 << 32) - 1, 1 << 32]
        session = struct.pack("!Q", odd[number] if number < len(odd) else number << 32)
        one = Session(METHOD_2022, [KEY], session=session)
        socks[number % 20].sendto(one.seal(text, number=odd[number % len(odd)]), ("127.0.0.1", server.port))
    survives(stage, server, local)


def test_replays_by_the_thousand(stage, pair):
    """A recorded packet, again and again, from its own address and from others."""
    server, local, sealed = pair
    if server.config["method"] == "none":
        pytest.skip("the method none has no salt: every datagram counts, by design")
    echo = stage.add(UdpTarget())
    packet = sealed(sip004.header(echo.host, echo.port) + b"once")
    socks = [stage.add(udp(f"127.0.0.{number + 2}")) for number in range(20)]
    for number in range(3000):
        socks[number % 20].sendto(packet, ("127.0.0.1", server.port))
    survives(stage, server, local)
    assert echo.seen.get(timeout=kit.PATIENCE)[0] == b"once"
    assert echo.seen.empty()


def test_associate_by_the_thousand(stage):
    """UDP ASSOCIATE 600 times, most of it without a datagram, some reset, some with an address that is not theirs."""
    kit.raise_nofile()
    server, local = stage.pair(**UDP)
    echo, socks, dice = stage.add(UdpTarget()), [], random.Random(5)
    for number in range(600):
        target = dice.choice([b"\1\0\0\0\0\0\0", sip004.header("127.0.0.1", 9), sip004.header("10.1.2.3", 4), b"\3\1a\0\1"])
        sock, (host, port) = associate(stage, local.port, target=target)
        assert (host, port) == ("127.0.0.1", local.port)
        if number % 7 == 0:
            app = stage.add(Client(local.port))
            app.send((echo.host, echo.port), b"x")
        if number % 3 == 0:
            kit.reset(sock)
        else:
            socks.append(sock)
    for sock in socks:
        sock.sendall(os.urandom(100))  # nothing is to be said there
        sock.close()
    survives(stage, server, local)


def test_answers_from_strangers(stage):
    """Whoever learns the port of a client's far socket may write to it (full cone), and harms nobody: every size, and
    more than the client takes."""
    server, local = stage.pair(**UDP)
    echo, app = stage.add(UdpTarget()), stage.add(Client(local.port))
    assert app.echoes(echo, b"x")
    _, far = echo.take()
    with udp() as stranger:
        for size in SIZES * 10:
            stranger.sendto(os.urandom(size), far)
    app.close()
    survives(stage, server, local)
