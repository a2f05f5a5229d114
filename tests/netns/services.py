"""What runs in the lab: targets that tell who came, and the programs, each on its machine."""
import contextlib
import socket
import threading

import kit
from dnsstub import DnsStub
from lab import PATIENCE, family_of

TARGET_PORT = 7007


class EchoTarget(kit.Target):
    """TCP, on the target machine; `sources` are the addresses of those who connected."""

    def __init__(self, lab, host, port=TARGET_PORT, handler=kit.echo):
        self.sources = []

        def served(conn):
            self.sources.append(conn.getpeername()[0])
            return handler(conn)

        with lab.target:
            super().__init__(served, host, port)

    def connect(self, machine, timeout=PATIENCE):
        """A connection from a machine, which sees this target as its peer."""
        sock = machine.socket(family_of(self.host), timeout=timeout)
        try:
            sock.connect((self.host, self.port))
            assert sock.getpeername()[:2] == (self.host, self.port)
        except BaseException:
            sock.close()
            raise
        return sock


class UdpEcho:
    """UDP, on the target machine: answers from where it was asked, or from `answer_from` too."""

    def __init__(self, lab, host, port=TARGET_PORT, answer_from=()):
        self.host, self.port, self.sources = host, port, []
        with lab.target:
            self.sock = socket.socket(family_of(host), socket.SOCK_DGRAM)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            self.sock.bind((host, port))
            self.voices = [socket.socket(family_of(at[0]), socket.SOCK_DGRAM) for at in answer_from]
            for voice, at in zip(self.voices, answer_from):
                voice.bind(at)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                data, peer = self.sock.recvfrom(65535)
                if peer is None:  # close() was called
                    return
                if peer[0] not in self.sources:
                    self.sources.append(peer[0])
                for voice in (self.sock, *self.voices):
                    voice.sendto(data, peer)

    def ask(self, machine, data, timeout=PATIENCE):
        """The answer to a datagram from a new socket of the machine; it must come from here."""
        with contextlib.closing(machine.socket(family_of(self.host), socket.SOCK_DGRAM, timeout)) as sock:
            sock.sendto(data, (self.host, self.port))
            answer, peer = sock.recvfrom(65535)
            assert peer[:2] == (self.host, self.port)
            return answer

    def close(self):
        for sock in (self.sock, *self.voices):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.thread.join(1)


class NameServer(DnsStub):
    """On the target machine."""

    def __init__(self, lab, host, table):
        self.machine, self.host = lab.target, host
        with self.machine:
            super().__init__(table, host=host)

    def close(self):
        with self.machine:
            super().close()


class WebServer(EchoTarget):
    """Answers each request with a page of so many bytes."""

    def __init__(self, lab, host, size=kit.MIB):
        def answer(conn):
            head = b""
            while b"\r\n\r\n" not in head:
                head += conn.recv(1 << 16)
            conn.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size)
            kit.send_bulk(conn, size)

        super().__init__(lab, host, 80, answer)


def start_server(lab, stage, **config):
    """ss-server on its machine, for both versions of IP; the keys that a client of it needs."""
    keys = {"server_port": kit.free_port(), "password": kit.PASSWORD, "method": kit.METHOD, "mode": "tcp_and_udp", **config}
    with lab.server:
        program = stage.serve("server", {"server": ["45.66.0.2", "2a0e:66::2"], **keys}, port=keys["server_port"])
    return program, {key: keys[key] for key in ("server_port", "password", "method", "mode")}


def start_redir(lab, stage, version=4, args=(), server=None, server_name=None, prefix=(), env=None, **config):
    """ss-redir on the router, for both versions of IP, in front of an ss-server that is reached by IP `version`."""
    if server is None:
        server, keys = start_server(lab, stage)
    else:
        server, keys = server
    config = {"server": server_name or lab.SERVER[version], **keys, "local_address": "::", "local_port": kit.free_port(), **config}
    with lab.router:
        redir = stage.serve("redir", config, args, prefix=prefix, env=env, port=config["local_port"] if config["mode"] != "udp_only" else None)
    if config["mode"] != "tcp_only":
        kit.eventually(lambda: "UDP relay enabled" in redir.log(), "ss-redir takes datagrams")
    redir.port = config["local_port"]
    return redir
