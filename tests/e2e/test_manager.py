"""ss-manager: what it answers, byte for byte, and that its ports are what it says they are."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import tempfile
import threading

import kit
import manager
import pytest
import sip004
from datagrams import Client, UdpTarget, opened, seal, udp

pytestmark = pytest.mark.ours
METHOD = kit.METHOD


@pytest.fixture(params=["unix", "udp"])
def started(stage, request):
    return manager.start(stage, unix=request.param == "unix")


def test_words(stage, started):
    _, ask = started
    port = kit.free_port()
    assert ask("list") == "[\n]" and ask("ping") == "stat: {}"
    assert ask.add(port, "a \"quoted\" \\ pass\u00e9") == "ok"
    assert ask("list") == '[\n\t{"server_port":"%d","password":"a \\"quoted\\" \\\\ pass\u00e9","method":"%s"}\n]' % (
        port, METHOD)
    assert ask("ping") == 'stat: {"%d":0}' % port
    assert ask("ping: {}") == ask("ping\n") == 'stat: {"%d":0}' % port
    assert manager.serves(stage, port, 'a "quoted" \\ pass\u00e9')
    assert ask.remove(port) == "ok" == ask.remove(port)
    assert ask("list") == "[\n]"
    assert not kit.listening(port)


@pytest.mark.parametrize("request_", [
    "add: {", "add", "add: []", "add: {}", 'add: {"server_port":0,"password":"x"}',
    'add: {"server_port":70000,"password":"x"}', 'add: {"server_port":-1,"password":"x"}',
    'add: {"server_port":"1;touch x","password":"x"}', 'add: {"server_port":8001}',
    'add: {"server_port":8001,"password":"x","method":"rot13"}', 'add: {"server_port":8001,"password":{}}',
    "remove", "remove: {}", 'remove: {"server_port":[]}', "add: " + '{"a":' * 5000,
    'add_user: {"server_port":8001,"name":"x","password":"y"}', 'remove_user: {"server_port":8001}',
], ids=lambda text: text[:40])
def test_errors(stage, started, request_):
    program, ask = started
    ask.send(request_)
    assert ask.receive() == "err"
    assert ask("list") == "[\n]"


def test_unanswered(stage, started):
    """Words that we do not know get no answer; the next one does."""
    _, ask = started
    for request in b"", b" ", b"\0\0", b"xyz: {}", b"{", b"\xff\xfe", b" " * 60000, b"a" * 60000, b'stat: {"1":2}':
        ask.send(request)
    assert ask("ping") == "stat: {}"


def test_a_port_as_text_and_defaults(stage):
    _, ask = manager.start(stage)
    port = kit.free_port()
    ask.send('add: {"server_port":"%d","password":"p","method":"","unknown":1}' % port)
    assert ask.receive() == "ok"
    assert '"method":"%s"' % METHOD in ask("list")
    assert manager.serves(stage, port, "p")


def test_default_method(stage):
    program = stage.program("manager", None, ["--manager-address", "127.0.0.1:%d" % (udp_port := kit.free_port())])
    ask = stage.add(manager.Asker(("127.0.0.1", udp_port)))
    kit.eventually(lambda: "manager listening at" in program.log(), program.log)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    assert '"method":"chacha20-ietf-poly1305"' in ask("list")


@pytest.mark.parametrize("kind,mode", [("tcp", "tcp_only"), ("tcp", "tcp_and_udp"), ("udp", "tcp_and_udp"),
                                       ("udp", "udp_only")])
def test_taken(stage, kind, mode):
    """MG13: a port is not available as long as somebody has it, and nothing of it is held meanwhile."""
    _, ask = manager.start(stage)
    port = kit.free_port()
    holder = socket.socket(type=socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    holder.bind(("127.0.0.1", port))
    if kind == "tcp":
        holder.listen()
    assert ask.add(port, mode=mode) == "port is not available"
    assert ask("list") == "[\n]"
    holder.close()
    with socket.socket() as tcp, udp("127.0.0.1", port):
        tcp.bind(("127.0.0.1", port))
    assert ask.add(port, mode=mode) == "ok"


def test_replace(stage):
    """Another password: who has the old one is cut off, nobody is refused meanwhile."""
    _, ask = manager.start(stage)
    port, target = kit.free_port(), stage.target()
    assert ask.add(port, "old") == "ok"
    lasting = stage.socks(manager.client(stage, port, "old"), target)
    assert manager.echoes(lasting)
    assert ask.add(port, "old") == "ok"
    assert manager.echoes(lasting), "the same again cuts nobody"
    before = ask.counts()[port]
    assert ask.add(port, "new") == "ok"
    assert kit.ending(lasting, kit.PATIENCE)[1] != "open"
    assert manager.serves(stage, port, "new")
    assert ask.ports() == {port: "new"} and ask.counts()[port] >= before > 0
    ask.send('remove: {"server_port":%d}' % port)
    ask.send('add: {"server_port":%d,"password":"newer"}' % port)
    assert ask.receive() == ask.receive() == "ok"
    assert manager.serves(stage, port, "newer")


def test_replace_fails(stage):
    """Replaced as a whole or not at all."""
    _, ask = manager.start(stage)
    port = kit.free_port()
    assert ask.add(port) == "ok"
    lasting = stage.socks(manager.client(stage, port), stage.target())
    assert manager.echoes(lasting)
    with udp("127.0.0.1", port):
        assert ask.add(port, "other", mode="tcp_and_udp") == "port is not available"
    assert manager.echoes(lasting) and manager.serves(stage, port)
    assert ask.ports() == {port: manager.PASSWORD}
    assert ask.add(port, "other", mode="udp_only") == "ok"
    assert not kit.listening(port)
    assert kit.ending(lasting, kit.PATIENCE)[1] != "open"


def test_other_addresses(stage):
    """A port listens at other addresses, some of which it has already; or, if one is taken, where it did."""
    _, ask = manager.start(stage)
    port, target = kit.free_port(), stage.target()
    assert ask.add(port, server="127.0.0.1", mode="tcp_and_udp") == "ok"
    lasting = stage.socks(manager.client(stage, port), target)
    assert manager.echoes(lasting)
    with socket.socket() as holder:
        holder.bind(("127.0.0.2", port))
        holder.listen()
        assert ask.add(port, server=["127.0.0.1", "127.0.0.2"], mode="tcp_and_udp") == "port is not available"
        assert ask.ports() == {port: manager.PASSWORD}
        assert manager.echoes(lasting), "it is as it was"
        assert manager.serves(stage, port, mode="tcp_and_udp")
    assert ask.add(port, server=["127.0.0.1", "127.0.0.2"], mode="tcp_and_udp") == "ok"
    for host in ("127.0.0.1", "127.0.0.2"):
        peer = sip004.Peer(stage.connect(port, host=host), METHOD, manager.PASSWORD)
        assert peer.open(target.host, target.port, b"ping").read(4) == b"ping"
    assert ask.add(port, server="127.0.0.2", mode="tcp_and_udp") == "ok"
    assert ask.add(port, server="127.0.0.1", mode="tcp_only") == "ok"
    with udp("127.0.0.2", port), udp("127.0.0.1", port):
        assert manager.serves(stage, port)


def test_remove_cuts_its_own_sessions_only(stage):
    program, ask = manager.start(stage)
    ports, target = [kit.free_port() for _ in range(2)], stage.target()
    for port in ports:
        assert ask.add(port) == "ok"
    gone, stays = (stage.socks(manager.client(stage, port), target) for port in ports)
    assert manager.echoes(gone) and manager.echoes(stays)
    assert {port: one["connections"] for port, one in ask.stats().items()} == {ports[0]: 1, ports[1]: 1}
    assert ask.remove(ports[0]) == "ok"
    assert kit.ending(gone, kit.PATIENCE)[1] != "open"
    assert manager.echoes(stays)
    kit.eventually(lambda: program.state()["session"] == 1, program.log)


def test_counters(stage):
    """What came from clients, sealed, and from targets, plain; TCP and UDP; while connections last."""
    _, ask = manager.start(stage, args=["-u"])
    port, target = kit.free_port(), stage.target()
    assert ask.add(port) == "ok"
    peer = sip004.Peer(stage.connect(port), METHOD, manager.PASSWORD).open(target.host, target.port, b"x" * 1000)
    assert peer.read(1000) == b"x" * 1000
    # salt, length with tag, address and payload with tag; as shadowsocks-libev reports
    assert ask.counts() == {port: 32 + 18 + 7 + 1000 + 16 + 1000}
    assert ask.stats()[port]["up"] == 1073 and ask.stats()[port]["down"] == 1000
    echo = stage.add(UdpTarget())
    packet = seal(METHOD, manager.PASSWORD, sip004.header("127.0.0.1", echo.port) + b"y" * 500)
    with udp() as sock:
        sock.sendto(packet, ("127.0.0.1", port))
        assert opened(METHOD, manager.PASSWORD, sock.recv(2000)).endswith(b"y" * 500)
    assert ask.counts() == {port: 2073 + len(packet) + 500}
    told = ask.stats()[port]
    assert (told["connections"], told["associations"], told["clients"]) == (1, 1, 1)
    other = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
    stage.add(other)
    sip004.Peer(other, METHOD, manager.PASSWORD).open(target.host, target.port, b"x").read(1)
    assert ask.stats()[port]["clients"] == 2


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_counters_survive(stage, end, tmp_path):
    home = str(tmp_path)
    program, ask = manager.start(stage, home=home)
    port = kit.free_port()
    assert ask.add(port) == "ok" and manager.serves(stage, port)
    counted = ask.counts()[port]
    program.signal(end)
    assert program.wait() == (0 if end == signal.SIGTERM else -9)
    state = os.path.join(home, "work", ".ss-manager.state")
    kit.eventually(lambda: os.path.exists(state), "the counters are written after the end")
    program.kill()
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o600
    again, ask = manager.start(stage, home=home)
    assert ask("ping") == "stat: {}", "ports that were added are not there"
    assert ask.add(port) == "ok" and ask.counts() == {port: counted}
    assert ask.remove(port) == "ok" and ask.add(port) == "ok"
    assert ask.counts() == {port: 0}


def test_damaged_state(stage, tmp_path):
    (tmp_path / "work").mkdir()
    port = kit.free_port()
    (tmp_path / "work" / ".ss-manager.state").write_text(f"# port\n{port} 5 18446744073\nnonsense\n")
    program, ask = manager.start(stage, home=str(tmp_path))
    assert "damaged" in program.stderr()
    assert ask.add(port) == "ok" and ask.counts() == {port: 5 + 18446744073}


def test_burst(stage):
    """A thousand requests at once, or as many as a socket holds: each is answered, in order."""
    _, ask = manager.start(stage, unix=False)
    receiver, under_way = [], threading.Semaphore(200)

    def receive():
        for _ in range(1000):
            receiver.append(ask.receive())
            under_way.release()

    thread = threading.Thread(target=receive, daemon=True)
    thread.start()
    for n in range(1000):
        assert under_way.acquire(timeout=kit.PATIENCE)
        ask.send("ping" if n % 2 else "list")
    thread.join(kit.PATIENCE)
    assert receiver == ["[\n]", "stat: {}"] * 500


def test_flood_of_large_requests(stage, memory):
    """What waits to be looked at is bounded in bytes, whoever sends it."""
    program, ask = manager.start(stage, unix=False)
    request = b'remove: {"server_port":"%s"}' % (b"x" * 60000)
    with udp() as sock:
        clock = kit.Clock()
        while clock() < 1.5:
            sock.sendto(request, ask.address)
    ask.sock.settimeout(0.5)

    def answers():
        with contextlib.suppress(TimeoutError):
            return ask("ping") == "stat: {}"

    kit.eventually(answers, program.log)
    assert int(program.status("VmHWM")) < 40 << 10


def test_long_answers(stage):
    """Parts of more than 64 KiB are valid by themselves."""
    _, ask = manager.start(stage)
    password = "p" * 700
    added = []
    while len(added) < 150:
        if ask.add(port := kit.free_port(), password) == "ok":
            added.append(port)
    ask.send("list")
    ports = []
    while len(ports) < len(added):
        part = ask.receive()
        assert part.startswith("[\n\t") and part.endswith("\n]") and len(part) <= 65507
        ports += [int(one["server_port"]) for one in json.loads(part)]
    assert sorted(ports) == sorted(added)


def test_deaf_client(stage):
    """One that asks and does not read holds up nobody; its answers are dropped, and it is named."""
    program, ask = manager.start(stage)
    added = 0
    while added < 200:  # the list is longer than a datagram, and some lists than any buffer
        added += ask.add(kit.free_port(), "p" * 700) == "ok"
    for _ in range(2):
        deaf = stage.add(manager.Asker(ask.address))
        for n in range(100):
            deaf.send("ping" if n % 4 else "list")
        for _ in range(20):
            assert ask("ping").startswith("stat: {")
    kit.eventually(lambda: f"{deaf.home.name}/s does not take its answers" in program.log(), program.log)
    assert len(ask.ports()) > 50


def test_socket_file(stage, tmp_path):
    """For its owner alone; one that was left behind is replaced, one in use is not; removed at the end."""
    path = tmp_path / "m.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(path))
    program, ask = manager.start(stage, home=str(tmp_path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = stage.program("manager", None, ["--manager-address", path, "-D", tmp_path / "other"])
    assert second.wait() == 255 and re.search("cannot take requests at .*: .*in use", second.stderr()), second.stderr()
    assert ask("ping") == "stat: {}"
    program.stop()
    assert not path.exists()


def test_configured_ports(stage):
    """port_password and servers; a reload adds, changes and removes, and cuts nobody whose port stays."""
    a, b, c, d = (kit.free_port() for _ in range(4))
    config = {"port_password": {str(a): "pa", str(b): "pb"},
              "servers": [{"server_port": c, "password": "pc", "method": "aes-128-gcm", "mode": "tcp_and_udp"}]}
    program, ask = manager.start(stage, config)
    assert ask.ports() == {a: "pa", b: "pb", c: "pc"}
    assert ask.stats()[c]["method"] == "aes-128-gcm" and ask.stats()[c]["mode"] == "tcp_and_udp"
    assert ask.add(d, "pd") == "ok"
    target = stage.target()
    stays, changes = (stage.socks(manager.client(stage, port, password), target)
                      for port, password in ((a, "pa"), (b, "pb")))
    asked = stage.socks(manager.client(stage, d, "pd"), target)
    assert manager.echoes(stays) and manager.echoes(changes) and manager.echoes(asked)
    (program.home / "config.json").write_text(json.dumps({"port_password": {str(a): "pa", str(b): "other"}}))
    program.signal(signal.SIGHUP)
    kit.eventually(lambda: "reloaded: 3 ports" in program.log(), program.log)
    assert ask.ports() == {a: "pa", b: "other", d: "pd"}
    assert manager.echoes(stays) and manager.echoes(asked)
    assert kit.ending(changes, kit.PATIENCE)[1] != "open"
    assert not kit.listening(c)
    (program.home / "config.json").write_text("{")
    program.signal(signal.SIGHUP)
    kit.eventually(lambda: "not reloaded" in program.log(), program.log)
    assert manager.echoes(stays)


def test_bad_configuration(stage):
    for config in ({"port_password": {"70000": "x"}}, {"servers": [{"password": "x"}]},
                   {"servers": [{"server_port": 1}]},
                   {"method": "2022-blake3-aes-128-gcm", "port_password": {"8001": "no base64"}}):
        program = stage.program("manager", config, ["--manager-address", "127.0.0.1:0"])
        assert program.wait() == 255, config


def test_users(stage):
    """Users of a port come and go; who goes is cut off, the others stay."""
    from test_users import METHOD as METHOD_2022, key

    def through(number):
        local = manager.client(stage, port, f"{key(0)}:{key(number)}", method=METHOD_2022)
        return stage.socks(local, target)

    _, ask = manager.start(stage)
    port, target = kit.free_port(), stage.target()
    assert ask.add(port, key(0), method=METHOD_2022, users=[{"name": "ann", "password": key(1)}]) == "ok"
    assert ask("add_user", server_port=port, name="bob", password=key(2)) == "ok"
    assert ask("add_user", server_port=port, name="eve", password=key(2)) == "err", "bob has this key"
    assert ask("add_user", server_port=port, name="eve", password=key(0)) == "err", "the port has this key"
    assert ask("add_user", server_port=port, name="eve", password="short") == "err"
    ann, bob = through(1), through(2)
    assert manager.echoes(ann) and manager.echoes(bob, b"x" * 1000)
    told = {user["name"]: user for user in ask.stats(server_port=port)[port]["users"]}
    assert told["bob"]["up"] == told["bob"]["down"] == 1000 and told["ann"]["up"] == 4
    assert ask("remove_user", server_port=port, name="bob") == "ok"
    assert ask("remove_user", server_port=port, name="bob") == "err"
    assert kit.ending(bob, kit.PATIENCE)[1] != "open"
    assert manager.echoes(ann)
    assert [user["name"] for user in ask.stats(server_port=port)[port]["users"]] == ["ann"]


@pytest.mark.parametrize("home", ["/nonexistent", "file"])
def test_workdir(stage, home, tmp_path):
    """A directory that cannot be had is said, and fatal if it was asked for."""
    (tmp_path / "file").write_text("")
    path = f"{tmp_path / home}/w" if home == "file" else f"{home}/w"
    program = stage.program("manager", None, ["--manager-address", tmp_path / "m", "-D", path])
    assert program.wait() == 255 and "unable to create working directory" in program.stderr()


@pytest.fixture
def alone(stage):
    """Starts a manager as another user, with nothing in its environment, and with a /tmp of its own that a command has
    prepared (case MG11)."""
    if os.geteuid() != 0:
        pytest.skip("SKIPPED: only root can be somebody else with another /tmp")
    folder = tempfile.mkdtemp(prefix="ss-alone-", dir="/var/tmp")
    stage.callback(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    shutil.copy(kit.BUILD / "ss-manager", folder)

    def start(user, prepare="true", environment=()):
        script = f'mount -t tmpfs tmpfs /tmp && {{ {prepare}; }} && exec "$@"'
        prefix = ["unshare", "-m", "sh", "-c", script, "sh", "setpriv", f"--reuid={user}", f"--regid={user}",
                  "--clear-groups", "env", "-i", *environment]  # fmt: skip
        return stage.program("manager", None, ["-s", "127.0.0.1"], prefix=prefix, argv=[f"{folder}/ss-manager"])

    return start


@pytest.mark.parametrize("user,environment", [(54321, []), (65534, ["HOME=/nonexistent"])], ids=["unknown", "nobody"])
def test_no_home(alone, user, environment):
    """Whoever has none gets a directory of his own in /tmp."""
    program = alone(user, environment=environment)
    kit.eventually(lambda: "manager listening at /tmp/.shadowsocks/.ss-manager.socks" in program.stdout(), program.log)
    made = os.stat(os.path.join(f"/proc/{program.pid}", "root", "tmp/.shadowsocks"))
    assert stat.S_IMODE(made.st_mode) == 0o700 and made.st_uid == user


@pytest.mark.parametrize("prepare,why", [
    ("mkdir -m 700 /tmp/.shadowsocks", "Operation not permitted"),
    ("mkdir -m 777 /tmp/.shadowsocks; chown 54321 /tmp/.shadowsocks", "Operation not permitted"),
    ("mkdir /tmp/x; chown 54321 /tmp/x; ln -s x /tmp/.shadowsocks", "Operation not permitted"),
    ("touch /tmp/.shadowsocks", "Not a directory"),
    ("mount -o remount,ro /tmp", "Read-only file system"),
], ids=["another's", "everybody's", "link", "file", "read-only"])  # fmt: skip
def test_no_home_and_no_directory(alone, prepare, why):
    program = alone(54321, prepare)
    assert program.wait() == 255
    assert f"unable to create working directory /tmp/.shadowsocks: {why}" in program.stderr()


@pytest.mark.parametrize("args", [[], ["--executable", kit.BUILD / "ss-server"]], ids=["here", "executable"])
def test_all_is_counted(stage, args):
    """Case MG15: 1 MiB up and 2 MiB down, and a thousand datagrams, with what sealing adds to the way up."""
    _, ask = manager.start(stage, args=["-u", *args])
    port, up, down = kit.free_port(), 1 << 20, 2 << 20

    def takes_and_gives(conn):
        kit.read(conn, up)
        conn.sendall(b"d" * down)

    assert ask.add(port) == "ok"
    local = manager.client(stage, port, mode="tcp_and_udp")
    sock = stage.socks(local, stage.target(takes_and_gives))
    sock.sendall(b"u" * up)
    assert kit.read(sock, down) == b"d" * down
    client, echo = stage.add(Client(local.port)), stage.add(UdpTarget())
    for n in range(1000):
        assert client.echoes(echo, b"%100d" % n)
    plain = up + down + 1000 * (100 + 100)
    # address, salt and tag of each datagram; salt and address, then two tags and a length for at most 16 KiB
    sealed = 1000 * (7 + 32 + 16) + 32 + 7
    kit.eventually(lambda: ask.counts()[port] >= plain + sealed, lambda: f"{ask.counts()[port] - plain} of {sealed}")
    assert ask.counts()[port] <= plain + sealed + 0.03 * up


@pytest.mark.parametrize("unix", [True, False], ids=["unix", "udp"])
@pytest.mark.parametrize("workers", [1, 2])
def test_reports(stage, unix, workers, tmp_path):
    """ss-server tells a manager every five seconds what it has passed, with a NUL behind it."""
    path = str(tmp_path / "m")
    if unix:
        listener = stage.add(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        listener.bind(path)
    else:
        listener = stage.add(udp())
        path = "localhost:%d" % listener.getsockname()[1]
    listener.settimeout(kit.PATIENCE)
    server, target = stage.server(["--manager-address", path, "--workers", workers]), stage.target()
    peer = stage.peer(server, target.host, target.port, b"x" * 1000)
    assert peer.read(1000) == b"x" * 1000
    passed = b'stat: {"%d":2073}\0' % server.port
    reports = [listener.recvfrom(100)]
    while reports[-1][0] != passed and len(reports) < 5:  # five seconds may have been over before
        reports.append(listener.recvfrom(100))
    report, sender = reports[-1]
    assert report == passed, reports
    if unix:
        assert sender == f"/tmp/shadowsocks.{server.port}"
    server.stop()
    assert not os.path.exists(f"/tmp/shadowsocks.{server.port}")


def test_node_managers(stage):
    """The datagrams that node managers send, byte for byte, from a connected socket, and what they make of the
    answers: the kind of manager by how they begin, counters that only grow."""
    program = stage.program("manager", None, ["-v", "-m", METHOD, "-u", "--manager-address",
                                              "127.0.0.1:%d" % (control := kit.free_port()), "-s", "127.0.0.1"])
    kit.eventually(lambda: "manager listening at" in program.log(), program.log)
    ask = stage.add(manager.Asker(("127.0.0.1", control)))
    ask.sock.connect(ask.address)

    def exchange(request):
        ask.sock.send(request.encode())
        return ask.receive()

    ports = [kit.free_port() for _ in range(10)]
    assert exchange("list").startswith("[\n") and exchange("ping").startswith("stat:")
    for port in ports[:5]:
        assert exchange('add: {"server_port": %d, "password": "%s"}' % (port, port)) == "ok"
    for port in ports[5:]:
        assert exchange('add: { "server_port": %s, "password": "%s" }' % (port, port)) == "ok"
    assert exchange("list").startswith("[\n\t")
    assert ask.ports() == {port: str(port) for port in ports}
    assert manager.serves(stage, ports[0], str(ports[0]), mode="tcp_and_udp")
    first = json.loads(exchange("ping")[5:])
    assert first[str(ports[0])] > 0 and all(first[str(port)] == 0 for port in ports[1:])
    # a password is changed: both requests at once
    ask.sock.send(b'remove: {"server_port": %d}' % ports[0])
    ask.sock.send(b'add: {"server_port": %d, "password": "changed"}' % ports[0])
    assert ask.receive() == ask.receive() == "ok"
    assert manager.serves(stage, ports[0], "changed")
    # what is there is added again every minute
    lasting = stage.socks(manager.client(stage, ports[1], str(ports[1])), stage.target())
    assert manager.echoes(lasting)
    before = json.loads(exchange("ping")[5:])
    assert exchange('add: {"server_port": %d, "password": "%s"}' % (ports[1], ports[1])) == "ok"
    assert manager.echoes(lasting)
    after = json.loads(exchange("ping")[5:])
    assert all(after[port] >= count for port, count in before.items())
    for port in ports:
        assert exchange('remove: { "server_port": %s }' % port) == "ok"
    assert exchange("list") == "[\n]"
