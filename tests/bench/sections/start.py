"""g. Sizes, the libraries that are needed, and the time from exec to listening."""
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import bench
import contestants
import kit
from results import Failed, with_method

TITLE = "Size and start"
TEXT = ("Milliseconds from exec until a connection is accepted; the files of client and server, and what they are "
        "linked with. Node and Python bring interpreters that are not counted.")
METRICS = [("ms", "ms", ".2f"), ("fastest", "fastest ms", ".2f"), ("kib", "files KiB", ".0f"),
           ("libraries", "libraries", ".0f"), ("libraries_kib", "libraries KiB", ".0f")]


def begun(peer, role, method):
    """Seconds until a connect succeeds; the program is ended again."""
    port, key = kit.free_port(), contestants.password(method)
    started = peer.local(port, 9, method, key) if role == "local" else peer.server(port, method, key)
    argv, config = [str(word) for word in started[0]], started[1]
    with tempfile.TemporaryDirectory(prefix="ss-bench-") as home:  # some write logs where they are
        if config:
            pathlib.Path(home, "config.json").write_text(json.dumps(config))
            argv += ["-c", f"{home}/config.json"]
        quiet = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
        begin = time.monotonic()
        process = subprocess.Popen(argv, env={**os.environ, **peer.env}, cwd=home, close_fds=False, **quiet)
        try:
            while time.monotonic() - begin < 60:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        return time.monotonic() - begin
            raise Failed(f"does not listen within 60 s as {role}")
        finally:
            process.kill()
            process.wait()


def sizes(peer):
    """Of the executables, and of the libraries that they name; a script counts itself alone."""
    libraries = set()
    files = {pathlib.Path(path).resolve() for path in peer.programs}
    for file in files:
        told = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        libraries |= {pathlib.Path(path).resolve() for path in re.findall(r"(/\S+) \(0x", told)}
    return {"kib": sum(os.stat(path).st_size for path in files) / 1024, "libraries": len(libraries),
            "libraries_kib": sum(os.stat(path).st_size for path in libraries) / 1024}


def run(results):
    method = results.options.one_method
    peers = [peer for peer in with_method(results, method) if peer.name not in contestants.PLAINS]
    for role in ("local", "server"):
        times = {peer.name: [] for peer in peers}
        for _ in range(results.options.starts):
            for peer in peers:
                try:
                    times[peer.name].append(1000 * begun(peer, role, method))
                except (Failed, OSError) as error:
                    results.failed("start", method, role, peer.name, error)
        for peer in peers:
            if all_ms := times[peer.name]:
                sample = {"ms": bench.median(all_ms), "fastest": min(all_ms), **sizes(peer)}
                results.add("start", method, role, peer.name, sample)
