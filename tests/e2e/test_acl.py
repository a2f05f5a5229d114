"""Access control lists: what goes directly, through the server or nowhere, for TCP and UDP, and that no
spelling of a target passes the block list.
"""

import os
import select
import signal
import socket
import threading
import time

import kit
import manager
import pytest
import sip004
import streams
from datagrams import Client, UdpTarget, opened, seal, silent, udp
from kit import METHOD, PASSWORD, PATIENCE, ending, read

pytestmark = pytest.mark.ours
UDP = {"mode": "tcp_and_udp"}
PROMPTLY = 5.0  # a connection that waits for something does so for ten seconds


@pytest.fixture
def rules(tmp_path):
    """Write a list; the path of it."""

    def write(*lines, name="list.acl"):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    return write


def lone_local(stage, rules, *lines, **config):
    """An ss-local whose server is not there: what gets through went directly."""
    return stage.local(kit.free_port(), acl=rules(*lines), **UDP, **config)


def direct(stage, local, target, host):
    """True if a connection by this name is served without a server."""
    sock = stage.socks(local, target, host=host)
    sock.sendall(b"hello")
    return read(sock, 5) == b"hello"


def fails(stage, local, target, host):
    sock = stage.socks(local, target, host=host)
    sock.sendall(b"hello")
    return ending(sock, PATIENCE)[0] == b""


def logged(program, text):
    kit.eventually(lambda: text in program.log(), lambda: f"{text!r} in {program.log()[-2000:]}")


# ---- a client: direct or not


def test_direct_by_address(stage, rules):
    local = lone_local(stage, rules, "[proxy_all]", "[bypass_list]", "127.0.0.0/8", "::1")
    for host in ("127.0.0.1", "::1"):
        assert direct(stage, local, stage.target(host=host), host)
    assert direct(stage, local, stage.target(), "::ffff:127.0.0.1")
    assert fails(stage, local, stage.target(), "192.0.2.1")


@pytest.mark.parametrize("host", ["plain.test", "PLAIN.Test", "plain.test.", "sub.plain.test"])
def test_direct_by_name(stage, rules, host):
    dns = stage.dns({"plain.test": ["127.0.0.1"], "sub.plain.test": ["127.0.0.1"]})
    local = lone_local(stage, rules, "[proxy_all]", "[bypass_list]", r"(^|\.)plain\.test$", nameserver=dns.address)
    assert direct(stage, local, stage.target(), host)


def test_direct_by_resolved_address(stage, rules):
    """And the target that is looked up in vain, or nowhere in a list, takes the usual way."""
    dns = stage.dns({"in.test": ["127.0.0.1"], "out.test": ["203.0.113.1"], "gone.test": "nx"})
    server = stage.server(nameserver=stage.dns({"*": ["127.0.0.1"]}).address)
    local = stage.local(server, acl=rules("[proxy_all]", "[bypass_list]", "127.0.0.0/8"), args=["-v"],
                        nameserver=dns.address)
    target = stage.target()
    for name in ("in.test", "out.test", "gone.test"):
        sock = stage.socks(local, target, host=name)
        sock.sendall(b"hello")
        assert read(sock, 5) == b"hello"
    logged(local, f"in.test:{target.port}: direct")
    logged(local, f"out.test:{target.port}: by the server")
    logged(local, f"gone.test:{target.port}: by the server")


def test_names_need_no_look_up_without_networks(stage, rules):
    dns = stage.dns({"*": ["127.0.0.1"]})
    server, target = stage.server(nameserver=dns.address), stage.target()
    own = stage.dns({"*": "drop"})
    local = stage.local(server, acl=rules("[proxy_all]", "[bypass_list]", r"^other\.test$"), nameserver=own.address)
    sock = stage.socks(local, target, host="some.test")
    sock.sendall(b"hello")
    assert read(sock, 5) == b"hello" and own.asked == []


def test_dead_name_servers_do_not_stop_the_proxy(stage, rules):
    """While one waits for an answer, others are served; after half its time it goes to the server."""
    own = stage.dns({"*": "drop"})
    server = stage.server(nameserver=stage.dns({"*": ["127.0.0.1"]}).address)
    local = stage.local(server, acl=rules("[proxy_all]", "[bypass_list]", "10.0.0.0/8"), nameserver=own.address,
                        timeout=8)
    target = stage.target()
    slow = stage.socks(local, target, host="slow.test")
    slow.sendall(b"slow")
    quick = stage.socks(local, target)
    quick.sendall(b"quick")
    assert read(quick, 5) == b"quick" and not select.select([slow], [], [], 0)[0]
    assert read(slow, 4) == b"slow"  # after its whole time it would have been closed


