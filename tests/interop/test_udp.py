"""UDP with the peers that have it, in both roles, by every method that both have: sizes, both families, a name."""
import itertools
import os

import exchange
import kit
import matrix
import pytest
from datagrams import Client, UdpTarget, associate
from peers import PEERS

SIZES = [1, 64, 512, 1200, 1472, 4096, 9000, 65000]
LARGEST = {  # what the peer carries whole
    "shadowsocks-libev": 2784,
    "shadowsocks-rust": 65000,
    "sing-box": 9000,
}
ASKS_FIRST = ("sing-box",)  # its local opens a port for each UDP ASSOCIATE, and no other
ONE_FAMILY = ("sing-box",)  # its server has one socket for a client, of the family of the first target
UNUSABLE = {("shadowsocks-libev", "rc4")}  # takes its first packet only: all have the same IV
CELLS = [
    (name, role, method)
    for name, role, method in matrix.cells()
    if name in LARGEST and (name, method) not in UNUSABLE
]


def with_udp(name, started):
    """sing-box does both unless told otherwise."""
    argv, config = started
    if name not in ASKS_FIRST:
        for element in [config, *config.get("servers", [])]:
            element["mode"] = "tcp_and_udp"
    return argv, config


def let_udp(monkeypatch, name):
    peer = PEERS[name]
    for side in ("local", "server"):
        start = getattr(peer, side)
        monkeypatch.setattr(
            peer, side, lambda *args, start=start: with_udp(name, start(*args)), raising=False
        )
    return peer


def application(stage, name, port):
    """Someone who sends datagrams through the local program of that name."""
    if name not in ASKS_FIRST:
        return stage.add(Client(port))
    _, (host, bound) = associate(stage, port)
    return stage.add(Client(bound, host))


def is_ready(scout, target):
    """A program that listens for TCP already may open its UDP socket a moment later: what comes before is lost."""
    scout.sock.settimeout(0.3)
    try:
        return scout.echoes(target, b"ready?")
    except TimeoutError:
        return False


def carries(stage, local_name, server_name, local):
    """Every size that they carry to both families, and a name, through the local program that listens there."""
    targets = [stage.add(UdpTarget(host)) for host in ("127.0.0.1", "::1")]
    apps = [application(stage, local_name, local)] * 2
    if server_name in ONE_FAMILY:
        apps[1] = application(stage, local_name, local)
    scout, scouted = application(stage, local_name, local), stage.add(UdpTarget())
    kit.eventually(lambda: is_ready(scout, scouted), "datagrams are carried")
    for size in SIZES:
        if size > min(LARGEST.get(name, size) for name in (local_name, server_name)):
            break
        for app, target in zip(apps, targets):
            data = os.urandom(size)
            assert app.echoes(target, data), (size, target.host)
            assert target.take()[0] == data
    data, source = apps[0].ask(("localhost", targets[0].port), b"by name")
    assert data == b"by name" and source[1] == targets[0].port


@pytest.mark.parametrize("cell", CELLS, ids=map("-".join, CELLS))
def test_cell(stage, cell, monkeypatch):
    name, role, method = cell
    peer, password = let_udp(monkeypatch, name), exchange.key_for(method)
    if role == "local":
        port = peer.start_server(stage, method, password)
        local = stage.local(port, method=method, password=password, mode="tcp_and_udp").port
        carries(stage, "ours", name, local)
    else:
        server = stage.server(method=method, password=password, mode="tcp_and_udp")
        carries(stage, name, "ours", peer.start_local(stage, server.port, method, password))


AMONG_THEMSELVES = [
    pair for pair in itertools.permutations(LARGEST, 2) if not any(PEERS[name].missing() for name in pair)
]


@pytest.mark.parametrize("pair", AMONG_THEMSELVES, ids=map("-".join, AMONG_THEMSELVES))
def test_peers_among_themselves(stage, pair, monkeypatch):
    """What they carry without us: the same, or the test asks too much or too little."""
    password = exchange.key_for("aes-256-gcm")
    local, server = (let_udp(monkeypatch, name) for name in pair)
    port = server.start_server(stage, "aes-256-gcm", password)
    carries(stage, *pair, local.start_local(stage, port, "aes-256-gcm", password))


@pytest.mark.parametrize("name", LARGEST)
def test_is_here(name):
    if reason := PEERS[name].missing():
        pytest.skip(reason)
