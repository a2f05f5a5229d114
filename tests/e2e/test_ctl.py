"""ss-ctl: each command against a manager, and what it says when there is none."""
import json
import os
import signal
import socket
import subprocess
import threading

import kit
import manager
import pytest

pytestmark = pytest.mark.ours


def ctl(*words, env=None, given=None, timeout=kit.PATIENCE):
    return subprocess.run(
        [kit.BUILD / "ss-ctl", *map(str, words)], capture_output=True, text=True, input=given, timeout=timeout,
        env={**os.environ, **(env or {})})


def says(*words, **options):
    done = ctl(*words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=[True, False], ids=["unix", "udp"])
def address(stage, request):
    _, ask = manager.start(stage, unix=request.param)
    return ask.address if request.param else "localhost:%d" % ask.address[1]


def test_commands(stage, address):
    port, other = kit.free_port(), kit.free_port()
    assert says("-a", address, "add", port, "password=a b", "method=aes-128-gcm") == "ok\n"
    assert says("-a", address, "add", other, env={"SS_PASSWORD": "from the environment"}) == "ok\n"
    assert says("-a", address, "add", other, "mode=tcp_and_udp", "no_delay=false", given="typed\n") == "ok\n"
    told = json.loads(says("-a", address, "list"))
    assert {one["server_port"]: one["password"] for one in told} == {str(port): "a b", str(other): "typed"}
    assert manager.serves(stage, port, "a b", method="aes-128-gcm")
    assert says("-a", address, "ping").startswith("stat: {")
    (one,) = json.loads(says("-a", address, "stats", port))["ports"]
    assert one["port"] == port and one["down"] == 4
    assert says("-a", address, "remove", port, other) == "ok\nok\n"
    assert says("-a", address, "list") == "[\n]\n"


def test_users(stage, address):
    from test_users import METHOD, key, users

    port = kit.free_port()
    ask = stage.add(manager.Asker(address if "/" in address else ("127.0.0.1", int(address.split(":")[1]))))
    assert ask.add(port, key(0), method=METHOD, users=users(1)) == "ok"
    assert says("-a", address, "add_user", port, "bob", given=key(2) + "\n") == "ok\n"
    assert says("-a", address, "add_user", port, "carol", "password=" + key(3), given="") == "ok\n"
    assert says("-a", address, "remove_user", port, "user1") == "ok\n"
    (one,) = json.loads(says("-a", address, "stats"))["ports"]
    assert sorted(user["name"] for user in one["users"]) == ["bob", "carol"]


@pytest.mark.parametrize("command", ["add_user", "remove_user"])
def test_a_port_without_users(stage, command):
    """Nobody can be let in: the manager's log says why."""
    from test_users import METHOD, key

    program, ask = manager.start(stage)
    port = kit.free_port()
    assert ask.add(port, key(0), method=METHOD) == "ok"
    assert ctl("-a", ask.address, command, port, "alice", given=key(2) + "\n").returncode == 1
    kit.eventually(lambda: "this port has no users" in program.log(), program.log)


def test_refused(address):
    done = ctl("-a", address, "add", 8001, "password=x", "method=rot13")
    assert done.returncode == 1 and done.stdout == "err\n"
    assert "ss-ctl: add 8001: " in done.stderr and "rot13" in done.stderr
    done = ctl("-a", address, "add", 8001, "password=secret", "method=2022-blake3-aes-128-gcm")
    assert done.returncode == 1 and "16 random bytes" in done.stderr and "secret" not in done.stderr
    done = ctl("-a", address, "remove_user", 8001, "nobody")
    assert done.returncode == 1 and "ss-ctl: remove_user 8001: the manager refuses" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = ctl("-a", address, "add", port, "password=x")
        assert done.returncode == 1 and done.stdout == "port is not available\n"
        assert f"ss-ctl: add {port}: another program has this port" in done.stderr
        done = ctl("-a", address, "add", port, "password=x", "plugin=/bin/true")
        assert done.returncode == 1 and done.stdout == "port is not available\n"
    done = ctl("-a", address, "add", kit.free_port(), "password=x", "plugin=/bin/true")
    assert done.returncode == 1 and done.stdout == "err\n"
    assert "its log says" in done.stderr
    assert ctl("-a", address, "add", "70000", "password=x").returncode == 255
    assert ctl("-a", address, "add", 8001, "x").returncode == 255
    done = ctl("-a", address, "sing")
    assert done.returncode == 1 and done.stderr == "ss-ctl: there is no command 'sing'; -h lists them\n"
    assert ctl().returncode == 1 and ctl("-h").returncode == 0


