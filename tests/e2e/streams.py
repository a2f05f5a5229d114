"""The other end of the wire, in Python: stream ciphers, written apart from the programs."""
import hashlib
import os
import warnings

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sip004 import hchacha20, header, master_key

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they are deprecated, which is why they are here
    ARC4, CFB, CFB8, OFB = algorithms.ARC4, modes.CFB, modes.CFB8, modes.OFB
    BLOWFISH, CAMELLIA = algorithms.Blowfish, algorithms.Camellia


def _arc4_md5(key, iv):
    return Cipher(ARC4(hashlib.md5(key + iv).digest()), None)


def _block(algorithm, mode):
    return lambda key, iv: Cipher(algorithm(key), mode(iv))


def _chacha(key, iv):
    return Cipher(algorithms.ChaCha20(key, bytes(16 - len(iv)) + iv), None)


def _xchacha(key, iv):
    return Cipher(algorithms.ChaCha20(hchacha20(key, iv[:16]), bytes(8) + iv[16:]), None)


METHODS = {  # method: (bytes of key, of IV, cipher); all that the library at hand has
    "rc4": (16, 0, lambda key, iv: Cipher(ARC4(key), None)),
    "rc4-md5": (16, 16, _arc4_md5),
    "rc4-md5-6": (16, 6, _arc4_md5),
    **{f"aes-{8 * n}-{name}": (n, 16, _block(algorithms.AES, mode)) for n in (16, 24, 32)
       for name, mode in (("cfb", CFB), ("cfb8", CFB8), ("ofb", OFB), ("ctr", modes.CTR))},
    **{f"camellia-{8 * n}-cfb": (n, 16, _block(CAMELLIA, CFB)) for n in (16, 24, 32)},
    "bf-cfb": (16, 8, _block(BLOWFISH, CFB)),
    "chacha20": (32, 8, _chacha),
    "chacha20-ietf": (32, 12, _chacha),
    "xchacha20": (32, 24, _xchacha),
    "none": (0, 0, None),
}


class Direction:
    """One direction; .iv goes first. Without an IV that is given it is an own one."""

    def __init__(self, method, password, opens=False, iv=None):
        size, self.iv_size, make = METHODS[method]
        self.iv = os.urandom(self.iv_size) if iv is None else iv
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cipher = make and make(master_key(password, size), self.iv)
            self.context = cipher and (cipher.decryptor() if opens else cipher.encryptor())

    def update(self, data):
        return self.context.update(data) if self.context else data


def request(method, password, host, port, payload=b"", iv=None):
    """The first flight of a client: (its bytes, the Direction for what follows)."""
    up = Direction(method, password, iv=iv)
    return up.iv + up.update(header(host, port) + payload), up


def opened(method, password, wire):
    """The plaintext of a whole direction."""
    iv_size = METHODS[method][1]
    return Direction(method, password, True, wire[:iv_size]).update(wire[iv_size:])
