"""Cases of the collection that have no check there and no test of their own elsewhere, by their recipes."""

import base64
import contextlib
import errno
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import kit
import manager
import pytest
import sip004
import sip022
from datagrams import Client, Session, UdpTarget, block, silent, udp
from kit import METHOD, PASSWORD, eventually

pytestmark = pytest.mark.ours
KEYS = {"2022-blake3-aes-128-gcm": bytes(range(16)), "2022-blake3-aes-256-gcm": bytes(range(32))}
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="SKIPPED: takes root")


def text(key):
    return base64.b64encode(key).decode()


def config(role, **more):
    """A configuration for a program that need not come up."""
    port = {"local_port": kit.free_port()} if role != "server" else {}
    rest = {"server": "127.0.0.1", "password": PASSWORD, "method": METHOD}
    return {"server_port": kit.free_port(), **rest, **port, **more}


def refused(stage, role, changes):
    """The sentence with which a program does not start."""
    program = stage.program(role, config(role, **changes))
    assert program.wait(kit.PATIENCE) == 255, program.log()
    return program.stderr()


def echoes(stage, local):
    sock = stage.socks(local, stage.target())
    sock.sendall(b"ping")
    return kit.read(sock, 4) == b"ping"


# ---- salts and the edition of 2022


def answer_salts(stage, port, password, count):
    target, salts = stage.target(), []
    for _ in range(count):
        with kit.connect(port) as sock:
            peer = sip004.Peer(sock, METHOD, password).open(target.host, target.port, b"x")
            salts.append(kit.read(peer.sock, 32))
    return salts


def test_CR16_salts_of_several_processes(stage):
    """Of three lives of a server with two workers, and of two ports of a manager that were added in one second."""
    salts = []
    for _ in range(3):
        server = stage.server(workers=2)
        salts += answer_salts(stage, server.port, PASSWORD, 100)
        server.stop()
    _, ask = manager.start(stage)
    ports = kit.free_port(), kit.free_port()
    assert [ask.add(port) for port in ports] == ["ok", "ok"]
    for port in ports:
        salts += answer_salts(stage, port, manager.PASSWORD, 100)
    assert len(set(salts)) == 500
    assert len({salt[:4] for salt in salts}) > 490
    counts = [b"".join(salts).count(bytes([value])) for value in range(256)]
    expected = 500 * 32 / 256
    assert sum((count - expected) ** 2 / expected for count in counts) < 400  # 255 on average, 23 is its deviation


@pytest.fixture(params=KEYS)
def edition(request):
    return request.param, KEYS[request.param]


def test_EN04_type_byte_and_reflection(stage, edition):
    method, key = edition
    server, target = stage.server(method=method, password=text(key)), stage.target()
    lure = sip022.variable(sip004.header(target.host, target.port), b"ping")
    wire, up = sip022.request(method, [key], lure)
    sock = stage.connect(server.port)
    sock.sendall(wire)
    down = sock.recv(1 << 16)
    assert sip022.answer(method, key, up.salt, down) == b"ping"
    for wrong in (down, sip022.request(method, [key], lure, kind=1)[0]):
        sock = stage.connect(server.port)
        sock.sendall(wrong)
        assert kit.ending(sock, 0.5) == (b"", "open")
    assert len(target.conns) == 1


@pytest.mark.parametrize("wrong", ["nothing", "type", "salt", "late"])
def test_EN04_EN06_what_a_client_takes_for_an_answer(stage, edition, wrong):
    method, key = edition
    size = len(key)

    def serve(conn):
        wire = kit.read(conn, size + sip022.FIXED_BOX)
        salt = bytearray(wire[:size])
        salt[0] ^= wrong == "salt"
        down = sip022.Direction(method, key)
        stamp = int(time.time()) - 40 * (wrong == "late")
        head = struct.pack("!BQ", int(wrong != "type"), stamp) + salt + struct.pack("!H", 6)
        conn.sendall(down.salt + down.seal(head) + down.seal(b"answer"))
        kit.read_all(conn)

    local = stage.local(stage.target(serve).port, method=method, password=text(key))
    sock = stage.add(kit.socks(local.port, "a.test", 80))
    sock.sendall(b"q")
    if wrong == "nothing":
        assert kit.read(sock, 6) == b"answer"
    else:
        data, how = kit.ending(sock, kit.PATIENCE)
        assert data == b"" and how != "open"


