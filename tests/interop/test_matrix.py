"""Ours with every peer that is here, in both roles, by every method that both have."""
import exchange
import matrix
import pytest
from peers import PEERS

CELLS = matrix.cells()


@pytest.mark.parametrize("name", PEERS)
def test_is_here(name):
    if reason := PEERS[name].missing():
        pytest.skip(reason)


@pytest.mark.parametrize("cell", CELLS, indirect=True, ids=map("-".join, CELLS))
def test_cell(stage, cell):
    name, role, method = cell
    peer, password = PEERS[name], exchange.key_for(method)
    # each method by address in one role and by name in the other
    by_name = (matrix.our_methods().index(method) + (role == "local")) % 2 == 1
    if role == "local":
        port = peer.start_server(stage, method, password)
        local = stage.local(port, method=method, password=password).port
    else:
        server = stage.server(method=method, password=password)
        local = peer.start_local(stage, server.port, method, password)
    exchange.check(stage, local, by_name)
