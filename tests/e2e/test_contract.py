"""What shadowsocks-libev 3.3.5 takes, ours takes: each option and key in each program, both ways to say a thing, and how a
program ends. What lines of the log and signals are is in test_command_line, test_daemon and test_signals.
"""
import json
import signal
import subprocess

import kit
import pytest
from kit import METHOD, PASSWORD, free_port

pytestmark = pytest.mark.ours
NAMES = {"L": "local", "S": "server", "T": "tunnel", "R": "redir", "M": "manager"}

# Options, their argument, and who takes them: contract, 2.2.
OPTIONS = [
    ("-s", "127.0.0.1", "LSTRM"), ("-p", "8388", "LSTRM"), ("-l", "1080", "LSTRM"), ("-k", "x", "LSTRM"),
    ("--password", "x", "LSTRM"), ("--key", "x", "LSTR"), ("-m", METHOD, "LSTRM"), ("-a", "nobody", "LSTRM"),
    ("-f", "/no/such", "LSTRM"), ("-t", "60", "LSTRM"), ("-c", "/no/such", "LSTRM"), ("-n", "2048", "LSTRM"),
    ("-i", "lo", "LSTM"), ("-b", "127.0.0.1", "LSTRM"), ("-u", None, "LSTRM"), ("-U", None, "LSTRM"), ("-6", None, "LSTRM"),
    ("-v", None, "LSTRM"), ("-d", "8.8.8.8,8.8.4.4:53", "SM"), ("-L", "8.8.8.8:53", "T"), ("-T", None, "R"),
    ("-D", "/tmp", "M"), ("--workdir", "/tmp", "M"), ("--reuse-port", None, "LSTRM"), ("--fast-open", None, "LSTRM"),
    ("--no-delay", None, "LSTRM"), ("--acl", "/no/such", "LSM"), ("--mtu", "1400", "LSTRM"), ("--mptcp", None, "LSTR"),
    ("--plugin", "x", "LSTR"), ("--plugin-opts", "a=b", "LSTRM"), ("--tcp-incoming-sndbuf", "20000", "LSTR"),
    ("--tcp-incoming-rcvbuf", "20000", "LSTR"), ("--tcp-outgoing-sndbuf", "20000", "LSTR"),
    ("--tcp-outgoing-rcvbuf", "20000", "LSTR"), ("--manager-address", "127.0.0.1:1", "SM"), ("--executable", "x", "M"),
    ("--server-url", "ss://bm9uZTo@h:1", "LTR"), ("--nameserver", "8.8.8.8", "LSTRM"),
]

# Keys, values that are good, and who reads them: contract, 2.3.
KEYS = [
    ("server", ["127.0.0.1", ["127.0.0.1", "[::1]"]], "LSTRM"), ("server_port", [8388, "8388"], "LSTR"),
    ("local_address", ["127.0.0.1", None], "LSTR"), ("local_port", [1080, "1080"], "LTR"),
    ("local_ipv4_address", ["127.0.0.1"], "S"), ("local_ipv6_address", ["::1"], "S"), ("password", ["x", 12345], "LSTRM"),
    ("method", [METHOD], "LSTRM"), ("port_password", [{"8001": "x"}], "M"), ("timeout", [60, "60"], "LSTRM"),
    ("user", ["nobody", 65534, None], "LSTRM"), ("plugin", ["", None], "LSTRM"), ("plugin_opts", ["", None], "LSTRM"),
    ("fast_open", [True, False], "LSTRM"), ("reuse_port", [True], "LSTRM"), ("no_delay", [True], "LSTRM"),
    ("mptcp", [True], "LSTR"), ("ipv6_first", [True], "LSTRM"), ("use_syslog", [True], "LSTRM"), ("tcp_tproxy", [True], "R"),
    ("tcp_incoming_sndbuf", [20000], "LSTR"), ("tcp_incoming_rcvbuf", [20000], "LSTR"),
    ("tcp_outgoing_sndbuf", [20000], "LSTR"), ("tcp_outgoing_rcvbuf", [20000], "LSTR"), ("nofile", [2048], "LSTRM"),
    ("mtu", [1400], "LSTRM"), ("nameserver", ["8.8.8.8"], "LSTRM"), ("dscp", [{"443": "EF"}], "R"),
    ("tunnel_address", ["8.8.8.8:53"], "T"), ("mode", ["tcp_and_udp", "udp_only", None], "LSTRM"), ("workdir", ["/tmp"], "M"),
    ("manager_address", ["127.0.0.1:1"], "M"), ("acl", ["", None], "LSM"),
]


def run(program, *args):
    done = subprocess.run([kit.BUILD / program, *map(str, args)], capture_output=True, text=True, timeout=kit.PATIENCE)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("letter", NAMES)
def test_options(letter):
    """Accepted: the -h behind it is seen."""
    for option, argument, takers in OPTIONS:
        if letter in takers:
            status, out, err = run(f"ss-{NAMES[letter]}", option, *([argument] if argument else []), "-h")
            assert status == 0 and "usage: " in out, (option, err)


