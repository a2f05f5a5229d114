"""ss-redir with an access control list: what its rules say goes from the router itself to the target, the rest from the
server; answers come from the target either way.
"""
import contextlib

import kit
import pytest
from rules import BY_HAND
from services import EchoTarget, UdpEcho, start_redir

pytestmark = pytest.mark.ours
DIRECT = {4: "45.66.0.1", 6: "2a0e:66::1"}  # the router, as the world sees it


@pytest.mark.parametrize("tcp", ("redirect", "tproxy"))
@pytest.mark.parametrize("kind", BY_HAND, ids=lambda kind: kind.name)
def test_direct_and_not(lab, stage, tmp_path, version, kind, tcp):
    rules = kind(lab.router)
    first, second = lab.TARGET[version], {4: "45.67.0.3", 6: "2a0e:67::3"}[version]
    path = tmp_path / "list.acl"
    path.write_text(f"[proxy_all]\n[bypass_list]\n{first}\n")
    redir = start_redir(lab, stage, args=["-T"] if tcp == "tproxy" else [], acl=str(path))
    rules.redirect(redir.port) if tcp == "redirect" else rules.tproxy("tcp", redir.port)
    rules.tproxy("udp", redir.port)
    for address, source in ((first, DIRECT[version]), (second, lab.EXIT[version])):
        target, echo = stage.add(EchoTarget(lab, address)), stage.add(UdpEcho(lab, address))
        with contextlib.closing(target.connect(lab.client)) as sock:
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"
        for _ in range(2):
            assert echo.ask(lab.client, b"hello") == b"hello"
        assert target.sources == [source] and echo.sources == [source]