def test_bypass_all(stage, rules):
    """White-list mode: only what is listed goes to the server."""
    dns = stage.dns({"*": ["127.0.0.1"]})
    local = lone_local(stage, rules, "[bypass_all]", "[proxy_list]", r"^far\.test$", nameserver=dns.address)
    target = stage.target()
    assert direct(stage, local, target, "near.test")
    assert direct(stage, local, target, "127.0.0.1")
    assert fails(stage, local, target, "far.test")


def test_first_address_decides_and_others_are_left_out(stage, rules):
    dns = stage.dns({"two.test": ["127.0.0.1", "203.0.113.7"]})
    local = lone_local(stage, rules, "[proxy_all]", "[bypass_list]", "127.0.0.0/8", nameserver=dns.address)
    closed = kit.free_port()
    sock = stage.add(kit.socks(local.port, "two.test", closed))
    clock = kit.Stopwatch()
    assert ending(sock, PATIENCE)[1] == "fin" and clock() < PROMPTLY


def test_bulk_and_ends(stage, rules):
    """Both ways, with a reader that stalls; an end passes, and so does a reset."""
    local = lone_local(stage, rules, "[bypass_all]")
    size = 24 * kit.MIB

    def both(conn):
        conn.sendall(b"go")
        got = kit.receive_digest(conn, size)
        kit.send_bulk(conn, size)
        conn.shutdown(socket.SHUT_WR)
        return got, conn.recv(10)

    target = stage.target(both)
    sock = stage.socks(local, target, small=True)
    assert read(sock, 2) == b"go"  # the target speaks first
    kit.send_bulk(sock, size)
    time.sleep(0.3)  # the way back fills up
    assert kit.receive_digest(sock) == (size, kit.bulk_digest(size))
    sock.sendall(b"after")
    sock.shutdown(socket.SHUT_WR)
    assert target.result() == ((size, kit.bulk_digest(size)), b"after")
    rude = stage.target(lambda conn: (conn.recv(1), kit.reset(conn)))
    sock = stage.socks(local, rude)
    sock.sendall(b"x")
    assert ending(sock, PATIENCE)[1] == "rst"
    sock.close()
    local.rests()


@pytest.mark.parametrize("fast_open", [False, True])
def test_who_speaks_first(stage, rules, fast_open):
    local = lone_local(stage, rules, "[bypass_all]", fast_open=fast_open)
    target = stage.target(lambda conn: (conn.sendall(b"220 ready"), conn.recv(10))[1])
    sock = stage.socks(local, target)
    assert read(sock, 9) == b"220 ready"
    sock.sendall(b"HELO")
    assert target.result() == b"HELO"


def test_no_loop(stage, rules):
    """A direct connection to the listener itself."""
    local = lone_local(stage, rules, "[bypass_all]", args=["-v"])
    sock = stage.add(kit.socks(local.port, "127.0.0.1", local.port))
    sock.sendall(b"\5\1\0")
    assert ending(sock, PATIENCE)[0] == b""
    logged(local, "it is this program itself")
    local.rests()


def test_no_loop_of_datagrams(stage, rules):
    local = lone_local(stage, rules, "[bypass_all]")
    app = stage.add(Client(local.port))
    inner = b"\0\0\0" + sip004.header("127.0.0.1", stage.add(UdpTarget()).port) + b"hello"
    app.send(("127.0.0.1", local.port), inner)
    app.silent()
    logged(local, "it is this program itself")
    assert local.state()["association"] == 1


