"""The client's end of the wire, in Python: requests of SIP022 and SIP023, written apart from the
programs. All that is hashed fits one block, so BLAKE3 is one compression here.
"""
import os
import struct
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

METHODS = {  # method: (bytes of key and salt, box); the reduced ChaChas are not in the library at hand
    "2022-blake3-aes-128-gcm": (16, AESGCM),
    "2022-blake3-aes-256-gcm": (32, AESGCM),
    "2022-blake3-chacha20-poly1305": (32, ChaCha20Poly1305),
}
TAG = 16
FIXED_BOX = 11 + TAG
Forged = InvalidTag

_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_CORNERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
_WHOLE = 1 | 2 | 8  # start and end of the only chunk, and the root
_CONTEXT, _MATERIAL = 32, 64


def _compress(chain, data, mode):
    """32 bytes out of at most 64."""
    assert len(data) <= 64
    words = struct.unpack("<16I", data.ljust(64, b"\0"))
    v = [*chain, *_IV[:4], 0, 0, len(data), _WHOLE | mode]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(_CORNERS):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & 0xFFFFFFFF
                v[d] = _right(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = _right(v[b] ^ v[c], second)
        words = [words[i] for i in _ORDER]
    return struct.pack("<8I", *(v[i] ^ v[i + 8] for i in range(8)))


def _right(word, n):
    return (word >> n | word << (32 - n)) & 0xFFFFFFFF


def blake3(data):
    return _compress(_IV, data, 0)


def _derive(what, material):
    context = _compress(_IV, f"shadowsocks 2022 {what} subkey".encode(), _CONTEXT)
    return _compress(struct.unpack("<8I", context), material, _MATERIAL)


class Direction:
    """Boxes of one direction, sealed or opened one after the other. .salt comes first."""

    def __init__(self, method, key, salt=None):
        size, box = METHODS[method]
        self.salt = os.urandom(size) if salt is None else salt
        self.aead, self.count = box(_derive("session", key + self.salt)[:size]), 0

    def _nonce(self):
        number, self.count = self.count, self.count + 1
        return number.to_bytes(12, "little")

    def seal(self, plain):
        return self.aead.encrypt(self._nonce(), plain, None)

    def open(self, box):
        return self.aead.decrypt(self._nonce(), box, None)

    def chunk(self, payload):
        return self.seal(struct.pack("!H", len(payload))) + self.seal(payload)


def identity(method, server_key, user_key, salt):
    """The identity header that tells the server whose key comes next."""
    key = _derive("identity", server_key + salt)[: METHODS[method][0]]
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(blake3(user_key)[:16])


def variable(address, payload=b"", padding=0, padding_length=None):
    length = padding if padding_length is None else padding_length
    return address + struct.pack("!H", length) + bytes(padding) + payload


def request(method, keys, text, kind=0, ahead=0, length=None, salt=None):
    """The first flight with this variable header: (its bytes, the Direction for what follows). keys: the server's, and
    the user's behind it if there are users."""
    up = Direction(method, keys[-1], salt)
    front = b"".join(identity(method, keys[i], keys[i + 1], up.salt) for i in range(len(keys) - 1))
    fixed = struct.pack("!BQH", kind, int(time.time()) + ahead, len(text) if length is None else length)
    return up.salt + front + up.seal(fixed) + up.seal(text), up


def reopened(method, key, wire):
    """(type, timestamp, length, variable header) of a request without identity headers; Forged if it is that."""
    size = METHODS[method][0]
    up = Direction(method, key, wire[:size])
    kind, stamp, length = struct.unpack("!BQH", up.open(wire[size : size + FIXED_BOX]))
    return kind, stamp, length, up.open(wire[size + FIXED_BOX : size + FIXED_BOX + length + TAG])


def answer(method, key, salt, wire):
    """The first payload of an answer to the request with this salt."""
    size = METHODS[method][0]
    down = Direction(method, key, wire[:size])
    head = 9 + size + 2 + TAG
    kind, _, echoed, length = struct.unpack(f"!BQ{size}sH", down.open(wire[size : size + head]))
    assert kind == 1 and echoed == salt
    return down.open(wire[size + head : size + head + length + TAG])
