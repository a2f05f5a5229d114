"""What probers send to a server (as a study of 2020 found, "How China Detects and Blocks
Shadowsocks"), for each method family: a table of families, and of each the probes."""
import base64
import contextlib
import ctypes
import fcntl
import hashlib
import hmac
import itertools
import os
import random
import selectors
import socket
import struct
import threading

import kit
import sip004
import sip022
import streams

SHORTEST = 40  # seconds: the least handshake time; which one a server has comes from its key alone
LENGTHS = [*range(1, 301), 500, 1000, 2000]
FEW_LENGTHS = [n for n in LENGTHS if n <= 60 or n % 20 == 1 or n > 300]  # where descriptors are short
CLONE_NEWNET = 0x40000000
PAYLOAD = b"GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n"


# ---- a place from which no address can be reached


@contextlib.contextmanager
def nowhere():
    """This thread, and what it starts, in a network namespace with nothing but loopback: stream ciphers turn noise into
    addresses. OSError where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    home = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
    try:
        check(libc.unshare(CLONE_NEWNET))
        try:
            with socket.socket() as sock:  # SIOCSIFFLAGS: IFF_UP
                fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 1))
            yield
        finally:
            check(libc.setns(home, CLONE_NEWNET))
    finally:
        os.close(home)


# ---- the time that a server waits


def handshake_time(key):
    """Seconds from accept until a server with this key closes a silent connection: HKDF-SHA1, no salt."""
    secret = hmac.new(bytes(20), key, hashlib.sha1).digest()
    out = hmac.new(secret, b"handshake time\x01", hashlib.sha1).digest()
    return SHORTEST + int.from_bytes(out[:4], "big") % 60_000 / 1000


def short_wait(candidates, key_of):
    """The first of the candidates whose key makes a server wait hardly longer than the least."""
    return next(c for c in candidates if handshake_time(key_of(c)) < SHORTEST + 0.5)


def raw_keys(size):
    return (hashlib.sha512(b"key %d" % i).digest()[:size] for i in itertools.count())


def text_of(key):
    return base64.b64encode(key).decode()


# ---- the families


def addresses(good):
    """{what: plaintext that opens to no target}; `good` is the address of one."""
    return {
        "address type 0": b"\x00" + good[1:] + PAYLOAD, "address type 2": b"\x02" + good[1:] + PAYLOAD,
        "address type 0x11": b"\x11" + good[1:] + PAYLOAD, "address type 5": b"\x05" + good[1:] + PAYLOAD,
        "address type 255": b"\xff" + good[1:] + PAYLOAD,
        "empty name": b"\x03\x00\x00\x50" + PAYLOAD, "name with NUL": sip004.name_header(b"a\0b", 80) + PAYLOAD,
        "name of hyphens": sip004.name_header("-.-", 80) + PAYLOAD,
        "name in UTF-8": sip004.name_header("ü", 80) + PAYLOAD,
        "name that begins with a dot": sip004.name_header(".test", 80) + PAYLOAD,
        "label of 64": sip004.name_header("a" * 64, 80) + PAYLOAD,
        "name with CR LF": sip004.name_header("a\r\nb", 80) + PAYLOAD,
    }


class Family:
    """A method and what to configure for it. seen: bytes at the beginning of a request by which a replay is known."""

    def __init__(self, method, seen):
        self.method, self.seen = method, seen
        self.password = short_wait((f"password {i}" for i in itertools.count()), self.key_of)
        self.config = {"method": method, "password": self.password}
        self.time = handshake_time(self.key_of(self.password))

    def __str__(self):
        return self.method

    def key_of(self, password):
        return sip004.master_key(password, self.key_size)

    def malformed(self, address):
        return {what: self.sealed(plain) for what, plain in addresses(address).items()}


class Stream(Family):
    """Nothing is proved here. What opens to an address that leads nowhere is a probe, too."""

    def __init__(self, method):
        self.key_size, seen, _ = streams.METHODS.get(method, (16, 0, None))
        self.key_size = self.key_size or 16
        super().__init__(method, seen)
        self.speaks = method in streams.METHODS

    def request(self, address, payload=PAYLOAD):
        return self.sealed(address + payload)

    def sealed(self, plain):
        up = streams.Direction(self.method, self.password)
        return up.iv + up.update(plain)

    def opened(self, request, wire):
        return streams.opened(self.method, self.password, wire)

    def malformed(self, address):
        return super().malformed(address) | {
            "half an address": self.sealed(address[:4]),
            "refused": self.sealed(sip004.header("127.0.0.1", 9) + PAYLOAD),
            "no route": self.sealed(sip004.header("192.0.2.1", 80) + PAYLOAD),
            "no route, IPv6": self.sealed(sip004.header("2001:db8::1", 80) + PAYLOAD),
            "port 0": self.sealed(sip004.header("127.0.0.1", 0) + PAYLOAD),
            "no such name": self.sealed(sip004.header("nowhere.test", 80) + PAYLOAD),
        }


class Aead(Family):
    def __init__(self, method):
        self.key_size, self.speaks = sip004.METHODS[method], True
        super().__init__(method, self.key_size)

    def request(self, address, payload=PAYLOAD):
        return self.sealed(address + payload)

    def sealed(self, plain, length=None):
        up = sip004.Sealer(self.method, self.password)
        return up.salt + up.chunk(plain, length)

    def opened(self, request, wire):
        return sip004.Opener(self.method, self.password).feed(wire)

    def malformed(self, address):
        plain = address + PAYLOAD
        return super().malformed(address) | {
            "length above the limit": self.sealed(plain, 0x4000 | len(plain)),
            "length 0x4000": self.sealed(b"", 0x4000),
            "length too small": self.sealed(plain, 3), "length too large": self.sealed(plain, 0x3FFF),
            "half an address": self.sealed(address[:4]), "empty chunk": self.sealed(b""),
            "another password": sip004.request(self.method, "another", "127.0.0.1", 9, PAYLOAD)[0],
        }


class Sip022(Family):
    """users: with an identity header."""

    def __init__(self, method, users=False):
        self.key_size, self.speaks = (16 if "128" in method else 32), method in sip022.METHODS
        self.users = users
        self.method, self.seen = method, self.key_size
        self.key = short_wait(raw_keys(self.key_size), bytes)
        self.keys = (self.key, b"u" * self.key_size) if users else (self.key,)
        self.config = {"method": method, "password": text_of(self.key)}
        if users:
            self.config["users"] = [{"name": "u", "password": text_of(self.keys[1])}]
        self.time = handshake_time(self.key)

    def __str__(self):
        return self.method + " users" * self.users

    def request(self, address, payload=PAYLOAD):
        return self.sealed(sip022.variable(address, payload))

    def sealed(self, text, keys=None, **odd):
        return sip022.request(self.method, keys or self.keys, text, **odd)[0]

    def opened(self, request, wire):
        return sip022.answer(self.method, self.keys[-1], request[: self.key_size], wire)

    def malformed(self, address):
        good, other = sip022.variable(address, PAYLOAD), b"o" * self.key_size
        first_read = self.key_size + 16 * self.users + sip022.FIXED_BOX
        wrong = {
            what: self.sealed(sip022.variable(plain)) for what, plain in addresses(address).items()
        } | {
            "padding 0 without payload": self.sealed(sip022.variable(address)),
            "padding past the end": self.sealed(sip022.variable(address, b"", 20, 256)),
            "padding length past the end": self.sealed(address + b"\0"),
            "no padding length": self.sealed(address), "half an address": self.sealed(address[:4]),
            "VLEN 0": self.sealed(b""), "VLEN too small": self.sealed(good, length=len(good) - 1),
            "VLEN too large": self.sealed(good, length=len(good) + 1), "VLEN 65535": self.sealed(good, length=65535),
            "31 s old": self.sealed(good, ahead=-31), "40 s ahead": self.sealed(good, ahead=40),
            "an hour old": self.sealed(good, ahead=-3600), "before all time": self.sealed(good, ahead=-(1 << 30)),
            "type 1": self.sealed(good, kind=1), "type 255": self.sealed(good, kind=255),
            "another key": self.sealed(good, (*self.keys[:-1], other)),
            "cut in the fixed header": self.sealed(good)[: first_read - 1],
            "cut behind the fixed header": self.sealed(good)[:first_read],
            "cut in the variable header": self.sealed(good)[:-1],
        }
        if self.users:
            wrong |= {
                "user of another server": self.sealed(good, (other, self.keys[1])),
                "no identity header": self.sealed(good, self.keys[1:]),
                "the server's own key": self.sealed(good, self.keys[:1]),
                "two identity headers": self.sealed(good, (self.keys[0], *self.keys)),
            }
        return wrong


FAMILIES = {str(family): family for family in (
    *map(Stream, ("rc4-md5-6", "chacha20", "bf-cfb", "chacha20-ietf", "rc4-md5", "aes-256-cfb", "aes-128-ctr",
                  "xchacha20", "rc4", "table", "none")),
    *map(Aead, sip004.METHODS),
    *map(Sip022, (*sip022.METHODS, "2022-blake3-chacha12-poly1305", "2022-blake3-chacha8-poly1305")),
    Sip022("2022-blake3-aes-128-gcm", True), Sip022("2022-blake3-aes-256-gcm", True),
)}


# ---- the probes


def changed(wire, *places):
    wire = bytearray(wire)
    for at in places:
        wire[at] ^= random.randrange(1, 256)
    return bytes(wire)


def replays(recorded):
    """The replays that the study names, and later ones."""
    return {
        "R1, an exact replay": recorded, "R1 again": recorded,
        "R2, byte 0 changed": changed(recorded, 0),
        "R3, bytes 0-7, 62-63 changed": changed(recorded, *range(8), 62, 63),
        "R4, byte 16 changed": changed(recorded, 16),
        "R5, bytes 6, 16 changed": changed(recorded, 6, 16),
        **{f"byte {at} changed": changed(recorded, at) for at in range(16, 33)},
        "bytes 16-32 changed": changed(recorded, *range(16, 33)), "last byte changed": changed(recorded, -1),
        "a replay and more": recorded + os.urandom(200), "half a replay": recorded[: len(recorded) // 2],
    }


def record(family, server, target):
    """A request that was served, as a prober on the path has it."""
    request = family.request(sip004.header(target.host, target.port))
    with kit.connect(server.port) as sock:
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        assert family.opened(request, kit.read_all(sock)) == PAYLOAD, family
    return request


def probes(family, server, target, lengths=LENGTHS):
    """{what: bytes} for a running server of the family."""
    wanted = {f"{length} random bytes": os.urandom(length) for length in lengths}
    if family.speaks:
        recorded = record(family, server, target)
        wanted |= family.malformed(sip004.header(target.host, target.port))
        if family.seen:  # without an IV there is nothing by which a replay could be known
            wanted |= replays(recorded)
    return wanted


# ---- watching


class Watch:
    """Many connections at once, and what the servers do to each."""

    def __init__(self):
        self.selector, self.seen, self.began = selectors.DefaultSelector(), {}, {}
        self.clock, self.socks = kit.Clock(), {}

    def add(self, what, sock):
        sock.setblocking(False)
        self.began.setdefault(what, self.clock())
        self.socks[what] = sock
        self.selector.register(sock, selectors.EVENT_READ, what)

    def run(self, until):
        """Note (seconds since began, "data", "fin" or "rst") of whatever happens, until all happened or the time."""
        while (left := until - self.clock()) > 0 and len(self.seen) < len(self.socks):
            for key, _ in self.selector.select(min(left, 0.5)):
                try:
                    kind = "data" if key.fileobj.recv(100) else "fin"
                except ConnectionError:
                    kind = "rst"
                self.seen[key.data] = (self.clock() - self.began[key.data], kind)
                self.selector.unregister(key.fileobj)
        return self.seen

    def close(self):
        for sock in self.socks.values():
            sock.close()
        self.selector.close()
