"""The test kit: programs under test seen from outside, targets, clients, and a Stage on which all of them end together.

Which programs: $SS_LOCAL and $SS_SERVER (command lines), else ss-local and ss-server in $SS_BUILD, else in build/.
"""
import collections
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import queue
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time

import sip004
from dnsstub import DnsStub

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SS_BUILD", ROOT / "build")).resolve()
METHOD, PASSWORD = "aes-256-gcm", "correct horse"
PATIENCE = 60  # seconds until a test stops waiting for what must come: machines may be slow, or stand still for a while
MIB = 1 << 20


# ---- which programs


def command(role):
    """The command line of "local" or "server"."""
    return shlex.split(os.environ.get(f"SS_{role.upper()}") or str(BUILD / f"ss-{role}"))


@functools.cache
def knows_version(*argv):
    return subprocess.run([*argv, "--version"], capture_output=True, timeout=PATIENCE).returncode == 0


def is_ours(role):
    """shadowsocks-libev has no --version; what only ours promises is not asked of it."""
    return knows_version(*command(role))


def sanitized(role):
    """Under AddressSanitizer the memory figures mean nothing."""
    return b"__asan_init" in pathlib.Path(shutil.which(command(role)[0])).read_bytes()


# ---- time


def eventually(condition, why, within=PATIENCE):
    """Wait until condition() is true, and return it; it is looked at often, so that nothing sleeps to be safe."""
    deadline, late = time.monotonic() + within, False
    while not (result := condition()):
        if late:  # it was looked at after the deadline: we may have stood still ourselves
            raise AssertionError(f"not within {within} s: {why() if callable(why) else why}")
        late = time.monotonic() > deadline
        time.sleep(0.02)
    return result


class Clock:
    """Seconds since it was made."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self):
        return time.monotonic() - self.start


class Pulse(threading.Thread):
    """What goes off our time when a machine is busy or stands still: this thread wants to run a hundred times a second,
    and adds up how late it was."""

    EVERY, USUAL = 0.01, 0.002

    def __init__(self):
        super().__init__(daemon=True)
        self.lost_and_due = 0.0, time.monotonic() + self.EVERY
        self.start()

    def run(self):
        while True:
            lost, due = self.lost_and_due
            time.sleep(max(0, due - time.monotonic()))
            now = time.monotonic()
            self.lost_and_due = lost + max(0, now - due - self.USUAL), now + self.EVERY

    def late(self):
        """Seconds so far."""
        lost, due = self.lost_and_due
        return lost + max(0, time.monotonic() - due - self.USUAL)


pulse = functools.cache(Pulse)


class Stopwatch(Clock):
    """Seconds since it was made, but for those in which this machine let us wait: for upper limits."""

    def __init__(self):
        self.late = pulse().late()
        super().__init__()

    def __call__(self):
        return super().__call__() - (pulse().late() - self.late)


# ---- ports and sockets


_ours = collections.deque()  # locks of the ports that this process chose last


def free_port(host="127.0.0.1"):
    """A port below the ephemeral range: one from bind(0) may go to any outgoing connection before the program has it.
    Other tests that run now do not choose it either: a Unix socket without a file is the lock."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(1000):
        port = random.SystemRandom().randint(10000, 32000)
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket(family) as probe, contextlib.suppress(OSError):
            lock.bind(f"\0ss-test-port-{port}")
            probe.bind((host, port))
            _ours.append(lock)
            if len(_ours) > 100:
                _ours.popleft().close()
            return port
        lock.close()
    raise OSError("no free port between 10000 and 32000")


