"""A name server for tests: answers A and AAAA over UDP and TCP from a table, late or not at all if
it is told so.

The table maps a name to addresses, or to "nx", "servfail" or "drop"; "*" is for every other name.
"""

import contextlib
import queue
import socket
import struct
import threading
import time

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


def both_kinds(host, port=0):
    """Sockets of a port that is free for TCP and UDP; port: this one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(100):
        tcp, udp = socket.create_server((host, port), family=family), socket.socket(family, socket.SOCK_DGRAM)
        try:
            udp.bind((host, tcp.getsockname()[1]))
            return tcp, udp
        except OSError:
            tcp.close()
            udp.close()
    raise OSError("no port is free for UDP and TCP")


class DnsStub:
    def __init__(self, table, delay=0.0, truncate=False, ttl=60, tcp_delay=None, host="127.0.0.1", port=0):
        self.table, self.delay, self.truncate, self.ttl = table, delay, truncate, ttl
        self.tcp_delay = delay if tcp_delay is None else tcp_delay
        self.asked = []  # (name, type) in order of arrival
        self.askers = set()  # addresses, over UDP
        self.ids = []  # of the questions over UDP
        self.tcp, self.udp = both_kinds(host, port)
        self.port = self.tcp.getsockname()[1]
        for option in (socket.SO_RCVBUF, 33):  # a thousand at once; 33 is SO_RCVBUFFORCE, for root
            with contextlib.suppress(OSError):
                self.udp.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
        self.address = f"{host}:{self.port}"
        self.open = True
        self.late = queue.Queue()
        for serve in (self._serve_udp, self._serve_tcp, self._send_late):
            threading.Thread(target=serve, daemon=True).start()

    def close(self):
        self.open = False
        self.late.put((0, lambda: None))
        socket.socket(self.udp.family, socket.SOCK_DGRAM).sendto(b"", self.udp.getsockname())
        self.tcp.shutdown(socket.SHUT_RDWR)
        self.udp.close()
        self.tcp.close()

    def questions(self, name, kind=A):
        return self.asked.count((name, kind))

    def _serve_udp(self):
        while self.open:
            try:
                query, client = self.udp.recvfrom(4096)
            except OSError:
                return
            self.askers.add(client[0])
            self.ids.append(query[:2])
            if len(query) >= 17:
                answer = self._answer(query, self.truncate)
                self._later(
                    lambda answer=answer, client=client: self.udp.sendto(answer, client), answer
                )

    def _serve_tcp(self):
        while self.open:
            try:
                conn, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_connection, args=(conn,), daemon=True).start()

    def _serve_connection(self, conn):
        """Each answer is as late as all others, whatever else was asked meanwhile."""
        with conn, conn.makefile("rb") as stream:
            try:
                while head := stream.read(2):
                    answer = self._answer(stream.read(struct.unpack("!H", head)[0]), False)
                    threading.Timer(self.tcp_delay, self._send_tcp, (conn, answer)).start()
            except (OSError, struct.error, IndexError):
                return

    @staticmethod
    def _send_tcp(conn, answer):
        try:
            conn.sendall(struct.pack("!H", len(answer)) + answer)
        except OSError:
            return  # the client has gone

    def _later(self, send, answer):
        if not answer:
            return
        if not self.delay:
            return send()
        self.late.put((time.monotonic() + self.delay, send))

    def _send_late(self):
        """All are equally late, so they stay in order."""
        while self.open:
            due, send = self.late.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                send()
            except OSError:
                return

    def _answer(self, query, truncated):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        question = query[12 : at + 5]
        (kind,) = struct.unpack_from("!H", query, at + 1)
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        told = self.table.get(name, self.table.get("*", "nx"))
        if told == "drop":
            return b""
        code = (
            {"servfail": SERVFAIL, "nx": NXDOMAIN}.get(told, NOERROR)
            if isinstance(told, str)
            else NOERROR
        )
        addresses = (
            []
            if isinstance(told, str) or truncated
            else [a for a in told if (":" in a) == (kind == AAAA)]
        )
        flags = 0x8180 | code | (0x0200 if truncated else 0)
        head = query[:2] + struct.pack("!HHHHH", flags, 1, len(addresses), 0, 0)
        return head + question + b"".join(self._record(kind, a) for a in addresses)

    def _record(self, kind, address):
        packed = socket.inet_pton(socket.AF_INET6 if kind == AAAA else socket.AF_INET, address)
        return b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, self.ttl, len(packed)) + packed
