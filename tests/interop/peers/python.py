"""The Python shadowsocks of 2015, started through python_launcher.py. It has stream methods only.

Its server refuses targets on loopback unless some other address is the forbidden one.
"""
import pathlib

from .peer import CACHE, Peer, family

PYTHON = CACHE / "shadowsocks-python" / "bin" / "python"
LAUNCHER = pathlib.Path(__file__).with_name("python_launcher.py")


class Python(Peer):
    name, version = "shadowsocks-python", "2.8.2"
    programs = (PYTHON,)
    methods = [
        "table", "rc4", "rc4-md5", *family("aes-{}-cfb"), *family("aes-{}-cfb1"), *family("aes-{}-cfb8"),
        *family("aes-{}-ofb"), *family("aes-{}-ctr"), *family("camellia-{}-cfb"), "bf-cfb", "salsa20", "chacha20",
    ]

    def local(self, port, server_port, method, password):
        return [PYTHON, LAUNCHER, "local"], {
            "server": "127.0.0.1", "server_port": server_port, "local_address": "127.0.0.1", "local_port": port,
            "method": method, "password": password,
        }

    def server(self, port, method, password, users=()):
        return [PYTHON, LAUNCHER, "server", "--forbidden-ip", "10.255.255.255"], {
            "server": "127.0.0.1", "server_port": port, "method": method, "password": password,
        }
