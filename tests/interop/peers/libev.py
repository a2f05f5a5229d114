"""shadowsocks-libev, the distribution's: our names, so it is called by its path."""
from .peer import Peer, family


class Libev(Peer):
    name, version = "shadowsocks-libev", "3.3.5"
    programs = ("/usr/bin/ss-local", "/usr/bin/ss-server")
    methods = [
        *family("aes-{}-gcm"), "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305",
        "rc4", "rc4-md5", *family("aes-{}-cfb"), *family("aes-{}-ctr"), *family("camellia-{}-cfb"),
        "bf-cfb", "salsa20", "chacha20", "chacha20-ietf",
    ]

    def local(self, port, server_port, method, password):
        return [self.programs[0]], {
            "server": "127.0.0.1", "server_port": server_port, "local_address": "127.0.0.1", "local_port": port,
            "method": method, "password": password, "timeout": 60,
        }

    def tunnel(self, port, server_port, method, password, target):
        _, config = self.local(port, server_port, method, password)
        return ["/usr/bin/ss-tunnel", "-L", f"127.0.0.1:{target}"], config

    def server(self, port, method, password, users=()):
        return [self.programs[1]], {
            "server": "127.0.0.1", "server_port": port, "method": method, "password": password, "timeout": 60,
        }
