"""ss-manager from outside: start one, ask it, and what its ports carry."""
import json
import os
import socket
import tempfile

import kit

PASSWORD = "of a port"


class Asker:
    """A client of the manager's: a Unix socket with a path, or UDP."""

    def __init__(self, address, timeout=kit.PATIENCE):
        self.address = address
        self.home = None
        if isinstance(address, tuple):
            self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
            kit.roomy(self.sock)
            self.sock.bind(("::1" if ":" in address[0] else "127.0.0.1", 0))
        else:
            self.home = tempfile.TemporaryDirectory(prefix="ss-ask-")
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.sock.bind(os.path.join(self.home.name, "s"))
        self.sock.settimeout(timeout)

    def send(self, request):
        self.sock.sendto(request if isinstance(request, bytes) else request.encode(), self.address)

    def receive(self):
        return self.sock.recv(1 << 17).decode()

    def __call__(self, word, **members):
        self.send(f"{word}: {json.dumps(members)}" if members else word)
        return self.receive()

    def add(self, port, password=PASSWORD, **more):
        return self("add", server_port=port, password=password, **more)

    def remove(self, port):
        return self("remove", server_port=port)

    def ports(self):
        """{port: password}, from all parts of the list."""
        return {int(one["server_port"]): one["password"] for one in json.loads(self("list"))}

    def counts(self):
        return {int(port): count for port, count in json.loads(self("ping").removeprefix("stat: ")).items()}

    def stats(self, **members):
        return {one["port"]: one for one in json.loads(self("stats", **members))["ports"]}

    def close(self):
        self.sock.close()
        if self.home:
            self.home.cleanup()


def start(stage, config=None, args=(), unix=True, home=None, within=kit.PATIENCE, **options):
    """(program, asker) of a manager that takes requests."""
    home = home or stage.enter_context(tempfile.TemporaryDirectory(prefix="ss-manager-"))
    address = os.path.join(home, "m.sock") if unix else ("127.0.0.1", kit.free_port())
    where = address if unix else "%s:%d" % address
    args = ["--manager-address", where, "-s", "127.0.0.1", "-D", os.path.join(home, "work"), "-m", kit.METHOD, *args]
    program = stage.serve("manager", config, args, **options)
    program.work = os.path.join(home, "work")
    kit.eventually(lambda: "manager listening at" in program.log() or not program.alive(), program.log, within)
    assert program.alive(), program.log()
    return program, stage.add(Asker(address))


def client(stage, port, password=PASSWORD, **config):
    return stage.local(port, password=password, **config)


def echoes(sock, text=b"ping"):
    sock.sendall(text)
    return kit.read(sock, len(text)) == text


def serves(stage, port, password=PASSWORD, **config):
    """True if a fresh connection through the port is served."""
    return echoes(stage.socks(client(stage, port, password, **config), stage.target()))
