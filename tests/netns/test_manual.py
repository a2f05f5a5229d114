"""The rules in the manual of ss-redir, as they stand there."""
import contextlib
import re

import kit
import pytest
from services import EchoTarget, UdpEcho, start_redir

pytestmark = pytest.mark.ours


def test_rules(lab, stage):
    """Both ways and both families; and when ss-redir has ended no datagram leaves unproxied."""
    page = (kit.ROOT / "man" / "ss-redir.1").read_text()
    nft, commands = re.findall(r"\.Bd [^\n]*\n(.*?)\.Ed", page[page.index(".Sh RULES"):], re.S)[:2]
    redir = start_redir(lab, stage)
    lab.router.run("nft", "-f", "-", text=nft.replace("\\e\n", "\\\n").replace(":1081", f":{redir.port}"))
    for command in commands.splitlines():
        lab.router.run(*command.removeprefix("# ").split())
    udp = {version: stage.add(UdpEcho(lab, lab.TARGET[version])) for version in (4, 6)}
    for version in (4, 6):
        target = stage.add(EchoTarget(lab, lab.TARGET[version]))
        with contextlib.closing(target.connect(lab.client)) as sock:
            sock.sendall(b"hello")
            assert kit.read(sock, 5) == b"hello"
        assert udp[version].ask(lab.client, b"hello") == b"hello"
        assert target.sources == udp[version].sources == [lab.EXIT[version]]
    redir.stop()
    for version in (4, 6):
        with pytest.raises(TimeoutError):
            udp[version].ask(lab.client, b"hello", timeout=0.5)
        assert udp[version].sources == [lab.EXIT[version]]
