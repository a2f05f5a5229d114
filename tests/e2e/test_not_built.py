"""What a later version brings is refused by name: nobody must believe that a rule is active."""

import kit
import pytest
from kit import METHOD, PASSWORD

pytestmark = pytest.mark.ours
KEYS = [{"servers": [{"acl": "/dev/null"}]}]


def config(**more):
    return {
        "server": "127.0.0.1",
        "server_port": kit.free_port(),
        "local_port": kit.free_port(),
        "password": PASSWORD,
        "method": METHOD,
        **more,
    }


def refused(program):
    assert program.wait() == 255, program.log()
    assert "not built yet" in program.stderr()
    return program.stderr()


@pytest.mark.parametrize("role", ["local", "server"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(stage, role, key):
    assert "acl" in refused(stage.program(role, config(**key)))