def test_udp_direct_and_through_the_server(stage, rules):
    """In one association."""
    dns = stage.dns({"near.test": ["127.0.0.1"], "far.test": ["127.0.0.2"]})
    server = stage.server(nameserver=dns.address, **UDP)
    local = stage.local(server, acl=rules("[proxy_all]", "[bypass_list]", "127.0.0.1", "::1", r"^named\.test$"),
                        nameserver=dns.address, **UDP)
    near, far, six = (stage.add(UdpTarget(host)) for host in ("127.0.0.1", "127.0.0.2", "::1"))
    app = stage.add(Client(local.port))
    for size in (0, 1, 1200, 60000):
        data = os.urandom(size)
        assert app.echoes(near, data) and app.echoes(far, data) and app.echoes(six, data)
        assert app.echoes(near, data, host="near.test") and app.echoes(far, data, host="far.test")
    assert server.state()["association"] == 1
    server.stop()
    assert app.echoes(near, b"direct") and app.echoes(near, b"direct", host="near.test")
    app.send((far.host, far.port), b"proxied")
    app.silent()


def test_udp_names_that_do_not_resolve_go_to_the_server(stage, rules):
    own = stage.dns({"late.test": "drop", "*": "nx"})
    server = stage.server(nameserver=stage.dns({"*": ["127.0.0.1"]}).address, **UDP)
    local = stage.local(server, acl=rules("[proxy_all]", "[bypass_list]", "10.0.0.0/8"), nameserver=own.address, **UDP)
    app, echo = stage.add(Client(local.port)), stage.add(UdpTarget())
    assert app.echoes(echo, b"hello", host="gone.test")
    app.send(("late.test", echo.port), b"waits")
    assert app.echoes(echo, b"meanwhile")


# ---- a server: what it refuses


BLOCKED = [
    "127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::", "::1", "::ffff:0.0.0.0", "127.0.0.1.", "localhost", "LOCALHOST.",
    "into.test", "INTO.test", "into.test.", "mapped.test", "zero.test", "second.test", "six.test",
    "named.test", "NAMED.Test", "named.test.",
]
TABLE = {
    "into.test": ["127.0.0.1"], "mapped.test": ["::ffff:127.0.0.1"], "zero.test": ["0.0.0.0"], "six.test": ["::1"],
    "second.test": ["127.77.77.77", "127.0.0.1"], "named.test": ["127.88.0.1"], "free.test": ["127.88.0.1"],
}
LOCK = ["[outbound_block_list]", "127.0.0.1", "127.77.0.0/16", "::1", r"^named\.test$"]


def header(host, port):
    """As it is spelled: a name unless it is an address of one family."""
    try:
        return sip004.header(host, port)
    except OSError:
        return sip004.name_header(host, port)


def guarded(stage, rules, *lines, **config):
    dns = stage.dns(TABLE)
    return stage.server(nameserver=dns.address, acl=rules(*lines), **UDP, **config)


def both_kinds(stage, host):
    for _ in range(20):
        tcp = stage.target(host=host)
        try:
            return tcp, stage.add(UdpTarget(host, port=tcp.port))
        except OSError:
            continue
    raise OSError("no port is free for UDP and TCP")


@pytest.mark.parametrize("host", BLOCKED)
@pytest.mark.parametrize("spelled", [False, True], ids=["as it is", "as a name"])
def test_blocked(stage, rules, host, spelled):
    """SE03: neither by TCP nor by UDP, however it is spelled; and the same list lets others through."""
    server = guarded(stage, rules, *LOCK)
    tcp, datagrams = both_kinds(stage, "0.0.0.0" if ":" not in host or "ffff" in host else "::")
    head = sip004.name_header(host, tcp.port) if spelled else header(host, tcp.port)
    peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
    peer.send(head + b"hello")
    clock = kit.Stopwatch()
    assert ending(peer.sock, PATIENCE) == (b"", "fin") and clock() < PROMPTLY
    app = stage.add(udp())
    app.sendto(seal(METHOD, PASSWORD, head + b"hello"), ("127.0.0.1", server.port))
    datagrams.silent()
    assert not tcp.conns
    logged(server, "refused: access control list, line")
    open_to = stage.peer(server, "127.0.0.3", stage.target(host="127.0.0.3").port, b"ping")
    assert open_to.read(4) == b"ping"


def test_free_names_pass(stage, rules):
    server = guarded(stage, rules, *LOCK)
    tcp, datagrams = both_kinds(stage, "127.88.0.1")
    peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
    peer.send(sip004.name_header("free.test", tcp.port) + b"ping")
    assert peer.read(4) == b"ping"
    app = stage.add(udp())
    app.sendto(seal(METHOD, PASSWORD, sip004.name_header("free.test", tcp.port) + b"ping"), ("127.0.0.1", server.port))
    assert opened(METHOD, PASSWORD, app.recv(1000)).endswith(b"ping")


