"""relay.py DIRECTORY [RUNNER...]: the executable in DIRECTORY relays as local and server, TCP and UDP, one method of each
family, or those that METHODS names; the programs run as RUNNER says (an emulator). Prints "relay N/M" and the resident KB
of the idle server."""
import os
import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
build, runner = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
for role in ("local", "server"):
    os.environ[f"SS_{role.upper()}"] = " ".join([*runner, str(build / f"ss-{role}")])

import kit  # noqa: E402
from datagrams import Client, UdpTarget  # noqa: E402

METHODS = {
    "chacha20-ietf-poly1305": "secret",
    "aes-256-gcm": "secret",
    "2022-blake3-aes-128-gcm": "SeBiKiHKAcdJV6Fu9K+Xfg==",
    "aes-256-cfb": "secret",
}
METHODS = {name: METHODS[name] for name in os.environ.get("METHODS", " ".join(METHODS)).split()}
BYTES = 2 * kit.MIB


def mappings(pid):
    """(start, what is mapped, KB resident) of each."""
    rows = []
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            rows.append([int(words[0].split("-")[0], 16), words[5] if len(words) > 5 else "", 0])
        elif words[0] == "Rss:":
            rows[-1][2] = int(words[1])
    return rows


def resident(pid):
    """KB of the program itself. An emulator keeps what is its guest's within the 4 GB in which it maps the executable."""
    rows = mappings(pid)
    if not runner:
        return sum(kb for _, _, kb in rows)
    low = min(start for start, name, _ in rows if name == str(build / "ss-server")) & ~0xFFFFFFFF
    return sum(kb for start, _, kb in rows if low <= start < low + (1 << 32))


def tcp(stage, local):
    target = stage.target()
    sock = stage.socks(local, target, timeout=60)
    threading.Thread(target=kit.send_bulk, args=(sock, BYTES), daemon=True).start()
    assert kit.receive_digest(sock, BYTES) == (BYTES, kit.bulk_digest(BYTES))


def udp(stage, local):
    echo, app = stage.add(UdpTarget()), stage.add(Client(local.port))
    for size in (1, 512, 1400, 9000):
        assert app.echoes(echo, os.urandom(size)), size


def relay(method, password):
    with kit.Stage() as stage:
        server, local = stage.pair(method=method, password=password, mode="tcp_and_udp")
        idle = resident(server.pid)
        tcp(stage, local)
        udp(stage, local)
    return idle


passed, idle = 0, 0
for method, password in METHODS.items():
    try:
        idle = max(idle, relay(method, password))
        passed += 1
    except (AssertionError, OSError, EOFError) as error:
        print(f"FAIL relay {method}: {error!r}")
print(f"relay {passed}/{len(METHODS)} idle {idle}")
sys.exit(passed < len(METHODS))
