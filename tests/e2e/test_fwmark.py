"""Marked connections after root is given up: the one right that it takes is kept, and no other."""
import os

import kit
import pytest

pytestmark = [pytest.mark.ours, pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up being root")]
NET_ADMIN = 1 << 12


def may_mark():
    with open("/proc/self/status") as file:
        return any(int(line.split()[1], 16) & NET_ADMIN for line in file if line.startswith("CapEff:"))


def test_mark_and_user(stage):
    server = stage.server(["--fwmark", "7", "-a", "nobody"])
    assert int(server.status("CapPrm"), 16) == int(server.status("CapEff"), 16) == (NET_ADMIN if may_mark() else 0)
    assert server.status("Uid") == "65534"
    assert ("may not mark" in server.stderr()) == (not may_mark())
    if may_mark():
        assert kit.works(server)


def test_user_without_mark(stage):
    server = stage.server(["-a", "nobody"])
    assert int(server.status("CapPrm"), 16) == 0
    assert kit.works(server)


def test_warning(stage):
    """Who started without the right is told at once."""
    server = stage.server(["--fwmark", "7"], prefix=("setpriv", "--bounding-set=-net_admin"))
    assert "may not mark connections" in server.stderr() and "CAP_NET_ADMIN" in server.stderr()