def sessions(stage, edition):
    method, key = edition
    server = stage.server(method=method, password=text(key), mode="tcp_and_udp")
    echo, sock = stage.add(UdpTarget()), stage.add(udp())
    return server, echo, sock, Session(method, [key]), sip004.header(echo.host, echo.port)


def test_EN08_window_moves_after_the_check(stage, edition):
    server, echo, sock, session, head = sessions(stage, edition)
    for data, options, taken in (
        (b"late", {"number": 5, "ahead": -100}, False),
        (b"good", {"number": 5}, True),
        (b"twice", {"number": 5}, False),
        (b"before", {"number": 3}, True),
        (b"far", {"number": 5000}, True),
        (b"outside", {"number": 4}, False),
    ):
        sock.sendto(session.seal(head + data, **options), ("127.0.0.1", server.port))
        if taken:
            assert echo.take()[0] == data
        else:
            echo.silent()


def test_EN10_cut_bodies(stage, edition):
    """Authentic packets whose text ends at each of the first bytes."""
    server, echo, sock, session, head = sessions(stage, edition)
    method, key = edition
    body = struct.pack("!BQH", 0, int(time.time()), 0) + head + b"data"
    for size in range(len(body) - len(b"data")):
        front = session.id + struct.pack("!Q", size)
        box = session._box(session.id, key)
        sock.sendto(block(key, front) + box.encrypt(front[4:], body[:size], None), ("127.0.0.1", server.port))
    for size in range(80):
        sock.sendto(os.urandom(size), ("127.0.0.1", server.port))
    silent(sock)
    assert echo.seen.empty()
    sock.sendto(session.seal(head + b"good", number=99), ("127.0.0.1", server.port))
    assert echo.take()[0] == b"good"


@pytest.mark.parametrize("role", ["local", "server"])
def test_EN12_keys_that_are_none(stage, role):
    good = text(bytes(32))
    odd = ["abc", "!!!!", *(text(bytes(size)) for size in (15, 16, 17, 31, 33))]
    odd += [f"{good}:", f":{good}", f"{good}::{good}", base64.urlsafe_b64encode(b"\xfb" * 32).decode()]
    for password in odd:
        said = refused(stage, role, {"method": "2022-blake3-aes-256-gcm", "password": password})
        assert "32" in said or role == "server" and ":" in password and "one key" in said, (password, said)
        assert not any(part and part in said for part in password.split(":") if len(part) > 4), said


# ---- names


def test_DN01_silent_name_server_stops_nobody(stage, tmp_path):
    rules = tmp_path / "list.acl"
    rules.write_text("[bypass_all]\n")
    dns = stage.dns({"*": "drop"})
    local = stage.local(9, acl=str(rules), nameserver=dns.address)
    first = stage.add(kit.socks(local.port, "nx.test", 80))
    first.sendall(b"x")
    eventually(lambda: dns.asked, "the name is looked up")
    sock = stage.socks(local, stage.target())
    sock.sendall(b"now")
    assert kit.read(sock, 3) == b"now"
    assert kit.ending(first, 0.01) == (b"", "open")  # that one waits still


def in_place_of(path, file):
    """The words before a command that make it see another file there."""
    script = f'mount --bind {file} {path} && exec "$0" "$@"'
    words = ["unshare", "--mount", "sh", "-c", script]
    if os.geteuid() or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip(f"SKIPPED: another {path} takes root and a mount namespace")
    return words


@ROOT_ONLY
def test_DN07_started_before_the_network_is_up(stage, tmp_path):
    """resolv.conf names a dead server, then another: that one is asked, without a restart."""
    file = tmp_path / "resolv.conf"
    file.write_text("nameserver 127.53.0.99\noptions timeout:1 attempts:1\n")
    words = in_place_of("/etc/resolv.conf", file)
    dns = stage.dns({"late.test": ["127.0.0.1"]}, host="127.53.0.1", port=53)
    server, target = stage.server(prefix=words, timeout=5), stage.target()

    def served():
        peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
        peer.send(sip004.name_header("late.test", target.port) + b"x")
        return kit.ending(peer.sock, kit.PATIENCE)[0] != b""

    assert not served()
    file.write_text(f"nameserver {dns.udp.getsockname()[0]}\n")
    eventually(served, "the new name server is not asked", 60)


