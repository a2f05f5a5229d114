"""The other end of the wire, in Python: SIP004 streams, written
apart from the programs.

A test is a client of ss-server or the server of ss-local with it, and sees every salt, chunk and
length.
"""

import hashlib
import hmac
import os
import socket
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

METHODS = {  # method: bytes of key and salt
    "aes-128-gcm": 16,
    "aes-192-gcm": 24,
    "aes-256-gcm": 32,
    "chacha20-ietf-poly1305": 32,
    "xchacha20-ietf-poly1305": 32,
}
TAG = 16
LENGTH_BOX = 2 + TAG
CHUNK_MAX = 0x3FFF
Forged = InvalidTag


def master_key(password, size):
    """EVP_BytesToKey with MD5, one round, no salt."""
    password = password.encode() if isinstance(password, str) else password
    key = last = b""
    while len(key) < size:
        last = hashlib.md5(last + password).digest()
        key += last
    return key[:size]


def session_key(master, salt):
    """HKDF-SHA1 with info "ss-subkey", as long as the master key."""
    secret = hmac.new(salt, master, hashlib.sha1).digest()
    key = last = b""
    while len(key) < len(master):
        last = hmac.new(
            secret, last + b"ss-subkey" + bytes([len(key) // 20 + 1]), hashlib.sha1
        ).digest()
        key += last
    return key[: len(master)]


def hchacha20(key, nonce):
    """Twenty rounds of ChaCha without the final addition: the key of XChaCha20 for a 16-byte nonce."""
    state = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))

    def quarter(a, b, c, d):
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            mixed = state[z] ^ state[x]
            state[z] = (mixed << turn | mixed >> (32 - turn)) & 0xFFFFFFFF

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for i in range(4):
            quarter(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return struct.pack("<8I", *state[:4], *state[12:])


class Cipher:
    """One direction of one connection: a session key and a counter that is the nonce."""

    def __init__(self, method, password, salt):
        self.key = session_key(master_key(password, METHODS[method]), salt)
        self.extended = method.startswith("xchacha20")
        self.box = (ChaCha20Poly1305 if "chacha20" in method else AESGCM)(self.key)
        self.count = 0

    def _next(self):
        number, self.count = self.count, self.count + 1
        if not self.extended:
            return self.box, number.to_bytes(12, "little")
        nonce = number.to_bytes(24, "little")
        return ChaCha20Poly1305(hchacha20(self.key, nonce[:16])), bytes(4) + nonce[16:]

    def seal(self, plain):
        box, nonce = self._next()
        return box.encrypt(nonce, plain, None)

    def open(self, sealed):
        box, nonce = self._next()
        return box.decrypt(nonce, sealed, None)


class Sealer:
    """Makes one direction: .salt goes first, then chunks."""

    def __init__(self, method, password, salt=None):
        self.salt = os.urandom(METHODS[method]) if salt is None else salt
        self.cipher = Cipher(method, password, self.salt)

    def chunk(self, payload, length=None):
        length = len(payload) if length is None else length
        return self.cipher.seal(struct.pack("!H", length)) + self.cipher.seal(payload)

    def chunks(self, payload):
        return b"".join(
            self.chunk(payload[i : i + CHUNK_MAX]) for i in range(0, len(payload), CHUNK_MAX)
        )


class Opener:
    """Takes one direction as it comes; feed() returns the payload that became whole, .sizes is
    every length seen.
    """

    def __init__(self, method, password):
        self.method, self.password = method, password
        self.cipher = self.length = self.salt = None
        self.held = bytearray()
        self.sizes = []

    def feed(self, data):
        self.held += data
        opened = []
        while (box := self._whole()) is not None:
            if self.cipher is None:
                self.salt, self.cipher = box, Cipher(self.method, self.password, box)
            elif self.length is None:
                (self.length,) = struct.unpack("!H", self.cipher.open(box))
                self.sizes.append(self.length)
            else:
                opened.append(self.cipher.open(box))
                self.length = None
        return b"".join(opened)

    def _whole(self):
        need = (
            METHODS[self.method]
            if self.cipher is None
            else LENGTH_BOX if self.length is None else self.length + TAG
        )
        if len(self.held) < need:
            return None
        box = bytes(self.held[:need])
        del self.held[:need]
        return box

    @property
    def between_chunks(self):
        return not self.held and self.length is None


def header(host, port):
    """The address header: a literal as type 1 or 4, everything else (and bytes) as a name."""
    for kind, family in ((1, socket.AF_INET), (4, socket.AF_INET6)):
        try:
            return bytes([kind]) + socket.inet_pton(family, host) + struct.pack("!H", port)
        except (OSError, TypeError):
            continue
    return name_header(host, port)


def name_header(name, port):
    name = name.encode() if isinstance(name, str) else name
    return b"\x03" + bytes([len(name)]) + name + struct.pack("!H", port)


def read_header(plain):
    """(host, port, what follows), or None if the header is not whole yet."""
    if len(plain) < 2:
        return None
    start, size = {1: (1, 4), 4: (1, 16), 3: (2, plain[1])}[plain[0]]
    if len(plain) < start + size + 2:
        return None
    host = plain[start : start + size]
    host = (
        host.decode()
        if plain[0] == 3
        else socket.inet_ntop({1: socket.AF_INET, 4: socket.AF_INET6}[plain[0]], host)
    )
    (port,) = struct.unpack_from("!H", plain, start + size)
    return host, port, plain[start + size + 2 :]


def request(method, password, host, port, payload=b"", salt=None):
    """The first flight of a client in one chunk: (its bytes, the Sealer for what follows)."""
    sealer = Sealer(method, password, salt)
    return sealer.salt + sealer.chunk(header(host, port) + payload), sealer


class Peer:
    """A connected socket that speaks SIP004 both ways: as a client after open(), as a server after
    accept_header().
    """

    def __init__(self, sock, method, password):
        self.sock = sock
        self.sealer, self.opener = Sealer(method, password), Opener(method, password)
        self.unsent = self.sealer.salt
        self.opened = b""

    def send(self, payload):
        self.sock.sendall(self.unsent + self.sealer.chunks(payload))
        self.unsent = b""

    def open(self, host, port, payload=b""):
        self.send(header(host, port) + payload)
        return self

    def some(self):
        """What is opened already, or the next payload; b"" at the end of the stream."""
        while not self.opened:
            data = self.sock.recv(1 << 16)
            if not data:
                return b""
            self.opened = self.opener.feed(data)
        payload, self.opened = self.opened, b""
        return payload

    def read(self, size):
        payload = b""
        while len(payload) < size:
            more = self.some()
            if not more:
                raise EOFError(f"{len(payload)} of {size} bytes")
            payload += more
        payload, self.opened = payload[:size], payload[size:] + self.opened
        return payload

    def read_all(self):
        return b"".join(iter(self.some, b""))

    def accept_header(self):
        """(host, port) that the client asks for; the payload behind it stays to be read."""
        plain = b""
        while not (found := read_header(plain)):
            more = self.some()
            if not more:
                raise EOFError("no whole address header")
            plain += more
        host, port, self.opened = found
        return host, port