def listening(port):
    """True if some TCP socket listens on this port, as the kernel tells it (a connect would disturb the program):
    in the network that this thread is in."""
    wanted = f":{port:04X}"
    for table in ("/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table) as rows:
            for row in rows:
                fields = row.split(None, 4)
                if fields[3] == "0A" and fields[1].endswith(wanted):
                    return True
    return False


def connect(port, host="127.0.0.1", timeout=PATIENCE, small=False):
    """A TCP connection without Nagle. small: a small window of small segments, for a reader that is slow."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.settimeout(timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if small:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    try:
        sock.connect((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def roomy(sock):
    """Room for thousands of datagrams, also beyond what the system lets everybody have."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)  # SO_RCVBUFFORCE
    return sock


def unsent(sock):
    """Bytes the other end has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]


def reset(sock):
    """Close with RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def read(sock, size):
    data = bytearray()
    while len(data) < size:
        more = sock.recv(min(size - len(data), MIB))
        if not more:
            raise EOFError(f"{len(data)} of {size} bytes: {bytes(data[:40])!r}")
        data += more
    return bytes(data)


def read_all(sock):
    return b"".join(iter(lambda: sock.recv(1 << 16), b""))


def ending(sock, within):
    """(bytes that came, how it ended): "fin", "rst", or "open" if it did not end within so many seconds."""
    data, clock = bytearray(), Clock()
    while (left := within - clock()) > 0:
        sock.settimeout(left)
        try:
            more = sock.recv(1 << 16)
        except TimeoutError:
            break
        except ConnectionError:
            return bytes(data), "rst"
        if not more:
            return bytes(data), "fin"
        data += more
    return bytes(data), "open"


def drip(sock, data, pause=0.002):
    """Send byte by byte, each in a segment of its own."""
    for byte in data:
        sock.sendall(bytes([byte]))
        time.sleep(pause)


# ---- bulk


@functools.cache
def _base():
    return random.Random(4).randbytes(MIB)


def bulk(size):
    """Blocks of pseudo-random bytes; each megabyte carries its number, so that none can take another's place."""
    for number in range(0, size, MIB):
        yield (number.to_bytes(8, "big") + _base()[8:])[: size - number]


def bulk_digest(size):
    digest = hashlib.sha256()
    for block in bulk(size):
        digest.update(block)
    return digest.hexdigest()


def send_bulk(sock, size):
    for block in bulk(size):
        sock.sendall(block)


def receive_digest(sock, size=None):
    """(bytes, SHA-256) of the next `size` bytes, or of everything until the end."""
    digest, count = hashlib.sha256(), 0
    while count != size and (data := sock.recv(min(1 << 18, (size or 1 << 62) - count))):
        digest.update(data)
        count += len(data)
    return count, digest.hexdigest()


# ---- SOCKS5


def greet(sock):
    sock.sendall(b"\x05\x01\x00")
    assert read(sock, 2) == b"\x05\x00"


def socks_request(sock, target, cmd=1):
    """Send a request whose address is `target` as on the wire; the reply's code."""
    sock.sendall(bytes([5, cmd, 0]) + target)
    return socks_reply(sock)


def socks_reply(sock):
    head = read(sock, 4)
    read(sock, {1: 4, 4: 16}[head[3]] + 2)
    assert head[0] == 5
    return head[1]


def socks(port, host, to, timeout=PATIENCE, **options):
    """A connection through the local program that listens on `port` to host:to."""
    sock = connect(port, timeout=timeout, **options)
    try:
        greet(sock)
        assert socks_request(sock, sip004.header(host, to)) == 0
    except BaseException:
        sock.close()
        raise
    return sock


# ---- targets


def echo(conn):
    while data := conn.recv(1 << 16):
        conn.sendall(data)


class Target:
    """A TCP server of the test's: handler(conn) runs in a thread for each connection; result() is what it returned."""

    def __init__(self, handler=echo, host="127.0.0.1", port=0, backlog=1024):
        self.listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(backlog)
        self.host, self.port = self.listener.getsockname()[:2]
        self.handler, self.conns, self.results = handler, [], queue.Queue()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            conn.settimeout(10 * PATIENCE)  # a test may keep many waiting
            self.conns.append(conn)
            threading.Thread(target=self._run, args=(conn,), daemon=True).start()

    def _run(self, conn):
        try:
            self.results.put(self.handler(conn))
        except Exception as error:  # handed to the test, which expects it or fails by it
            self.results.put(error)
        with contextlib.suppress(OSError):
            conn.close()

    def result(self, within=PATIENCE):
        try:
            result = self.results.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"no connection to the target ended within {within} s") from None
        if isinstance(result, Exception):
            raise result
        return result

    def close(self):
        for sock in (self.listener, *self.conns):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


