"""One reaction per family, whatever a prober sends: no byte, no reset; an end as soon as the prober ends, or when the
handshake's time is over, which counts from accept and is the same for everything.

Everything runs where no address can be reached, since stream ciphers turn noise into addresses.
"""
import json
import os
import socket

import kit
import probing
import pytest
import sip004
import sip022
from probing import FAMILIES, FEW_LENGTHS, LENGTHS

pytestmark = pytest.mark.ours
CLASS = 1.0  # seconds: the times of all probes of a server lie within
VECTORS = os.path.join(os.environ.get("SS_SHARED", kit.ROOT.parent / "shared"), "protocol", "vectors.json")


@pytest.fixture(autouse=True)
def nowhere():
    try:
        place = probing.nowhere()
        place.__enter__()
    except OSError as error:
        pytest.skip(f"no network namespace ({error}): NOT TESTED how a server answers probers; as root it is, or with "
                    "unshare -rn make e2e E2E=tests/e2e/test_probing.py")
    yield
    place.__exit__(None, None, None)


def serve(stage, family):
    dns = stage.dns({})
    return stage.server(nameserver=dns.address, **family.config)


def built(stage, family):
    """bf-cfb is not in every library."""
    if family.method == "bf-cfb":
        program = stage.program("server", {"server": "127.0.0.1", "server_port": 1, **family.config})
        return "not in this build" not in (kit.eventually(program.stderr, "a refusal") if program.wait() else "")
    return True


def odd(seen, wanted):
    return {what: seen.get(what, "nothing") for what in seen.keys() ^ wanted.keys() | {
        what for what, (_, kind) in seen.items() if kind != "fin"}}


def test_all_ends_come_at_the_same_time(stage):
    """Every probe to every family, at once: silence until the handshake's time is over, which the key alone decides."""
    if kit.sanitized("server"):
        pytest.skip("40 s, waited for with the plain build")
    families = {name: family for name, family in FAMILIES.items() if built(stage, family)}
    lengths = LENGTHS if kit.raise_nofile() > 400 * len(families) else FEW_LENGTHS
    if kit.raise_nofile() < 160 * len(families):
        pytest.skip(f"{160 * len(families)} descriptors needed, {kit.raise_nofile()} allowed: NOT TESTED when ends come")
    target, hole, watch = stage.target(), stage.add(kit.BlackHole()), stage.add(probing.Watch())
    wanted, opening = {}, {}
    for name, family in families.items():
        server = serve(stage, family)
        to_family = probing.probes(family, server, target, lengths)
        if isinstance(family, probing.Stream) and family.speaks:  # noise may name a target that does not answer
            to_family["no answer"] = family.request(sip004.header(hole.host, hole.port))
        for what, data in to_family.items():
            before = watch.clock()
            sock = stage.connect(server.port)
            wanted[name, what] = data
            watch.add((name, what), sock)
            opening[name, what] = watch.clock() - before
            sock.sendall(data)
    opened = watch.clock()
    assert opened < probing.SHORTEST - 5, "too slow a machine: they would not all be open at once"
    seen = watch.run(opened + probing.SHORTEST + 3)
    assert odd(seen, wanted) == {}
    for name, family in families.items():
        times = {what: when for what, (when, _) in seen.items() if what[0] == name}
        first = min(when + opening[what] for what, when in times.items())  # it was accepted while it was opened
        last = max(times.values())
        print(f"{name:32} {len(times):4} probes, {family.time:.2f} s: {first:.2f} to {last:.2f}")
        assert last - first < CLASS, name
        assert family.time - 0.05 < first and last < family.time + CLASS, name


@pytest.mark.parametrize("name", FAMILIES)
def test_an_end_is_answered_by_an_end(stage, name):
    """Of every probe, whether the FIN comes with it or later; at once."""
    family = FAMILIES[name]
    if not built(stage, family):
        pytest.skip(f"{name} is not in this build")
    server, target = serve(stage, family), stage.target()
    for pause in 0, 0.5:
        wanted = probing.probes(family, server, target)
        watch = stage.add(probing.Watch())
        begin = watch.clock()
        for what, data in wanted.items():
            sock = stage.connect(server.port)
            sock.sendall(data)
            if not pause:
                sock.shutdown(socket.SHUT_WR)
            watch.add(what, sock)
        if pause:
            assert watch.run(watch.clock() + pause) == {}
            begin = watch.clock()
            for what, sock in watch.socks.items():
                watch.began[what] = watch.clock()
                sock.shutdown(socket.SHUT_WR)
        until_watched = watch.clock() - begin  # answers are seen after that, the first ones, too
        seen = watch.run(watch.clock() + 5)
        assert odd(seen, wanted) == {}
        assert max(when for when, _ in seen.values()) < until_watched + 2
    server.rests()
    assert not family.speaks or probing.record(family, server, target)


@pytest.mark.skipif(not os.path.exists(VECTORS), reason=f"{VECTORS} is not here: its requests to reject were not sent")
def test_requests_of_the_vectors(stage):
    """Those to reject are answered by silence, those at the border are served. They were made for a clock of 2023: all
    that is readable is sealed again for now."""
    with open(VECTORS) as file:
        negative = json.load(file)["negative"]
    method, key = negative["method"], bytes.fromhex(negative["psk"])
    target = stage.target(port=80)
    dns = stage.dns({"example.com": [target.host]})
    server = stage.server(method=method, password=probing.text_of(key), nameserver=dns.address)

    def fresh(vector, late=0):
        wire = bytes.fromhex(vector["wire"])
        try:
            kind, stamp, length, text = sip022.reopened(method, key, wire)
        except sip022.Forged:
            return wire
        return sip022.request(method, (key,), text, kind, stamp - negative["receiver_clock"] + late, length)[0]

    rejected = {vector["why"]: fresh(vector, 2 * ("ahead" in vector["why"])) for vector in negative["tcp_request"]}
    assert len(rejected) >= 8
    watch = stage.add(probing.Watch())
    for what, data in rejected.items():
        sock = stage.connect(server.port)
        sock.sendall(data)
        watch.add(what, sock)
    assert watch.run(2) == {}
    assert dns.asked == []
    for vector in negative["tcp_request_boundary_accept"]:
        # the clock of time(), which the server reads, lags a few ms behind ours
        request = fresh(vector, 1 if "old" in vector["why"] else -1)
        sock = stage.connect(server.port)
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        answer = sip022.answer(method, key, request[:16], kit.read_all(sock))
        assert answer.startswith(b"GET / HTTP/1.1"), vector["why"]

    old = stage.server(method="aes-256-gcm", password="foobar", nameserver=dns.address)
    watch = stage.add(probing.Watch())
    for vector in negative["sip004_aes_256_gcm"]:
        sock = stage.connect(old.port)
        sock.sendall(bytes.fromhex(vector.get("wire") or vector["wire_prefix"]))
        watch.add(vector["why"], sock)
    assert watch.run(2) == {}
    for sock in watch.socks.values():
        sock.shutdown(socket.SHUT_WR)
    assert odd(watch.run(5), watch.socks) == {}