def test_only_allowed_addresses_are_dialled(stage, rules):
    """One of a name's addresses is blocked: the other is taken, and nothing else, also if it fails."""
    dns = stage.dns({"both.test": ["127.0.0.1", "127.88.0.1"]})
    server = stage.server(nameserver=dns.address, acl=rules("[outbound_block_list]", "127.0.0.1"), **UDP)
    good = stage.target(host="127.88.0.1", port=kit.free_port())
    bad = stage.target(host="127.0.0.1", port=good.port)
    peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
    peer.send(sip004.name_header("both.test", good.port) + b"ping")
    assert peer.read(4) == b"ping"
    good.close()
    peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
    peer.send(sip004.name_header("both.test", good.port) + b"ping")
    assert ending(peer.sock, PATIENCE)[0] == b"" and not bad.conns


def test_nowhere_is_not_the_address_sent_from(stage, rules):
    """0.0.0.0 is 127.0.0.1, also where the system would take the source address, which is blocked, in its place."""
    server = guarded(stage, rules, "[outbound_block_list]", "127.77.0.0/16", local_ipv4_address="127.77.0.1")
    tcp, datagrams = both_kinds(stage, "127.77.0.1")
    for head in sip004.header("0.0.0.0", tcp.port), sip004.name_header("zero.test", tcp.port):
        peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
        peer.send(head + b"hello")
        assert ending(peer.sock, PATIENCE)[0] == b""
        app = stage.add(udp())
        app.sendto(seal(METHOD, PASSWORD, head + b"hello"), ("127.0.0.1", server.port))
    datagrams.silent()
    assert not tcp.conns


def test_stream_method_tells_nothing(stage, rules):
    """A prober's noise may have made the target: silence."""
    server = guarded(stage, rules, *LOCK, method="aes-256-ctr")
    up = streams.Direction("aes-256-ctr", PASSWORD)
    sock = stage.connect(server.port)
    sock.sendall(up.iv + up.update(sip004.header("127.0.0.1", stage.target().port) + b"hello"))
    assert ending(sock, 1) == (b"", "open")


# ---- a server: whom it serves


@pytest.mark.parametrize("lines", [
    ["[accept_all]", "[black_list]", "127.0.0.1"],
    ["127.0.0.0/8"],
    ["[reject_all]"],
    ["[reject_all]", "[white_list]", "10.0.0.0/8"],
])
def test_clients_that_are_not_served(stage, rules, lines):
    """AC13: they meet the silence that strangers meet, and nothing answers their datagrams."""
    server = stage.server(acl=rules(*lines), **UDP)
    tcp, datagrams = both_kinds(stage, "127.0.0.1")
    peer = stage.peer(server, tcp.host, tcp.port, b"hello")
    stranger = stage.connect(server.port)
    stranger.sendall(os.urandom(100))
    assert ending(peer.sock, 1) == ending(stranger, 1) == (b"", "open")
    assert not tcp.conns
    app = stage.add(udp())
    app.sendto(seal(METHOD, PASSWORD, sip004.header(tcp.host, tcp.port) + b"hello"), ("127.0.0.1", server.port))
    silent(app)
    logged(server, "127.0.0.1: not served: access control list")
    assert "failed to handshake" not in server.log()


@pytest.mark.parametrize("lines", [
    ["[reject_all]", "[white_list]", "127.0.0.0/8"],
    ["[accept_all]", "[black_list]", "10.0.0.0/8"],
    ["[proxy_all]"],
])
def test_clients_that_are_served(stage, rules, lines):
    assert kit.works(stage.server(acl=rules(*lines)))


# ---- the file


def answers(peer):
    """The echo of ping, or an end."""
    try:
        return peer.read(4) == b"ping"
    except (EOFError, ConnectionError):
        return False