class BlackHole:
    """An address that answers no SYN: a listener whose queue is full and that never accepts."""

    def __init__(self, host="127.9.9.9", port=0):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(0)
        self.host, self.port = self.listener.getsockname()
        self.fillers = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((self.host, self.port))
            self.fillers.append(filler)
        time.sleep(0.05)

    def close(self):
        for sock in (self.listener, *self.fillers):
            sock.close()


# ---- the programs under test


def session_of(pid):
    """None: it is no more, or waits only to be reaped."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
        return int(fields[3]) if fields[0] != "Z" else None


class Program:
    """A started ss-local or ss-server, and what can be seen of it from outside."""

    def __init__(self, role, config=None, args=(), port=None, nofile=None, env=None, prefix=(), argv=None,
                 within=PATIENCE):
        self.role, self.port, self.config = role, port, config
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ss-e2e-"))
        argv = list(prefix) + list(argv or command(role))
        if config is not None:
            text = config if isinstance(config, (str, bytes)) else json.dumps(config)
            (self.home / "config.json").write_bytes(text.encode() if isinstance(text, str) else text)
            argv += ["-c", str(self.home / "config.json")]
        if nofile:
            argv = ["prlimit", f"--nofile={nofile}:{nofile}"] + argv
        with open(self.home / "stdout", "wb") as out, open(self.home / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                argv + [str(a) for a in args], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.home,
                env={**os.environ, **(env or {})}, start_new_session=True,
            )
        self.pid = self.process.pid
        if port:
            try:
                eventually(lambda: listening(port) and self.sleeps() or not self.alive(),
                           lambda: f"{role} listens on {port}:\n{self.log()}", within)
                assert self.alive(), f"{role} ended with {self.process.returncode}:\n{self.log()}"
            except AssertionError:
                self.kill()
                raise
            self.idle_fds = self.fds()

    def alive(self):
        return self.process.poll() is None

    def sleeps(self):
        """It waits for something. Who listens first has something else to do: to become another user, to say so."""
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"

    def wait(self, within=PATIENCE):
        """The exit status, or None while it runs on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(within)

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self, within=PATIENCE):
        """SIGTERM; it must exit 0. Then its folder goes."""
        if self.alive():
            self.signal(signal.SIGTERM)
        status, log = self.wait(within), self.log()
        if status == 0:
            eventually(lambda: not self.started(), f"{self.role} has left behind {self.started()}")
        self.kill()
        assert status == 0, f"{self.role} ended with {status} on SIGTERM:\n{log[-3000:]}"
        assert not re.search("Sanitizer|runtime error:", log), log

    def kill(self):
        """And whatever it has started: a plugin of shadowsocks-libev's stays when its program is killed."""
        if self.alive():
            self.process.kill()
        while started := self.started():
            for pid in started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def started(self):
        """The pids of what it has started and what runs still: all that is in its session."""
        pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return [pid for pid in pids if pid != self.pid and session_of(pid) == self.pid]

    def stdout(self):
        return (self.home / "stdout").read_text(errors="replace")

    def stderr(self):
        return (self.home / "stderr").read_text(errors="replace")

    def log(self):
        return self.stdout() + self.stderr()

    # what the kernel knows of it

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f"/proc/{self.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e9

    def load(self, seconds):
        """The share of a processor it uses during the next seconds."""
        before, clock = self.cpu(), Clock()
        time.sleep(seconds)
        return (self.cpu() - before) / clock()

    def idles(self, below=0.2, seconds=1.0):
        """Wait for seconds in which it uses less than this share of a processor: who spins never has them."""
        eventually(lambda: self.load(seconds) < below, f"{self.role} is busy: {below} of a processor and more")

    def status(self, field):
        with open(f"/proc/{self.pid}/status") as file:
            return next(line.split()[1] for line in file if line.startswith(field + ":"))

    def anon(self):
        """RssAnon in bytes."""
        return int(self.status("RssAnon")) * 1024

    # what it tells of itself

    def state(self):
        """SIGUSR1's line: {"session": 0, "block": 0, ...}, numbers by the first word behind them, without its plural."""
        seen = len(re.findall(r"state: .*\n", self.log()))
        self.signal(signal.SIGUSR1)
        lines = eventually(
            lambda: (found := re.findall(r"state: (.*)\n", self.log()))[seen:] and found, "a line of state after SIGUSR1")
        return {word.removesuffix("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z-]+)", lines[-1])}

    def at_rest(self):
        """True if nothing is left of any connection."""
        if self.fds() > self.idle_fds:
            return False
        state = self.state() if is_ours(self.role) else {}
        return not any(state.get(word) for word in ("session", "association", "block", "look-up"))

    def rests(self, within=PATIENCE):
        eventually(self.at_rest, lambda: f"{self.role}: {self.fds()} descriptors, {self.idle_fds} at the start; "
                   f"{self.state() if is_ours(self.role) else ''}", within)


