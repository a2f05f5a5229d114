"""sing-box: everything in one JSON file. Its server has none of the stream methods, its client some."""
from .peer import CACHE, Peer, family

PROGRAM = CACHE / "sing-box" / "sing-box"


def config(inbound, outbound):
    """A name is asked of the machine's resolver."""
    return [PROGRAM, "run"], {
        "log": {"level": "info"},
        "dns": {"servers": [{"type": "local", "tag": "machine"}]},
        "route": {"default_domain_resolver": "machine"},
        "inbounds": [{"listen": "127.0.0.1", **inbound}],
        "outbounds": [outbound],
    }


class SingBox(Peer):
    name, version = "sing-box", "1.14.1"
    programs = (PROGRAM,)
    setup = "sh dist/setup.sh interop"
    users = family("2022-blake3-aes-{}-gcm", 128, 256)
    methods = [
        *users, "2022-blake3-chacha20-poly1305",
        *family("aes-{}-gcm"), "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305", "none",
    ]
    only = {
        "local": ["rc4-md5", *family("aes-{}-cfb"), *family("aes-{}-ctr"), "chacha20-ietf", "xchacha20"],
        "server": (),
    }

    def local(self, port, server_port, method, password):
        return config(
            {"type": "mixed", "listen_port": port},
            {"type": "shadowsocks", "server": "127.0.0.1", "server_port": server_port,
             "method": method, "password": password},
        )

    def tunnel(self, port, server_port, method, password, target):
        argv, told = self.local(port, server_port, method, password)
        told["inbounds"] = [{
            "type": "direct", "listen": "127.0.0.1", "listen_port": port,
            "override_address": "127.0.0.1", "override_port": target,
        }]
        return argv, told

    def server(self, port, method, password, users=()):
        inbound = {"type": "shadowsocks", "listen_port": port, "method": method, "password": password}
        if users:
            inbound["users"] = [{"name": name, "password": key} for name, key in users]
        return config(inbound, {"type": "direct"})