def test_no_manager(tmp_path):
    done = ctl("-a", tmp_path / "none", "ping")
    assert done.returncode == 255 and "no manager" in done.stderr
    done = ctl("-a", f"127.0.0.1:{kit.free_port()}", "ping")
    assert done.returncode == 255 and "no answer" in done.stderr


def answering(stage, tmp_path, *answers):
    """The address of a manager that knows nothing but these, one after the other."""
    sock = stage.add(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    sock.bind(str(tmp_path / "m"))
    sock.settimeout(kit.PATIENCE)

    def run():
        for answer in answers:
            sock.sendto(answer, sock.recvfrom(1 << 16)[1])

    thread = threading.Thread(target=run)
    thread.start()
    stage.callback(thread.join)
    return tmp_path / "m"


def test_what_a_terminal_obeys(stage, tmp_path):
    """It is not passed on."""
    assert says("-a", answering(stage, tmp_path, b"[\n\t\x1b[2J\xc2\x9b\r\xe2\x82\xac\n]"), "list") == "[\n\t?[2J???€\n]\n"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_nothing_is_left_behind(stage, tmp_path, number):
    """Ended while it waits for an answer."""
    sock = stage.add(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    sock.bind(str(tmp_path / "m"))
    sock.settimeout(kit.PATIENCE)
    asks = subprocess.Popen([kit.BUILD / "ss-ctl", "-a", tmp_path / "m", "list"],
                            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # fmt: skip
    stage.callback(asks.kill)
    path = sock.recvfrom(1 << 16)[1]
    assert os.path.exists(path)
    asks.send_signal(number)
    assert asks.wait(kit.PATIENCE) == 128 + number and not os.path.exists(path)


def test_reader_gone(stage, tmp_path):
    """Nobody takes what it prints: it ends by that, and leaves nothing behind."""
    sock = stage.add(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    sock.bind(str(tmp_path / "m"))
    sock.settimeout(kit.PATIENCE)
    asks = subprocess.Popen([kit.BUILD / "ss-ctl", "-a", tmp_path / "m", "list"], stdout=subprocess.PIPE)
    stage.callback(asks.kill)
    path = sock.recvfrom(1 << 16)[1]
    asks.stdout.close()
    sock.sendto(b"[\n]", path)
    assert asks.wait(kit.PATIENCE) == 128 + signal.SIGPIPE and not os.path.exists(path)


def test_impossible_counts(stage, tmp_path):
    """Numbers that no port can have."""
    big, low = 2**63 - 1, -(2**63)
    told = [b'{"ports":[{"port":1,"up":%d,"down":%d}]}' % pair for pair in ((low, big), (big, low))]
    watching = subprocess.Popen([kit.BUILD / "ss-ctl", "-a", answering(stage, tmp_path, *told), "watch"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    stage.callback(watching.kill)
    watching.stdout.readline()
    assert watching.stdout.readline().split() == ["1", str(big), str(-big), "0"]
    watching.terminate()
    assert watching.communicate(timeout=kit.PATIENCE)[1] == ""


def paths():
    """Of ss-ctl's own sockets."""
    return {name for name in os.listdir("/tmp") if name.startswith(".ss-ctl.")}


def test_watch(stage, address):
    before = paths()
    port, target = kit.free_port(), stage.target()
    assert says("-a", address, "add", port, "password=" + manager.PASSWORD) == "ok\n"
    sock = stage.socks(manager.client(stage, port), target)
    watching = subprocess.Popen([kit.BUILD / "ss-ctl", "-a", address, "watch"], stdout=subprocess.PIPE, text=True)
    stage.callback(watching.kill)
    assert watching.stdout.readline().split() == ["port", "up/s", "down/s", "connections"]
    stop = threading.Event()

    def talk():
        while not stop.wait(0.05):
            sock.sendall(b"x" * 1000)
            kit.read(sock, 1000)

    talker = threading.Thread(target=talk)
    talker.start()
    alarm = threading.Timer(kit.PATIENCE, watching.kill)
    alarm.start()
    try:  # a second may be one in which nobody got to say anything
        lines = map(str.split, watching.stdout)
        fields = next((line for line in lines if int(line[1]) > 0 and int(line[2]) > 0), None)
        assert fields and int(fields[0]) == port and fields[3] == "1"
    finally:
        alarm.cancel()
        stop.set()
        talker.join()
    watching.terminate()
    assert watching.wait(kit.PATIENCE) != 0
    kit.eventually(lambda: not paths() - before, "a socket is left behind")
