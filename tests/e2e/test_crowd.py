"""Two thousand sessions at once, all of them open and used, then gone without a trace."""

import asyncio
import os

import kit
import sip004

SESSIONS = 2000
AT_A_TIME = 200  # connects under way: the accept queue is no part of this test


async def session(port, target, gate, all_open, payload):
    async with gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x05\x01\x00\x05\x01\x00" + sip004.header("127.0.0.1", target) + payload)
        assert (await reader.readexactly(12))[:4] == b"\x05\x00\x05\x00"
        assert await reader.readexactly(len(payload)) == payload
    await all_open.wait()
    writer.write(payload)
    assert await reader.readexactly(len(payload)) == payload
    writer.close()


async def crowd(local, server):
    async def echo(reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    target = await asyncio.start_server(echo, "127.0.0.1", 0, backlog=1024)
    port = target.sockets[0].getsockname()[1]
    gate, all_open = asyncio.Semaphore(AT_A_TIME), asyncio.Event()
    tasks = [
        asyncio.create_task(session(local.port, port, gate, all_open, os.urandom(1000)))
        for _ in range(SESSIONS)
    ]
    while True:
        await asyncio.sleep(0.05)
        failed = [task for task in tasks if task.done()]
        if failed or local.fds() - local.idle_fds >= 2 * SESSIONS and gate._value == AT_A_TIME:
            break
    counts = [p.state()["session"] for p in (server, local) if kit.is_ours(p.role)]
    all_open.set()
    await asyncio.gather(*tasks)
    target.close()
    return counts


def test_two_thousand(stage):
    kit.raise_nofile()
    server, local = stage.pair()
    counts = asyncio.run(asyncio.wait_for(crowd(local, server), 5 * kit.PATIENCE))
    assert all(count == SESSIONS for count in counts)
    server.rests()
    local.rests()
