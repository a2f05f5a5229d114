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
OPENING = 30  # seconds in which all connections are opened
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
        program = stage.program("server", {"server": "127.0.0.1", "server_port": (port := kit.free_port()), **family.config})
        kit.eventually(lambda: not program.alive() or kit.listening(port), program.log)
        return "not in this build" not in program.stderr()
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
    wanted, opening, left_out = {}, {}, 0
    for number, (name, family) in enumerate(families.items(), start=1):
        server = serve(stage, family)
        to_family = probing.probes(family, server, target, lengths)
        if isinstance(family, probing.Stream) and family.speaks:  # noise may name a target that does not answer
            to_family["no answer"] = family.request(sip004.header(hole.host, hole.port))
        for what, data in sorted(to_family.items(), key=lambda probe: "random" in probe[0]):
            if watch.clock() > OPENING * number / len(families):  # all are to be open at once
                left_out += 1
                continue
            before = watch.clock()
            sock = stage.connect(server.port)
            wanted[name, what] = data
            watch.add((name, what), sock)
            opening[name, what] = watch.clock() - before
            sock.sendall(data)
    opened = watch.clock()
    if opened > probing.SHORTEST - 2:
        pytest.skip("too slow a machine: they would not all be open at once: NOT TESTED when ends come")
    watch.run(probing.SHORTEST - 3)
    disturbed = kit.pulse().late()
    seen = watch.run(opened + probing.SHORTEST + kit.PATIENCE)
    disturbed = kit.pulse().late() - disturbed  # so much less can be told
    assert odd(seen, wanted) == {}
    for name, family in families.items():
        if not any(what[0] == name for what in seen):
            continue
        times = {what: when for what, (when, _) in seen.items() if what[0] == name}
        first = min(when + opening[what] for what, when in times.items())  # it was accepted while it was opened
        last = max(times.values())
        print(f"{name:32} {len(times):4} probes, {family.time:.2f} s: {first:.2f} to {last:.2f}")
        assert last - first < CLASS + disturbed, name
        assert family.time - 0.05 < first and last < family.time + CLASS + disturbed, name
    if left_out:
        pytest.skip(f"{len(seen)} probes were answered as they should, {left_out} were NOT TESTED: too slow a machine")


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
        for what, data in wanted.items():
            sock = stage.connect(server.port)
            sock.sendall(data)
            if not pause:
                sock.shutdown(socket.SHUT_WR)
            watch.add(what, sock)
        if pause:
            assert watch.run(watch.clock() + pause) == {}
            for what, sock in watch.socks.items():
                watch.began[what] = watch.clock()
                sock.shutdown(socket.SHUT_WR)
        late = kit.Stopwatch()
        seen = watch.run(watch.clock() + kit.PATIENCE)
        assert odd(seen, wanted) == {}
        assert late() < 5
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

    rejected = {vector["why"]: vector for vector in negative["tcp_request"]}
    assert len(rejected) >= 8
    watch = stage.add(probing.Watch())
    for what, vector in rejected.items():
        sock = stage.connect(server.port)
        sock.sendall(fresh(vector, 5 * ("ahead" in what)))  # ahead still when it is read
        watch.add(what, sock)
    assert watch.run(watch.clock() + 2) == {}
    assert dns.asked == []
    for vector in negative["tcp_request_boundary_accept"]:
        def served(vector=vector):
            # the clock of time(), which the server reads, lags a few ms behind ours
            request = fresh(vector, 1 if "old" in vector["why"] else -1)
            sock = stage.connect(server.port)
            sock.sendall(request)
            sock.shutdown(socket.SHUT_WR)
            answer = kit.read_all(sock)
            return answer and sip022.answer(method, key, request[:16], answer).startswith(b"GET / HTTP/1.1")

        kit.eventually(served, vector["why"])  # at the first try, unless more than a second passes on the way

    old = stage.server(method="aes-256-gcm", password="foobar", nameserver=dns.address)
    watch = stage.add(probing.Watch())
    for vector in negative["sip004_aes_256_gcm"]:
        sock = stage.connect(old.port)
        sock.sendall(bytes.fromhex(vector.get("wire") or vector["wire_prefix"]))
        watch.add(vector["why"], sock)
    assert watch.run(watch.clock() + 2) == {}
    for sock in watch.socks.values():
        sock.shutdown(socket.SHUT_WR)
    assert odd(watch.run(watch.clock() + 30), watch.socks) == {}
