"""Ours against the distribution's ss-local and ss-server, in both roles: every method, both ways, by address and by name."""
import os

import kit
import pytest
import sip004

THEIRS = {role: f"/usr/bin/ss-{role}" for role in ("local", "server")}
OURS = {role: " ".join(kit.command(role)) for role in ("local", "server")}
PAIRS = {
    "our local, their server": (OURS["local"], THEIRS["server"]),
    "their local, our server": (THEIRS["local"], OURS["server"]),
    "our local, our server": (OURS["local"], OURS["server"]),
}
SIZE = kit.MIB
WHOLE = (SIZE, kit.bulk_digest(SIZE))

pytestmark = pytest.mark.skipif(
    not all(os.access(path, os.X_OK) for path in THEIRS.values()),
    reason=f"{' or '.join(THEIRS.values())} is missing: install the package shadowsocks-libev",
)


@pytest.mark.parametrize("method", sip004.METHODS)
@pytest.mark.parametrize("host", ["127.0.0.1", "target.test"])
@pytest.mark.parametrize("pair", PAIRS)
def test_both_ways(stage, monkeypatch, method, host, pair):
    """A megabyte up, then one down, then the end."""

    def target_side(conn):
        received = kit.receive_digest(conn, SIZE)
        kit.send_bulk(conn, SIZE)
        return received

    for role, command in zip(("local", "server"), PAIRS[pair]):
        monkeypatch.setenv(f"SS_{role.upper()}", command)
    dns = stage.dns({"target.test": ["127.0.0.1"]})
    _, local = stage.pair(method=method, nameserver=dns.address)
    target = stage.target(target_side)
    sock = stage.socks(local, target, host=host)
    kit.send_bulk(sock, SIZE)
    assert kit.receive_digest(sock, SIZE) == WHOLE
    assert target.result() == WHOLE
    assert kit.ending(sock, 5) == (b"", "fin")