# ---- lists


def test_AC05_lists_and_resolved_addresses(stage, tmp_path):
    """The mirror of what test_acl.py has: nothing is proxied but one network, by an address and by a name."""
    rules = tmp_path / "list.acl"
    rules.write_text("[bypass_all]\n[proxy_list]\n127.0.0.1/32\n")
    dns = stage.dns({"in.test": ["127.0.0.1"], "out.test": ["127.0.0.9"]})
    local = stage.local(kit.free_port(), acl=str(rules), nameserver=dns.address)  # nobody is there
    target = stage.target(host="0.0.0.0")
    for host, direct in (("127.0.0.9", True), ("out.test", True), ("127.0.0.1", False), ("in.test", False)):
        sock = stage.socks(local, target, host=host)
        sock.sendall(b"x")
        assert (kit.read(sock, 1) == b"x") if direct else (kit.ending(sock, 1)[0] == b""), host


def test_AC09_flag_key_and_neither(stage, tmp_path):
    closed, open_ = tmp_path / "closed.acl", tmp_path / "open.acl"
    closed.write_text("[outbound_block_list]\n127.0.0.0/8\n")
    open_.write_text("[outbound_block_list]\n10.0.0.0/8\n")
    dns, target = stage.dns({"a.test": ["127.0.0.1"]}), stage.target()
    for key, flag, served in (
        (closed, None, False), (None, closed, False), (open_, closed, False), (closed, open_, True), (None, None, True),
    ):  # fmt: skip
        acl = {"acl": str(key)} if key else {}
        server = stage.server(["--acl", flag] if flag else [], nameserver=dns.address, **acl)
        peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
        peer.send(sip004.name_header("a.test", target.port) + b"x")
        assert (peer.read(1) == b"x") if served else kit.ending(peer.sock, 2)[0] == b""


@pytest.mark.parametrize("pattern", ["[", "(", "(?", "\\", "*"])
def test_AC11_bad_pattern_is_named(stage, tmp_path, pattern):
    rules = tmp_path / "list.acl"
    for section, fatal in (("[outbound_block_list]", True), ("[bypass_list]", False)):
        rules.write_text(f"{section}\n^good\\.test$\n{pattern}\n")
        if fatal:
            said = refused(stage, "server", {"acl": str(rules)})
        else:
            said = stage.local(9, acl=str(rules)).log()
        assert re.search(rf"line 3\b|{rules}:3\b", said), said


def test_AC11_hostile_pattern_costs_nothing(stage, tmp_path):
    rules = tmp_path / "list.acl"
    rules.write_text("[outbound_block_list]\n^(a+)+$\n^((a*)*)*b$\n^(a|a|a)*c$\n")
    dns = stage.dns({})
    server = stage.server(acl=str(rules), nameserver=dns.address)
    before = server.cpu()
    for number in range(20):
        peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
        peer.send(sip004.name_header("a" * 60 + f"-{number}.test", 80) + b"x")
        kit.ending(peer.sock, kit.PATIENCE)
    assert server.cpu() - before < 5


# ---- settings


def test_CF07_ports_of_a_list(stage):
    """Each address has its own; none that can be bound is an error."""
    a, b = kit.free_port(), kit.free_port()
    server = stage.server(server=[f"127.0.0.1:{a}", f"127.0.0.1:{b}"], server_port=a)
    eventually(lambda: kit.listening(b), server.log)
    for port in (a, b):
        target = stage.target()
        peer = sip004.Peer(stage.connect(port), METHOD, PASSWORD).open(target.host, target.port, b"x")
        assert peer.read(1) == b"x"
    assert "203.0.113.9" in refused(stage, "server", {"server": ["203.0.113.9", "203.0.113.10"]})


