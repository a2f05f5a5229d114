"""Datagrams for tests: targets and clients, and packets of SIP004, of stream ciphers and of SIP022,
written apart from the programs.
"""
import contextlib
import functools
import os
import queue
import socket
import struct
import threading
import time

import kit
import sip004
import sip022
import streams
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

QUIET = 0.3  # seconds in which something would have come


def udp(host="127.0.0.1", port=0, timeout=kit.PATIENCE):
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    kit.roomy(sock)
    sock.settimeout(timeout)
    sock.bind((host, port))
    return sock


class UdpTarget:
    """Sends every datagram back, unless answer(data, client) says otherwise; .seen has (data, client) of each."""

    def __init__(self, host="127.0.0.1", port=0, answer=None):
        self.sock = udp(host, port, timeout=None)
        self.host, self.port = self.sock.getsockname()[:2]
        self.answer = answer or (lambda data, client: [data])
        self.seen = queue.Queue()
        self.open = True
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while self.open:
            try:
                data, client = self.sock.recvfrom(70000)
                self.seen.put((data, client))
                for back in self.answer(data, client) or []:
                    self.sock.sendto(back, client)
            except OSError:
                continue

    def take(self, within=kit.PATIENCE):
        return self.seen.get(timeout=within)

    def silent(self, seconds=QUIET):
        with contextlib.suppress(queue.Empty):
            raise AssertionError(f"{self.seen.get(timeout=seconds)[0][:60]!r} came")

    def close(self):
        self.open = False
        with contextlib.suppress(OSError):
            udp(self.host).sendto(b"", (self.host, self.port))
        self.sock.close()


class Client:
    """An application with one socket, in front of ss-local (socks) or ss-tunnel."""

    def __init__(self, port, host="127.0.0.1", source=None, timeout=kit.PATIENCE):
        self.sock = udp(source or ("::1" if ":" in host else "127.0.0.1"), timeout=timeout)
        self.to = (host, port)

    def send(self, target, data, frag=0, to=None):
        """`target`: (host, port), or the head as it is."""
        head = target if isinstance(target, bytes) else sip004.header(*target[:2])
        self.sock.sendto(bytes([0, 0, frag]) + head + data, to or self.to)

    def receive(self):
        """(data, (host, port) it says it came from)."""
        data, came = self.sock.recvfrom(70000)
        assert came[:2] == self.to, came
        assert data[:3] == b"\0\0\0"
        host, port, rest = sip004.read_header(data[3:])
        return rest, (host, port)

    def ask(self, target, data, **options):
        self.send(target, data, **options)
        return self.receive()

    def echoes(self, target, data, host=None):
        """The target's echo, from the target."""
        where = (host or target.host, target.port)
        return self.ask(where, data) == (data, (target.host, target.port))

    def silent(self, seconds=QUIET):
        silent(self.sock, seconds)

    def close(self):
        self.sock.close()


def silent(sock, seconds=QUIET):
    before = sock.gettimeout()
    sock.settimeout(seconds)
    try:
        data = sock.recv(70000)
    except TimeoutError:
        return
    finally:
        sock.settimeout(before)
    raise AssertionError(f"{data[:60]!r} came")


def associate(stage, port, host="127.0.0.1", target=b"\1\0\0\0\0\0\0", login=None):
    """(TCP connection, address and port of the answer) of a UDP ASSOCIATE."""
    sock = stage.connect(port, host=host)
    if login:
        sock.sendall(b"\5\1\2")
        assert kit.read(sock, 2) == b"\5\2"
        user, password = (text.encode() for text in login)
        sock.sendall(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        assert kit.read(sock, 2) == b"\1\0"
    else:
        kit.greet(sock)
    sock.sendall(b"\5\3\0" + target)
    head = kit.read(sock, 4)
    assert head[:3] == b"\5\0\0", head
    size, family = {1: (4, socket.AF_INET), 4: (16, socket.AF_INET6)}[head[3]]
    return sock, (socket.inet_ntop(family, kit.read(sock, size)), struct.unpack("!H", kit.read(sock, 2))[0])


# ---- packets


def seal(method, password, text):
    """A packet of SIP004 or of a stream cipher; text: header and payload."""
    if method in sip004.METHODS:
        salt = os.urandom(sip004.METHODS[method])
        return salt + sip004.Cipher(method, password, salt).seal(text)
    up = streams.Direction(method, password)
    return up.iv + up.update(text)


def opened(method, password, packet):
    if method in sip004.METHODS:
        size = sip004.METHODS[method]
        return sip004.Cipher(method, password, packet[:size]).open(packet[size:])
    size = streams.METHODS[method][1]
    return streams.Direction(method, password, opens=True, iv=packet[:size]).update(packet[size:])


def block(key, data, decrypt=False):
    cipher = Cipher(algorithms.AES(key), modes.ECB())
    context = cipher.decryptor() if decrypt else cipher.encryptor()
    return context.update(data)


class Session:
    """One side of a SIP022 session of the AES methods. keys: the server's, and the user's behind it if it has users."""

    def __init__(self, method, keys, server=False, session=None):
        self.method, self.keys, self.server = method, keys, server
        self.size, self.box = sip022.METHODS[method]
        self.id = os.urandom(8) if session is None else session
        self.number = 0

    @functools.lru_cache(maxsize=64)  # a hash in Python takes milliseconds
    def _box(self, session, key):
        return self.box(sip022._derive("session", key + session)[: self.size])

    def seal(self, text, number=None, kind=None, ahead=0, padding=0, answers=b"", keys=None):
        """`text`: address and payload. keys: as if it were another user's packet."""
        if number is None:
            number, self.number = self.number, self.number + 1
        keys = keys or self.keys
        front = self.id + struct.pack("!Q", number)
        kind = int(self.server) if kind is None else kind
        body = struct.pack("!BQ", kind, int(time.time()) + ahead) + answers
        body += struct.pack("!H", padding) + bytes(padding) + text
        identities = b""
        if not self.server:
            for outer, inner in zip(keys, keys[1:]):
                hidden = bytes(a ^ b for a, b in zip(sip022.blake3(inner)[:16], front))
                identities += block(outer, hidden)
        key = keys[-1] if self.server else keys[0]
        return block(key, front) + identities + self._box(self.id, keys[-1]).encrypt(front[4:], body, None)

    def open(self, packet):
        """(session, number, session that is answered, host, port, payload) of an answer."""
        front = block(self.keys[-1], packet[:16], decrypt=True)
        body = self._box(front[:8], self.keys[-1]).decrypt(front[4:], packet[16:], None)
        kind, stamp, answered, padding = struct.unpack_from("!BQ8sH", body)
        assert kind == 1 and abs(stamp - time.time()) <= 30
        host, port, payload = sip004.read_header(body[19 + padding :])
        return front[:8], struct.unpack("!Q", front[8:])[0], answered, host, port, payload
