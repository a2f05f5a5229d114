"""What every pair has to carry: random bytes up, others down, then the end."""
import base64
import hashlib
import os

import kit

SIZE = 256 << 10


def key_for(method):
    """A password, or for SIP022 a key of the method's size."""
    if not method.startswith("2022-"):
        return "correct horse battery"
    return base64.b64encode(os.urandom(16 if "aes-128" in method else 32)).decode()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def check(stage, local_port, by_name):
    """One connection through a local. The target is on 127.0.0.1 and, asked for by name, on ::1 too."""
    up, down = os.urandom(SIZE), os.urandom(SIZE)

    def talk(conn):
        received = kit.read(conn, SIZE)
        conn.sendall(down)
        return digest(received)

    target = stage.target(talk)
    if by_name:
        stage.add(kit.Target(talk, host="::1", port=target.port)).results = target.results
    sock = stage.add(kit.socks(local_port, "localhost" if by_name else "127.0.0.1", target.port, timeout=60))
    sock.sendall(up)
    assert digest(kit.read(sock, SIZE)) == digest(down), "what came down is not what was sent"
    assert target.result(60) == digest(up), "what came up is not what was sent"
    rest, end = kit.ending(sock, 60)
    assert rest == b"" and end != "open", f"after the target's end: {rest[:40]!r}, {end}"