@pytest.mark.parametrize("where", ["key", "flag", "both"])
def test_CF11_keys_and_flags(stage, where):
    """The same by either; and the flag wins."""
    values = {"key": (3000, 2, "tcp_and_udp"), "flag": (), "both": (2000, 60, "tcp_only")}[where]
    args = [] if where == "key" else ["-n", 3000, "-t", 2, "-u"]
    hole, port = stage.add(kit.BlackHole("127.0.0.1")), kit.free_port()
    keys = config("local", server_port=hole.port, local_port=port, **dict(zip(("nofile", "timeout", "mode"), values)))
    local = stage.serve("local", keys, args, port=port)
    limits = pathlib.Path(f"/proc/{local.pid}/limits").read_text()
    assert re.search(r"Max open files +3000 +3000 ", limits)
    assert f"UDP relay enabled at 127.0.0.1:{port}" in local.log()
    sock = stage.add(kit.socks(port, "127.0.0.1", 80))
    sock.sendall(b"x")
    clock = kit.Clock()
    assert kit.ending(sock, 50)[1] != "open"
    assert 1.5 < clock() < 50  # the other one is 60


# ---- the manager


@pytest.fixture
def nobody_s_directory():
    """Where a manager goes whose user has no home; gone at the end, unless it was there."""
    path = pathlib.Path("/tmp/.shadowsocks")
    if path.exists():
        pytest.skip(f"SKIPPED: {path} is somebody's")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@ROOT_ONLY
def test_MG11_odd_homes(stage, nobody_s_directory):
    """Without -D, as somebody who is in no list of users, whatever $HOME says: a directory for that user alone."""
    for home in ([], ["HOME=/nonexistent"], ["HOME=/proc"], ["HOME="]):
        port = kit.free_port()
        words = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "env", "-i", *home]
        program = stage.program("manager", None, ["--manager-address", f"127.0.0.1:{port}", "-m", METHOD], prefix=words)
        eventually(lambda: "manager listening at" in program.log(), program.log)
        ask = stage.add(manager.Asker(("127.0.0.1", port)))
        assert ask.add(port) == "ok" and manager.serves(stage, port)
        seen = nobody_s_directory.stat()
        assert (seen.st_mode & 0o777, seen.st_uid) == (0o700, 54321)
        program.signal(signal.SIGTERM)
        assert program.wait(kit.PATIENCE) == 0


def test_MG15_counters_of_megabytes(stage):
    _, ask = manager.start(stage, args=["-u"])
    port = kit.free_port()
    assert ask.add(port) == "ok"
    mib = kit.MIB

    def both(conn):
        kit.read(conn, mib)
        conn.sendall(bytes(2 * mib))
        kit.read_all(conn)

    target, echo = stage.target(both), stage.add(UdpTarget())
    local = manager.client(stage, port, mode="tcp_and_udp")
    sock = stage.socks(local, target)
    sock.sendall(bytes(mib))
    kit.read(sock, 2 * mib)
    tcp = ask.counts()[port]
    assert 3 * mib <= tcp <= 3 * mib * 1.01
    app = stage.add(Client(local.port))
    for _ in range(1000):
        assert app.echoes(echo, b"x" * 100)
    sent = 2 * 1000 * 100
    assert sent < ask.counts()[port] - tcp < sent + 1000 * 100


def statuses(pids):
    return [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in pids]


@ROOT_ONLY
@pytest.mark.parametrize("executable", [False, True], ids=["within", "children"])
def test_DM01_manager_and_its_servers(stage, executable):
    home = pathlib.Path(stage.enter_context(tempfile.TemporaryDirectory(prefix="ss-rights-")))
    home.chmod(0o777)
    args = ["-a", "nobody", *(["--executable", kit.BUILD / "ss-server"] if executable else [])]
    program, ask = manager.start(stage, args=args, home=str(home), unix=False)
    assert ask.add(kit.free_port()) == "ok"
    children = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, text=True).stdout.split()
    assert len(children) >= executable
    for status in statuses([program.pid, *children]):
        assert re.search(r"^Uid:\t65534\t65534\t65534\t65534$", status, re.M), status
        assert re.search(r"^Gid:\t65534\t65534\t65534\t65534$", status, re.M), status
        assert re.search(r"^Groups:\t(65534 )?$", status, re.M), status


# ---- platforms


@pytest.mark.parametrize("seconds", [0, 20, 2147483, 2147484, 4294967, 86400 * 365, 2**31 - 1])
def test_PF05_long_timeouts(stage, seconds):
    """None of them wraps into an end at once."""
    server, local = stage.pair(timeout=seconds)
    sock = stage.socks(local, stage.target())
    sock.sendall(b"a")
    assert kit.read(sock, 1) == b"a"
    assert kit.ending(sock, 1.2) == (b"", "open")
    sock.settimeout(kit.PATIENCE)
    sock.sendall(b"b")
    assert kit.read(sock, 1) == b"b"


