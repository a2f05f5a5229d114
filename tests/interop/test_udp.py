"""UDP with the peers that have it, in both roles, by every method that both have: sizes, both families, a name."""
import os

import exchange
import kit
import matrix
import pytest
from datagrams import Client, UdpTarget
from peers import PEERS

SIZES = [1, 64, 512, 1200, 1472, 4096, 9000, 65000]
LARGEST = {  # what the peer carries whole
    "shadowsocks-libev": 2784,
    "shadowsocks-rust": 65000,
}
UNUSABLE = {("shadowsocks-libev", "rc4")}  # takes its first packet only: all have the same IV
CELLS = [
    (name, role, method)
    for name, role, method in matrix.cells()
    if name in LARGEST and (name, method) not in UNUSABLE
]


def with_udp(started):
    argv, config = started
    config["mode"] = "tcp_and_udp"
    for element in config.get("servers", []):
        element["mode"] = "tcp_and_udp"
    return argv, config


def is_ready(scout, target):
    """A program that listens for TCP already may open its UDP socket a moment later: what comes before is lost."""
    scout.sock.settimeout(0.3)
    try:
        return scout.echoes(target, b"ready?")
    except TimeoutError:
        return False


@pytest.mark.parametrize("cell", CELLS, ids=map("-".join, CELLS))
def test_cell(stage, cell, monkeypatch):
    name, role, method = cell
    peer, password = PEERS[name], exchange.key_for(method)
    start = {side: getattr(peer, side) for side in ("local", "server")}
    monkeypatch.setattr(peer, "local", lambda *args: with_udp(start["local"](*args)), raising=False)
    monkeypatch.setattr(peer, "server", lambda *args: with_udp(start["server"](*args)), raising=False)
    if role == "local":
        port = peer.start_server(stage, method, password)
        local = stage.local(port, method=method, password=password, mode="tcp_and_udp").port
    else:
        server = stage.server(method=method, password=password, mode="tcp_and_udp")
        local = peer.start_local(stage, server.port, method, password)

    four, six, app = stage.add(UdpTarget()), stage.add(UdpTarget("::1")), stage.add(Client(local))
    scout, scouted = stage.add(Client(local)), stage.add(UdpTarget())
    kit.eventually(lambda: is_ready(scout, scouted), f"{name} carries datagrams")
    for size in SIZES:
        if size <= LARGEST[name]:
            data = os.urandom(size)
            assert app.echoes(four, data), size
            assert four.take()[0] == data
    assert app.echoes(six, b"by IPv6")
    data, source = app.ask(("localhost", four.port), b"by name")
    assert data == b"by name" and source[1] == four.port


@pytest.mark.parametrize("name", LARGEST)
def test_is_here(name):
    if reason := PEERS[name].missing():
        pytest.skip(reason)
