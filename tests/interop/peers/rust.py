"""shadowsocks-rust, built with all its ciphers (dist/peers.sh). It has no aes-192-gcm.

It does not look for users at the top level of its file.
"""
from .peer import CACHE, Peer, family

BIN = CACHE / "shadowsocks-rust" / "bin"


class Rust(Peer):
    name, version = "shadowsocks-rust", "1.25.0"
    programs = (BIN / "sslocal", BIN / "ssserver")
    setup = "sh dist/setup.sh interop"
    users = family("2022-blake3-aes-{}-gcm", 128, 256)
    methods = [
        *users, *family("2022-blake3-chacha{}-poly1305", 20, 8),
        *family("aes-{}-gcm", 128, 256), "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305",
        "rc4", "rc4-md5", *family("aes-{}-cfb"), *family("aes-{}-cfb1"), *family("aes-{}-cfb8"), *family("aes-{}-ofb"),
        *family("aes-{}-ctr"), *family("camellia-{}-cfb"), "chacha20-ietf", "table", "none", "plain",
    ]

    def local(self, port, server_port, method, password):
        return [BIN / "sslocal", "--single-threaded"], {
            "server": "127.0.0.1", "server_port": server_port, "local_address": "127.0.0.1", "local_port": port,
            "method": method, "password": password,
        }

    def tunnel(self, port, server_port, method, password, target):
        argv, config = self.local(port, server_port, method, password)
        del config["local_address"], config["local_port"]
        config["locals"] = [{
            "protocol": "tunnel", "local_address": "127.0.0.1", "local_port": port,
            "forward_address": "127.0.0.1", "forward_port": target,
        }]
        return argv, config

    def server(self, port, method, password, users=()):
        config = {"server": "127.0.0.1", "server_port": port, "method": method, "password": password}
        if users:
            config["users"] = [{"name": name, "password": key} for name, key in users]
        return [BIN / "ssserver", "--single-threaded"], {"servers": [config]}
