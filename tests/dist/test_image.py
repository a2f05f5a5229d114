"""The OCI image: what is in it, that it is the same whenever it is made, and that it runs."""

import gzip
import hashlib
import json
import os
import subprocess
import tarfile

import box
import kit
import pytest
from conftest import ROOT, STATIC

LAYER_MAX = 300 * 1024


def make(out, umask=0o022, **env):
    """As `make image` calls it, in another directory and with another time of day if `env` says so."""
    ours = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(["sh", ROOT / "dist/image.sh", STATIC, out, "shadowsocks:test"], check=True, capture_output=True,
                   env={**ours, **env}, umask=umask)
    return out


@pytest.fixture
def image(root, tmp_path):
    out = make(tmp_path / "image.tar")
    folder = tmp_path / "image"
    with tarfile.open(out) as archive:
        archive.extractall(folder)
    return folder


def blob(image, descriptor):
    data = (image / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
    assert len(data) == descriptor["size"]
    assert "sha256:" + hashlib.sha256(data).hexdigest() == descriptor["digest"]
    return data


def parts(image):
    """(configuration, bytes of the layer)"""
    index = json.loads((image / "index.json").read_bytes())
    manifest = json.loads(blob(image, index["manifests"][0]))
    config = json.loads(blob(image, manifest["config"]))
    (layer,) = manifest["layers"]
    return config, blob(image, layer)


def test_layout(image):
    assert json.loads((image / "oci-layout").read_bytes()) == {"imageLayoutVersion": "1.0.0"}
    config, layer = parts(image)
    assert config["config"]["User"] == "65534:65534" and config["config"]["Entrypoint"] == ["/ss"]
    unpacked = gzip.decompress(layer)
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(unpacked).hexdigest()]


def test_one_file(image, tmp_path):
    (tmp_path / "layer").write_bytes(parts(image)[1])
    with tarfile.open(tmp_path / "layer") as layer:
        (member,) = layer.getmembers()
        assert (member.name, member.mode, member.uid, member.gid, member.mtime) == ("ss", 0o755, 0, 0, 0)
        assert layer.extractfile(member).read() == STATIC.read_bytes()


def test_size(image):
    assert len(parts(image)[1]) <= LAYER_MAX


def test_bits(root, tmp_path):
    """Not even another umask, time zone, language or user makes a difference."""
    one = make(tmp_path / "one.tar")
    two = make(tmp_path / "two.tar", umask=0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", TMPDIR=str(tmp_path))
    assert one.read_bytes() == two.read_bytes()
    assert make(tmp_path / "three.tar", SOURCE_DATE_EPOCH="1700000000").read_bytes() != one.read_bytes()


def bundle(image, folder, args):
    """A bundle for runc, as a runtime makes it of the image: read-only, with the network of the host. /proc is for runc
    itself, which cannot start anything without."""
    config, layer = parts(image)
    (folder / "layer").write_bytes(layer)
    (folder / "rootfs").mkdir(parents=True)
    with tarfile.open(folder / "layer") as archive:
        archive.extractall(folder / "rootfs")
    (folder / "rootfs").chmod(0o755)
    (folder / "rootfs/proc").mkdir()
    user, group = config["config"]["User"].split(":")
    (folder / "config.json").write_text(json.dumps({
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "user": {"uid": int(user), "gid": int(group)}, "cwd": config["config"]["WorkingDir"],
            "args": config["config"]["Entrypoint"] + args, "env": [], "noNewPrivileges": True,
            "capabilities": {}, "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 4096, "soft": 4096}],
        },
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
    }))
    return folder


def test_runc(stage, tool, image, tmp_path):
    tool("runc")
    port = kit.free_port()
    (tmp_path / "bundle").mkdir()
    folder = bundle(image, tmp_path / "bundle",
                    ["server", "-s", "127.0.0.1", "-p", str(port), "-k", kit.PASSWORD, "-m", kit.METHOD])
    name = f"shadowsocks-test-{os.getpid()}"
    runc = ["runc", "--root", str(tmp_path / "state")]
    server = stage.program("server", argv=[*runc, "run", "--bundle", str(folder), name])
    stage.callback(lambda: subprocess.run([*runc, "delete", "--force", name], capture_output=True, timeout=60))
    kit.eventually(lambda: kit.listening(port) or not server.alive(), "it listens in the container")
    if not server.alive() and not kit.listening(port):
        if any(word in server.log() for word in ("cgroup", "not permitted", "permission denied")):
            pytest.skip(f"runc can make no container on this machine: {server.log()[-200:]}")
        raise AssertionError(server.log())
    server.port = port
    target = stage.target()
    sock = stage.socks(stage.local(port), target)
    sock.sendall(b"ping")
    assert kit.read(sock, 4) == b"ping"
    subprocess.run([*runc, "kill", name, "TERM"], check=True, timeout=60)
    assert server.wait(kit.PATIENCE) == 0


def test_bwrap(stage, tool, image, tmp_path):
    tool("bwrap")
    (tmp_path / "layer").write_bytes(parts(image)[1])
    (tmp_path / "rootfs").mkdir(mode=0o755)
    with tarfile.open(tmp_path / "layer") as archive:
        archive.extractall(tmp_path / "rootfs")
    done = subprocess.run([*box.bwrap(tmp_path / "rootfs"), "/ss", "--version"], capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(b"shadowsocks ")
