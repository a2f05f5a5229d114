"""blinksocks: presets in a JSON file. Its rc4 is one of those that OpenSSL 3 in Node keeps aside.

It refuses chacha20-ietf on every Node but 10, whose OpenSSL it knew.
"""
from .peer import CACHE, Peer, family

SCRIPT = CACHE / "blinksocks" / "node_modules" / "blinksocks" / "bin" / "start.js"


class Blinksocks(Peer):
    name, version = "blinksocks", "3.3.0"
    programs, needs = (SCRIPT,), ("node",)
    env = {"NODE_OPTIONS": "--openssl-legacy-provider"}
    stream = [
        "rc4-md5", "rc4-md5-6", *family("aes-{}-cfb"), *family("aes-{}-ctr"), *family("camellia-{}-cfb"), "none",
    ]
    aead = [*family("aes-{}-gcm"), "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305"]
    methods = stream + aead

    def service(self, port, method, password):
        kind = "ss-aead-cipher" if method in self.aead else "ss-stream-cipher"
        return {
            "service": f"tcp://127.0.0.1:{port}", "key": password,
            "presets": [{"name": "ss-base"}, {"name": kind, "params": {"method": method}}],
        }

    def local(self, port, server_port, method, password):
        return ["node", SCRIPT], {
            "service": f"socks5://127.0.0.1:{port}", "server": self.service(server_port, method, password),
        }

    def tunnel(self, port, server_port, method, password, target):
        argv, config = self.local(port, server_port, method, password)
        return argv, {**config, "service": f"tcp://127.0.0.1:{port}?forward=127.0.0.1:{target}"}

    def server(self, port, method, password, users=()):
        return ["node", SCRIPT], self.service(port, method, password)
