"""shadowsocks-js. Its rc4-md5 leaves out the MD5 and can talk to nobody else, so it does not count.

Its local also serves a PAC file, on a port of its own.
"""
import kit

from .peer import CACHE, Peer, family

BIN = CACHE / "shadowsocks-js" / "node_modules" / "shadowsocks-js" / "bin"


class ShadowsocksJs(Peer):
    name, version = "shadowsocks-js", "1.4.1"
    programs, needs = (BIN / "localssjs", BIN / "serverssjs"), ("node",)
    env = {"NODE_OPTIONS": "--openssl-legacy-provider"}
    methods = ["rc4", *family("aes-{}-cfb"), *family("camellia-{}-cfb"), "bf-cfb"]

    def local(self, port, server_port, method, password):
        return [
            "node", BIN / "localssjs", "-s", "127.0.0.1", "-p", server_port, "-l", "127.0.0.1", "-b", port,
            "-m", method, "-k", password, "--pac_port", kit.free_port(),
        ], None

    def server(self, port, method, password, users=()):
        return ["node", BIN / "serverssjs", "-s", "127.0.0.1", "-p", port, "-m", method, "-k", password], None
