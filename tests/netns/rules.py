"""Rules as an administrator writes them by hand on the router, with nft or with iptables: TCP by REDIRECT or TPROXY, UDP
by TPROXY, of what comes in from the LAN; and of what the router itself sends, except what is marked."""

MARK = 0x53530000  # of what ss-redir sends
TO_US, TABLE = 1, 100  # packets with that mark are delivered to this machine


def deliver(router):
    """What TPROXY has marked comes to us, wherever it is bound for."""
    for family, everything in ("-4", "0.0.0.0/0"), ("-6", "::/0"):
        router.ip(family, "rule", "add", "fwmark", TO_US, "lookup", TABLE)
        router.ip(family, "route", "replace", "local", everything, "dev", "lo", "table", TABLE)


class Nft:
    """nftables."""

    name = "nft"

    def __init__(self, router):
        self.router = router

    def _load(self, name, hook, *rules):
        text = f"table inet ss_{name} {{\n\tchain one {{\n\t\ttype {hook};\n\t\t" + "\n\t\t".join(rules) + "\n\t}\n}\n"
        self.router.run("nft", "-f", "-", text=text)

    def redirect(self, port, interface="lan"):
        self._load("redirect", "nat hook prerouting priority dstnat",
                   f"iifname {interface} meta l4proto tcp redirect to :{port}")

    def redirect_own(self, port, to, spare=True):
        """What the router itself sends to this address."""
        mark = f"meta mark != {MARK} " if spare else ""
        family = "ip6" if ":" in to else "ip"
        self._load("own", "nat hook output priority -100", f"{mark}{family} daddr {to} meta l4proto tcp redirect to :{port}")

    def tproxy(self, protocol, port, interface="lan"):
        lan = f"iifname {interface} meta l4proto {protocol}"
        settled = [f"{lan} socket transparent 1 meta mark set {TO_US} accept"] if protocol == "tcp" else []
        self._load(f"tproxy_{protocol}", "filter hook prerouting priority mangle", *settled,
                   f"{lan} meta nfproto ipv4 tproxy ip to :{port} meta mark set {TO_US} accept",
                   f"{lan} ip6 daddr != fe80::/10 tproxy ip6 to :{port} meta mark set {TO_US} accept")
        deliver(self.router)

    def tproxy_own(self, protocol, port, to):
        """What the router itself sends to this address, marked or not."""
        family = "ip6" if ":" in to else "ip"
        self._load("own", "route hook output priority mangle",
                   f"{family} daddr {to} meta l4proto {protocol} meta mark set {TO_US}")
        self._load("own_in", "filter hook prerouting priority mangle",
                   f"iifname lo {family} daddr {to} meta l4proto {protocol} tproxy {family} to :{port} accept")
        deliver(self.router)


class Iptables:
    """iptables and ip6tables."""

    name = "iptables"

    def __init__(self, router):
        self.router = router

    def _add(self, table, chain, *rule, only=("iptables", "ip6tables")):
        for program in only:
            self.router.run(program, "-w", "-t", table, "-A", chain, *rule)

    def redirect(self, port, interface="lan"):
        self._add("nat", "PREROUTING", "-i", interface, "-p", "tcp", "-j", "REDIRECT", "--to-ports", port)

    def redirect_own(self, port, to, spare=True):
        mark = ["-m", "mark", "!", "--mark", MARK] if spare else []
        self._add("nat", "OUTPUT", "-d", to, "-p", "tcp", *mark, "-j", "REDIRECT", "--to-ports", port,
                  only=("ip6tables",) if ":" in to else ("iptables",))

    def tproxy(self, protocol, port, interface="lan"):
        lan = ["-i", interface, "-p", protocol]
        if protocol == "tcp":
            self._add("mangle", "PREROUTING", *lan, "-m", "socket", "--transparent", "-j", "MARK", "--set-mark", TO_US)
            self._add("mangle", "PREROUTING", *lan, "-m", "socket", "--transparent", "-j", "ACCEPT")
        turn = ["-j", "TPROXY", "--on-port", port, "--tproxy-mark", TO_US]
        self._add("mangle", "PREROUTING", *lan, *turn, only=("iptables",))
        self._add("mangle", "PREROUTING", *lan, "!", "-d", "fe80::/10", *turn, only=("ip6tables",))
        deliver(self.router)


BY_HAND = (Nft, Iptables)