@pytest.mark.parametrize("letter", NAMES)
def test_keys(tmp_path, letter):
    """None is unknown, who does not read one says so and goes on, and the others do not."""
    role = NAMES[letter]
    base = {"server": "127.0.0.1", "server_port": free_port(), "password": "x", "local_port": free_port(),
            "tunnel_address": "8.8.8.8:53", "manager_address": "127.0.0.1:1"}
    for key, values, readers in KEYS:
        for value in values:
            (tmp_path / "c.json").write_text(json.dumps(base | {key: value}))
            status, out, err = run("ss-check", role, "-c", tmp_path / "c.json")
            about = [line for line in err.splitlines() if f"key '{key}'" in line]
            assert "settings of" in out and f"key '{key}' is not known" not in err, (key, value, out, err)
            wrong = [line for line in about if line.endswith("ignored") == (letter in readers)]
            assert not wrong, (key, value, about)


@pytest.mark.parametrize("key, in_file, flags, by_file, by_flags", [
    ("server_port", 18388, ["-p", 18389], ":18388 (TCP)", ":18389 (TCP)"),
    ("server", "127.0.0.2", ["-s", "127.0.0.3"], "127.0.0.2:", "127.0.0.3:"),
    ("method", "aes-128-gcm", ["-m", "aes-256-gcm"], "aes-128-gcm, 16 bytes", "aes-256-gcm, 32 bytes"),
    ("user", "nobody", ["-a", "daemon"], "user nobody", "user daemon"),
    ("plugin", "sh", ["--plugin", "ls"], "plugin sh", "plugin ls"),
    ("acl", "/etc/no1", ["--acl", "/etc/no2"], "/etc/no1", "/etc/no2"),
    ("mode", "tcp_and_udp", ["-U"], "(UDP)", "(UDP)"),
])
def test_both_ways_and_the_flag_wins(tmp_path, key, in_file, flags, by_file, by_flags):
    """CF11: by the file alone, by the flag alone, and by both."""
    base = {"server": "127.0.0.1", "server_port": free_port(), "password": "x"}
    (tmp_path / "without.json").write_text(json.dumps(base))
    (tmp_path / "with.json").write_text(json.dumps(base | {key: in_file}))
    assert by_file in run("ss-check", "server", "-c", tmp_path / "with.json")[1]
    for name in ("without.json", "with.json"):
        out = run("ss-check", "server", "-c", tmp_path / name, *flags)[1]
        assert by_flags in out and (by_file == by_flags or by_file not in out)
        if key == "mode":
            assert "(TCP)" not in out


@pytest.mark.parametrize("role", NAMES.values())
@pytest.mark.parametrize("args, status, where, text", [
    (["--no-such"], 1, "stdout", "usage"), (["-Z"], 1, "stderr", "Unrecognized option"), (["-h"], 0, "stdout", "usage"),
    (["-A"], 255, "stderr", "One time auth has been deprecated. Try AEAD ciphers instead."),
    (["-m", "rot13"], 255, "stderr", "invalid cipher name"), (["-c", "/no/such"], 255, "stderr", "Invalid config path."),
    (["-k"], 1, "stderr", "-k"),
])
def test_how_it_ends(role, args, status, where, text):
    code, out, err = run(f"ss-{role}", *args)
    assert code == status and text in {"stdout": out, "stderr": err}[where]


def test_one_bad_address(stage):
    """CF07: the others are listened on, each at its own port, in less than a second; without any: 255."""
    one, two = free_port(), free_port()
    config = {"server": [f"127.0.0.1:{one}", "203.0.113.9", f"127.0.0.1:{two}"], "server_port": 9, "password": PASSWORD,
              "method": METHOD}
    clock = kit.Stopwatch()
    server = stage.serve("server", config, port=two)
    assert clock() < 2 and kit.listening(one)  # the start of a process, and our look at it, are in it
    kit.eventually(lambda: "cannot listen on 203.0.113.9" in server.log(), lambda: server.log())
    lonely = stage.program("server", config | {"server": ["203.0.113.9"]})
    assert lonely.wait() == 255 and "failed to listen on any address" in lonely.stderr()


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 0), (signal.SIGINT, 0)])
@pytest.mark.parametrize("role", ["local", "server", "tunnel", "redir"])
def test_signals(stage, role, number, status):
    port = free_port()
    config = {"server": "127.0.0.1", "server_port": port, "password": PASSWORD, "method": METHOD}
    if role != "server":
        config |= {"local_port": port, "server_port": 9, "tunnel_address": "127.0.0.1:9"}
    program = stage.program(role, config, port=port)
    for harmless in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD):
        program.signal(harmless)
    kit.eventually(lambda: "state: " in program.log(), lambda: program.log())
    program.signal(number)
    assert program.wait() == status, program.log()
