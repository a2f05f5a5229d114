#!/usr/bin/env python3
"""curl fetches a gigabyte through every pairing of ours and the distribution's programs: the same
SHA-256 each time.

The last pairing, if build/musl is there, runs both programs from an empty root as uid 65534, with
nothing in it but the executable. A program to be run by hand; exits 1 if a sum differs, and says
which pairing it had to leave out.
"""

import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kit  # noqa: E402

SIZE = int(os.environ.get("SS_SIZE", 1 << 30))
OURS = {role: " ".join(kit.command(role)) for role in ("local", "server")}
THEIRS = {role: f"/usr/bin/ss-{role}" for role in ("local", "server")}


class Origin(http.server.BaseHTTPRequestHandler):
    """Sends the same gigabyte whatever is asked for."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        for block in kit.bulk(SIZE):
            self.wfile.write(block)

    def log_message(self, *args):
        pass


def fetch(local_port, origin_port):
    """(bytes, SHA-256) of what curl writes."""
    argv = [
        "curl",
        "-sS",
        "--fail",
        "--max-time",
        "300",
        "--noproxy",
        "",
        "--socks5-hostname",
        f"127.0.0.1:{local_port}",
        f"http://localhost:{origin_port}/",
    ]
    digest, count = hashlib.sha256(), 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as curl:
        while block := curl.stdout.read(1 << 18):
            digest.update(block)
            count += len(block)
    return count, digest.hexdigest()


def empty_root(stage):
    """Command lines that start the musl executable as nobody in a root of its own; empty if that
    cannot be done here.
    """
    executable = kit.BUILD / "musl" / "ss"
    if not executable.exists() or os.geteuid():
        print(
            f"SKIP: the empty root needs {executable} (make static-musl) and root", file=sys.stderr
        )
        return {}
    root = pathlib.Path(stage.enter_context(tempfile.TemporaryDirectory(prefix="ss-root-")))
    shutil.copy(executable, root / "ss")
    root.chmod(0o755)
    return {
        role: f"chroot --userspec=65534:65534 {root} /ss {role}" for role in ("local", "server")
    }


def options(role, port, server_port):
    """On the command line: an empty root has no place for a file."""
    own = ["-l", port, "-b", "127.0.0.1"] if role == "local" else []
    return ["-s", "127.0.0.1", "-p", server_port, "-k", kit.PASSWORD, "-m", kit.METHOD, *own]


def pairing(local_command, server_command, origin_port):
    os.environ["SS_LOCAL"], os.environ["SS_SERVER"] = local_command, server_command
    with kit.Stage() as stage:
        server = kit.free_port()
        local = kit.free_port()
        stage.serve("server", None, options("server", server, server), port=server)
        stage.serve("local", None, options("local", local, server), port=local)
        return fetch(local, origin_port)


def main():
    wanted = (SIZE, kit.bulk_digest(SIZE))
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    failed = 0
    with kit.Stage() as stage:
        pairings = [
            ("ours", OURS, "ours", OURS),
            ("ours", OURS, "theirs", THEIRS),
            ("theirs", THEIRS, "ours", OURS),
        ]
        if empty := empty_root(stage):
            pairings.append(("empty root", empty, "empty root", empty))
        for near, local, far, server in pairings:
            if not all(
                shutil.which(programs[role].split()[0])
                for role, programs in (("local", local), ("server", server))
            ):
                print(
                    f"SKIP: {near} and {far}: not installed; the package is shadowsocks-libev",
                    file=sys.stderr,
                )
                continue
            clock = kit.Clock()
            got = pairing(local["local"], server["server"], origin.server_port)
            failed += got != wanted
            print(
                f"local {near:11} server {far:11} {got[0]} bytes, SHA-256 {got[1]}, {clock():5.1f} s: "
                f"{'the same' if got == wanted else 'DIFFERS'}",
                flush=True,
            )
    origin.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