def test_PF05_just_after_boot(stage):
    """The kernel's clocks have just begun."""
    up, boot = (int(time.clock_gettime(clock)) for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME))
    words = ["unshare", "--time", f"--monotonic=-{up}", f"--boottime=-{boot}", "--fork", "--kill-child"]
    if subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("SKIPPED: another time takes root and a time namespace")
    method = "2022-blake3-aes-256-gcm"
    server = stage.program("server", config("server", method=method, password=text(KEYS[method])), prefix=words)
    port = server.config["server_port"]
    eventually(lambda: kit.listening(port), server.log)
    local = stage.local(port, method=method, password=text(KEYS[method]))
    assert all(echoes(stage, local) for _ in range(3))


def test_PF03_no_aes_instructions(stage):
    """An x86 of 2003: what it cannot do is not asked of it."""
    qemu = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if os.uname().machine != "x86_64" or not qemu:
        pytest.skip("SKIPPED: takes qemu-x86_64 and programs for it")
    if kit.sanitized("server"):
        pytest.skip("SKIPPED: AddressSanitizer does not run there")
    for method in ("aes-256-gcm", "aes-128-gcm", "chacha20-ietf-poly1305"):
        server = stage.server(prefix=[qemu, "-cpu", "qemu64"], method=method)
        assert echoes(stage, stage.local(server, method=method))


FILTER = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
call, level, option, error = map(int, sys.argv[1:5])
load, equal, give = 0x20, 0x15, 0x06
program = [(load, 0, 0, 0), (equal, 0, 5 if level >= 0 else 1, call)]
if level >= 0:
    program += [(load, 0, 0, 24), (equal, 0, 3, level), (load, 0, 0, 32), (equal, 0, 1, option)]
program += [(give, 0, 0, 0x00050000 | error), (give, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, fprog, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[5], sys.argv[5:])
"""
CALLS = {"x86_64": {"getrandom": 318, "getsockopt": 55}, "aarch64": {"getrandom": 278, "getsockopt": 209}}


def without(call, error, level=-1, option=0):
    """The words before a command that fail a system call of its."""
    numbers = CALLS.get(os.uname().machine)
    if not numbers:
        pytest.skip("SKIPPED: the numbers of this machine's system calls are not known")
    return [sys.executable, "-c", FILTER, *map(str, (numbers[call], level, option, error))]


def test_PF07_little_entropy(stage):
    """Whoever waits is told for what."""
    server = stage.program("server", config("server"), prefix=without("getrandom", errno.EAGAIN))
    eventually(lambda: "waiting until the system has gathered enough random bytes" in server.stderr(), server.log)


def test_PF07_old_kernel(stage):
    """There is /dev/urandom instead; salts differ."""
    server = stage.server(prefix=without("getrandom", errno.ENOSYS))
    assert len(set(answer_salts(stage, server.port, PASSWORD, 20))) == 20


@ROOT_ONLY
def test_PF07_without_any(stage, tmp_path):
    """Neither getrandom() nor a device: one sentence, and no weak key."""
    words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$0" "$@"']
    if subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("SKIPPED: a /dev without devices takes a mount namespace")
    server = stage.program("server", config("server"), prefix=[*without("getrandom", errno.ENOSYS), *words])
    assert server.wait(kit.PATIENCE) == 255, (server.wait(0), server.log())
    assert "the system gives no random bytes" in server.stderr()


def test_RD03_kernel_without_ipv6_destinations(stage):
    """getsockopt(IP6T_SO_ORIGINAL_DST) that this kernel does not have: refused, alive, nothing is left."""
    port = kit.free_port()
    settings = {"server": "127.0.0.1", "server_port": 9, "password": "x", "method": METHOD, "local_port": port,
                "local_address": "::"}  # fmt: skip
    words = without("getsockopt", errno.EOPNOTSUPP, socket.IPPROTO_IPV6, 80)
    redir = stage.serve("redir", settings, port=port, prefix=words)
    for host in ("::1", "127.0.0.1"):
        for _ in range(10):
            with contextlib.closing(kit.connect(port, host=host)) as sock:
                assert kit.ending(sock, 5)[0] == b""
    redir.rests()
