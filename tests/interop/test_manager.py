"""Somebody else's program keeps the accounts of our ss-manager: shadowsocks-manager, as its web site would use it."""
import json
import os
import pathlib
import subprocess

import exchange
import kit
import manager
import pytest
from peers.peer import CACHE

PYTHON = CACHE / "shadowsocks-manager" / "bin" / "python"
LAUNCHER = pathlib.Path(__file__).parent / "peers" / "manager_launcher.py"


@pytest.fixture
def keeper(stage, tmp_path):
    """keeper(do, port, ...): what it knows after that. keeper.asks is ours to ask."""
    if not PYTHON.exists():
        pytest.skip(f"SKIPPED {LAUNCHER.stem}: no {PYTHON}; sh dist/setup.sh interop installs it")
    _, asks = manager.start(stage, unix=False)
    with open(tmp_path / "log", "wb") as log:
        program = subprocess.Popen(
            [PYTHON, LAUNCHER, str(asks.address[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            env={**os.environ, "SSM_DATA_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def keep(do, **more):
        program.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        program.stdin.flush()
        line = program.stdout.readline()
        assert line, (tmp_path / "log").read_text()
        return json.loads(line)

    def end():
        program.kill()
        program.communicate()

    stage.callback(end)
    keep.asks = asks
    return keep


def test_accounts(stage, keeper):
    """It adds, lists, counts, changes and removes, and puts back what a manager has forgotten."""
    port, other = kit.free_port(), kit.free_port()
    assert keeper("add", port=port, password="first one")["list"] == {str(port): "first one"}
    known = keeper("add", port=other, password="another")
    assert known["list"] == {str(port): "first one", str(other): "another"}
    assert all(account["created"] and account["accessible"] for account in known["accounts"].values())

    exchange.check(stage, manager.client(stage, port, "first one").port, by_name=False)
    counts = keeper.asks.counts()
    assert counts[port] > 2 * exchange.SIZE and counts[other] == 0
    known = keeper("statistic")["accounts"]
    assert {name: account["transferred"] for name, account in known.items()} == {
        str(number): count for number, count in counts.items()}

    assert keeper("password", port=port, password="second one")["list"][str(port)] == "second one"
    assert manager.serves(stage, port, "second one")
    # a port that was removed begins again: what it had carried stays in its account
    assert keeper("statistic")["accounts"][str(port)]["transferred"] == counts[port] + keeper.asks.counts()[port]

    assert keeper.asks.remove(port) == "ok"
    known = keeper("heartbeat")
    assert set(known["list"]) == {str(port), str(other)} and manager.serves(stage, port, "second one")

    assert set(keeper("remove", port=port)["list"]) == {str(other)}
    assert not kit.listening(port)
