"""At the ceiling of memory_limit everything waits: nobody is refused, nothing spins, and memory stays below it."""

import asyncio
import concurrent.futures
import os
import pathlib
import re
import subprocess

import kit
import pytest
import sip004
from datagrams import Client, UdpTarget

pytestmark = pytest.mark.ours

FIXED = kit.MIB  # what a process has beside all that is limited; ss-config(5)
REQUEST = b"\x05\x01\x00\x05\x01\x00"


def ceilings(program):
    """{"session": 206, ...} of the line that -v logs at the start."""
    line = kit.eventually(lambda: re.search(r"at most (.*)\n", program.log()), "a line with what there may be")
    return {word.removesuffix("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", line[1])}


def limited(stage, size, **config):
    server = stage.server(args=["-v"], memory_limit=size, **config)
    return server, stage.local(server, args=["-v"], memory_limit=size, **config)


def check_memory(program, limit):
    if kit.sanitized(program.role):
        return  # its resident memory means nothing; all else is to hold there, too
    assert program.anon() <= limit + FIXED, f"{program.role} has {program.anon()} bytes"


class Crowd:
    """Clients that say what they want as they come, all at once, and go when they are let."""

    def __init__(self, local, echo):
        self.local, self.echo = local, echo
        self.coming, self.leaving, self.served = asyncio.Semaphore(20), asyncio.Event(), 0

    async def client(self):
        payload = os.urandom(1000)
        async with self.coming:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.local.port)
            writer.write(REQUEST + sip004.header("127.0.0.1", self.echo) + payload)
        assert (await reader.readexactly(12))[:4] == b"\x05\x00\x05\x00"
        assert await reader.readexactly(len(payload)) == payload
        self.served += 1
        await self.leaving.wait()
        writer.write(payload)
        assert await reader.readexactly(len(payload)) == payload
        writer.close()

    async def until_served(self, n, tasks):
        while self.served < n:
            for task in tasks:
                if task.done():
                    task.result()  # or what went wrong
            await asyncio.sleep(0.02)


async def twice_as_many(server, local, limit):
    async def echo(reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    room = min(ceilings(p)["session"] for p in (server, local))
    target = await asyncio.start_server(echo, "127.0.0.1", 0, backlog=1024)
    crowd = Crowd(local, target.sockets[0].getsockname()[1])
    tasks = [asyncio.create_task(crowd.client()) for _ in range(2 * room)]
    await asyncio.wait_for(crowd.until_served(room, tasks), 5 * kit.PATIENCE)
    for program in (server, local):
        program.idles()  # also while it is full
    for program in (server, local):
        assert program.state()["session"] <= ceilings(program)["session"]
        check_memory(program, limit)
    assert crowd.served == room
    crowd.leaving.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 5 * kit.PATIENCE)
    assert crowd.served == 2 * room
    clock = kit.Clock()
    for program in (server, local):
        check_memory(program, limit)
        while program.state()["session"] > 0:  # until the target, which is here, has seen the end of each
            assert clock() < kit.PATIENCE
            await asyncio.sleep(0.02)
    target.close()


def test_twice_as_many_connections(stage):
    kit.raise_nofile()
    server, local = limited(stage, "1M")
    asyncio.run(twice_as_many(server, local, kit.MIB))
    server.rests()
    local.rests()


def loads(programs, seconds=0.5):
    """Of each, during the same time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda program: program.load(seconds), programs))


def test_more_data_than_room(stage):
    """Readers that stand still, then go on: what did not fit has waited at its sender."""
    size = kit.MIB // 4  # little, because who takes nothing for 10 s while others wait is sent away
    server, local = limited(stage, "1M", tcp_incoming_sndbuf=32768, tcp_outgoing_rcvbuf=32768)
    target = stage.target(lambda sock: kit.send_bulk(sock, size))
    room = ceilings(local)["block"]
    readers = room + 10
    socks = [stage.socks(local, target, timeout=5 * kit.PATIENCE) for _ in range(readers)]
    kit.eventually(lambda: local.state()["block"] > room - 8, "as much is held as may be")
    assert max(loads((server, local))) < 0.3, "busy while nobody reads"
    for program in (server, local):
        assert program.state()["block"] <= ceilings(program)["block"]
        check_memory(program, kit.MIB)
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        for result in pool.map(lambda sock: kit.receive_digest(sock, size), socks):
            assert result == (size, kit.bulk_digest(size))
    for program in (server, local):
        check_memory(program, kit.MIB)


def test_more_clients_of_udp(stage):
    server, local = limited(stage, "1M", mode="tcp_and_udp")
    echo = stage.add(UdpTarget())
    room = min(ceilings(p)["association"] for p in (server, local))
    for i in range(2 * room):
        assert stage.add(Client(local.port)).echoes(echo, b"number %d" % i), i
    for program in (server, local):
        assert program.state()["association"] <= ceilings(program)["association"]
        check_memory(program, kit.MIB)


def test_what_is_asked_for_is_lowered(stage):
    program = stage.server(args=["-v"], memory_limit="2M", max_sessions=5000, buffer_limit=64, replay_size=1000000)
    may = ceilings(program)
    assert may["session"] < 5000 and may["block"] < 4096 and may["salt"] < 1000000
    for setting in ("max_sessions", "buffer_limit", "replay_size"):
        assert re.search(rf"WARNING: {setting}: \d+ (KiB are|is) all that memory_limit allows\n", program.log())
    program = stage.server(args=["-v"], max_sessions=77, buffer_limit=3, replay_size=5000)
    may = ceilings(program)
    assert (may["session"], may["block"], may["salt"]) == (77, 3 * 64, 5000)
    assert "memory_limit" not in program.log()


def test_too_little_for_its_workers(stage):
    config = {"server_port": kit.free_port(), "password": "x", "memory_limit": "3M", "workers": 4}
    program = stage.program("server", config)
    assert program.wait() == 255
    assert "memory_limit: 4 workers take 4M at least\n" in program.log()
    done = subprocess.run([kit.BUILD / "ss-check", "server", "-c", program.home / "config.json"], capture_output=True, text=True)
    assert done.returncode == 1 and "FAIL  memory_limit: 4 workers take 4M at least\n" in done.stdout


def test_control_group(stage):
    """Its memory.max counts, if that is less than the machine has."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("SKIPPED control_group: no mount namespaces here")
    groups = pathlib.Path("/proc/self/cgroup").read_text()
    own = re.search(r"^0::(/.*)$", groups, re.M)
    if not own:
        pytest.skip("SKIPPED control_group: no control groups of the new version here")
    root = stage.program("server", "{}").home / "groups"
    (root / own[1].strip("/")).mkdir(parents=True)
    (root / own[1].strip("/") / "memory.max").write_text("max\n")
    (root / "memory.max").write_text(f"{32 * kit.MIB}\n")
    mount = f"mount --bind {root} /sys/fs/cgroup && exec \"$@\""
    server = stage.server(args=["-v"], prefix=["unshare", "-rm", "sh", "-c", mount, "sh"])
    may = ceilings(server)
    assert may["block"] * 16384 <= 8 * kit.MIB and may["session"] * 1272 <= 2 * kit.MIB and may["salt"] * 69 <= 2 * kit.MIB
