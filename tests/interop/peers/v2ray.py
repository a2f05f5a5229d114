"""v2ray, the distribution's: AEAD methods, and none of aes-192."""
from .peer import Peer


def config(inbound, outbound):
    return ["/usr/bin/v2ray"], {
        "log": {"loglevel": "info"},
        "inbounds": [{"listen": "127.0.0.1", **inbound}],
        "outbounds": [outbound],
    }


class V2ray(Peer):
    name, version = "v2ray", "4.34.0"
    programs = ("/usr/bin/v2ray",)
    methods = ["aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "none", "plain"]

    def local(self, port, server_port, method, password):
        server = {"address": "127.0.0.1", "port": server_port, "method": method, "password": password}
        return config(
            {"port": port, "protocol": "socks", "settings": {"auth": "noauth", "udp": False}},
            {"protocol": "shadowsocks", "settings": {"servers": [server]}},
        )

    def tunnel(self, port, server_port, method, password, target):
        argv, told = self.local(port, server_port, method, password)
        told["inbounds"][0].update(
            protocol="dokodemo-door", settings={"address": "127.0.0.1", "port": target, "network": "tcp,udp"})
        return argv, told

    def server(self, port, method, password, users=()):
        return config(
            {"port": port, "protocol": "shadowsocks",
             "settings": {"method": method, "password": password, "network": "tcp,udp"}},
            {"protocol": "freedom"},
        )