class Stage(contextlib.ExitStack):
    """Programs, targets, name servers and sockets of one test; all end when it ends, the last first."""

    def __exit__(self, kind, error, trace):
        if kind:
            for program in self.programs:
                if program.home.exists():
                    print(f"---- {program.role} {program.config}\n{program.log()[-4000:]}")
                program.kill()
        return super().__exit__(kind, error, trace)

    def __init__(self):
        super().__init__()
        self.programs = []

    def add(self, thing):
        """Close it at the end."""
        self.callback(thing.close)
        return thing

    def program(self, role, config=None, args=(), **options):
        """A program that may end by itself; it is killed at the end."""
        program = Program(role, config, args, **options)
        self.programs.append(program)
        self.callback(program.kill)
        return program

    def serve(self, role, config, args=(), **options):
        """A program that must live, and exit 0 on SIGTERM at the end."""
        program = self.program(role, config, args, **options)
        self.callback(lambda: program.home.exists() and program.stop())
        return program

    def server(self, args=(), nofile=None, prefix=(), env=None, **config):
        config = {"server": "127.0.0.1", "server_port": free_port(), "password": PASSWORD, "method": METHOD,
                  "timeout": 60, **config}
        return self.serve("server", config, args, port=config["server_port"], nofile=nofile, prefix=prefix, env=env)

    def local(self, server, /, args=(), nofile=None, env=None, **config):
        """`server`: a Program, or the port of a stand-in."""
        config = {"server": "127.0.0.1", "server_port": getattr(server, "port", server), "password": PASSWORD,
                  "local_address": "127.0.0.1", "local_port": free_port(), "method": METHOD, "timeout": 60, **config}
        return self.serve("local", config, args, port=config["local_port"], nofile=nofile, env=env)

    def pair(self, **config):
        """(server, local); the configuration is both's, `nameserver` the server's."""
        server = self.server(**config)
        config.pop("nameserver", None)
        return server, self.local(server, **config)

    def target(self, handler=echo, **options):
        return self.add(Target(handler, **options))

    def dns(self, table, **options):
        return self.add(DnsStub(table, **options))

    def connect(self, port, **options):
        return self.add(connect(port, **options))

    def socks(self, local, target, host=None, **options):
        return self.add(socks(local.port, host or target.host, target.port, **options))

    def peer(self, server, host, port, payload=b"", method=METHOD, **options):
        """A sealed connection to the server that asks for host:port."""
        sock = self.connect(server.port, **options)
        return sip004.Peer(sock, method, PASSWORD).open(host, port, payload)

    def stand_in(self, conversation, method=METHOD):
        """A server of the test's for ss-local: conversation(peer, host, port) runs for each connection."""

        def handler(conn):
            peer = sip004.Peer(conn, method, PASSWORD)
            return conversation(peer, *peer.accept_header())

        return self.target(handler)


def works(server, local=None):
    """True if a fresh connection is served, through local if it is given."""
    with Stage() as stage:
        target = stage.target()
        if not local:
            return stage.peer(server, target.host, target.port, b"ping").read(4) == b"ping"
        sock = stage.socks(local, target)
        sock.sendall(b"ping")
        return read(sock, 4) == b"ping"


def raise_nofile():
    """As many descriptors as allowed, for tests with thousands of connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
