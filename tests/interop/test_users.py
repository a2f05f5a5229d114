"""SIP023: two users of one server, named by identity headers, in both roles."""
import exchange
import matrix
import pytest
from peers import PEERS

CELLS = matrix.cells(users=True)
if not CELLS:
    pytest.skip("no peer that has users is here: sh dist/setup.sh interop", allow_module_level=True)


@pytest.mark.parametrize("cell", CELLS, indirect=True, ids=map("-".join, CELLS))
def test_two_users(stage, cell):
    name, role, method = cell
    method = method.split()[0]
    peer, server_key = PEERS[name], exchange.key_for(method)
    users = [(user, exchange.key_for(method)) for user in ("one", "two")]
    if role == "local":
        port = peer.start_server(stage, method, server_key, users)
    else:
        port = stage.server(
            method=method, password=server_key, users=[{"name": user, "password": key} for user, key in users]).port
    for number, (_, key) in enumerate(users):
        chain = f"{server_key}:{key}"
        if role == "local":
            local = stage.local(port, method=method, password=chain).port
        else:
            local = peer.start_local(stage, port, method, chain)
        exchange.check(stage, local, by_name=number == 1)
