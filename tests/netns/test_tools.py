"""Programs that know nothing of a proxy, behind ss-redir: they see the target, and the target sees the server."""
import contextlib
import ipaddress
import json
import subprocess

import kit
import pytest
from rules import BY_HAND
from services import NameServer, WebServer, start_redir

pytestmark = pytest.mark.ours


@pytest.fixture(params=BY_HAND, ids=lambda kind: kind.name)
def router(request, lab, stage):
    """All TCP and UDP of the LAN is turned to ss-redir."""
    redir = start_redir(lab, stage)
    rules = request.param(lab.router)
    rules.redirect(redir.port)
    rules.tproxy("udp", redir.port)
    return redir


def in_url(host):
    return f"[{host}]" if ":" in host else host


def test_curl(lab, stage, router, version):
    host = lab.TARGET[version]
    target = stage.add(WebServer(lab, host))
    seen = lab.client.run("curl", "-sS", "--noproxy", "*", "-o", "/dev/null", "-w",
                          "%{http_code} %{size_download} %{remote_ip}", f"http://{in_url(host)}/")
    assert seen == f"200 {kit.MIB} {host}"
    assert target.sources == [lab.EXIT[version]]


@pytest.mark.parametrize("way", ("+notcp", "+tcp"))
def test_dig(lab, stage, router, version, way):
    dns = stage.add(NameServer(lab, lab.TARGET[version], {"example.test": ["192.0.2.7"]}))
    seen = lab.client.run("dig", f"@{dns.host}", "-p", dns.port, way, "+tries=1", "example.test", "A")
    assert "192.0.2.7" in seen and f"SERVER: {dns.host}#{dns.port}" in seen, seen


@contextlib.contextmanager
def iperf_server(lab, host):
    with lab.target:
        server = subprocess.Popen(["iperf3", "-s", "-1", "-B", host], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            kit.eventually(lambda: kit.listening(5201), "iperf3 listens")
        except BaseException:
            server.kill()
            raise
    try:
        yield server
        server.wait(kit.PATIENCE)
    finally:
        server.kill()
        server.communicate()


UDP = ["-u", "-b", "1M", "-k", "80"]  # so few that all can wait in a socket: how fast the machine is makes no difference


@pytest.mark.parametrize("flags", (["-n", "8M"], ["-n", "8M", "-R"], UDP, [*UDP, "-R"]), ids=" ".join)
def test_iperf3(lab, stage, router, version, flags):
    host = lab.TARGET[version]
    with iperf_server(lab, host):
        told = json.loads(lab.client.run("iperf3", "-c", host, "-J", *flags))
    assert told["start"]["connected"][0]["remote_host"] == host
    end = told["end"]
    if "-u" in flags:
        assert end["sum"]["packets"] >= 80 and end["sum"]["lost_percent"] < 20, end["sum"]
    else:
        assert end["sum_received"]["bytes"] > kit.MIB
    assert ipaddress.ip_address(told["start"]["connected"][0]["remote_host"]).version == version