def test_reload(stage, rules):
    """SIGHUP: the new rules count at once, for what is new; a bad file changes nothing."""
    path = rules("[outbound_block_list]", "127.0.0.1")
    server = stage.server(acl=path)
    target = stage.target()

    def served():
        return answers(stage.peer(server, target.host, target.port, b"ping"))

    def again(text, *lines):
        seen = server.log().count(text)
        rules(*lines)
        server.signal(signal.SIGHUP)
        kit.eventually(lambda: server.log().count(text) > seen, server.log)

    assert not served()
    again("access control list /", "[outbound_block_list]", "10.0.0.0/8")
    assert served()
    again("rules stay as they are", "[outbound_block_list]", "(((")
    assert served()
    os.unlink(path)
    server.signal(signal.SIGHUP)
    kit.eventually(lambda: server.log().count("rules stay as they are") == 2, server.log)
    assert served()
    again("access control list /", "[outbound_block_list]", "127.0.0.0/8")
    assert not served()
    again("list.acl is empty")
    assert not served()
    again("access control list /", "[accept_all]")
    assert served()


def test_reload_of_a_flag_alone(stage, rules, tmp_path):
    """Without a configuration file."""
    path = rules("[proxy_all]")
    port = kit.free_port()
    local = stage.serve("local", None, ["-s", "127.0.0.1", "-p", kit.free_port(), "-k", PASSWORD, "-m", METHOD,
                                        "-l", port, "--acl", path], port=port)
    target = stage.target()
    assert fails(stage, local, target, "127.0.0.1")
    rules("[bypass_all]")
    seen = local.log().count("access control list /")
    local.signal(signal.SIGHUP)
    kit.eventually(lambda: local.log().count("access control list /") > seen, local.log)
    assert direct(stage, local, target, "127.0.0.1")
    assert "not reloaded" not in local.log()


@pytest.mark.parametrize("role", ["local", "server"])
@pytest.mark.parametrize("how", ["flag", "key"])
@pytest.mark.parametrize("what", ["missing", "directory", "malformed"])
def test_a_bad_file_is_fatal(stage, rules, tmp_path, role, how, what):
    path = {"missing": str(tmp_path / "none.acl"), "directory": str(tmp_path),
            "malformed": rules("[outbound_block_list]", "(((")}[what]
    config = {"server": "127.0.0.1", "server_port": kit.free_port(), "local_port": kit.free_port(),
              "password": PASSWORD, "method": METHOD}
    if how == "key":
        config["acl"] = path
    program = stage.program(role, config, ["--acl", path] if how == "flag" else [])
    assert program.wait() == 255
    errors = [line for line in program.stderr().splitlines() if "ERROR" in line]
    assert len(errors) == 1 and path in errors[0]


def test_workers(stage, rules):
    """Each copies through a pipe of its own, and each reads the rules again."""
    path = rules("[bypass_all]")
    local = stage.local(kit.free_port(), acl=path, workers=2)
    size = 8 * kit.MIB

    def both(conn):
        kit.send_bulk(conn, size)
        return kit.receive_digest(conn, size)

    target = stage.target(both)
    socks = [stage.socks(local, target) for _ in range(8)]
    senders = [threading.Thread(target=kit.send_bulk, args=(sock, size)) for sock in socks]
    for sender in senders:
        sender.start()
    for sock in socks:
        assert kit.receive_digest(sock, size) == (size, kit.bulk_digest(size))
    for sender in senders:
        sender.join()
        assert target.result() == (size, kit.bulk_digest(size))
    rules("[proxy_all]")
    seen = local.log().count("access control list /")
    local.signal(signal.SIGHUP)
    kit.eventually(lambda: local.log().count("access control list /") >= seen + 3, local.log)
    echo = stage.target()
    for _ in range(8):
        assert fails(stage, local, echo, "127.0.0.1")


def test_ports_of_a_manager(stage, rules):
    """Rules are those of all its ports, of the file and of requests, also when they were read again."""
    path = rules("[outbound_block_list]", "127.0.0.1")
    early, late = kit.free_port(), kit.free_port()
    program, ask = manager.start(stage, {"port_password": {str(early): PASSWORD}, "acl": path})
    assert ask.add(late, PASSWORD) == "ok"
    target = stage.target()

    def served(port):
        return answers(sip004.Peer(stage.connect(port), METHOD, PASSWORD).open(target.host, target.port, b"ping"))

    assert not served(early) and not served(late)
    for _ in range(3):
        seen = program.log().count("access control list /")
        rules("[outbound_block_list]", "10.0.0.0/8")
        program.signal(signal.SIGHUP)
        kit.eventually(lambda seen=seen: program.log().count("access control list /") > seen, program.log)
        assert served(early) and served(late)
    assert ask.remove(late) == "ok" and ask.add(late, PASSWORD) == "ok" and served(late)
