"""What `make dist` has left in build/dist. That it is the same when made again is `make reproducible`."""

import hashlib
import json
import os
import re
import subprocess
import tarfile

import pytest
from conftest import ROOT

OUT = ROOT / "build/dist"


@pytest.fixture(scope="module")
def name():
    if not OUT.is_dir():
        pytest.skip(f"no {OUT} here: make dist")
    (archive,) = OUT.glob("*.tar.gz")
    return archive.name.removesuffix(".tar.gz")


@pytest.fixture
def executables(name):
    return sorted(OUT.glob(f"{name}-*-linux-*"))


def test_checksums(name):
    """Of every file; as sha256sum -c reads them."""
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=OUT, check=True, capture_output=True)
    listed = {line.split()[1] for line in (OUT / "SHA256SUMS").read_text().splitlines()}
    assert listed | {"SHA256SUMS"} == {path.name for path in OUT.iterdir()}


def test_sources(name):
    """All that belongs to them, under one folder, of nobody and of no date."""
    with tarfile.open(OUT / f"{name}.tar.gz") as archive:
        members = archive.getmembers()
        contents = {m.name.removeprefix(name + "/"): archive.extractfile(m).read() for m in members if m.isfile()}
    assert all(m.name.startswith(name + "/") and (m.uid, m.gid) == (0, 0) for m in members)
    assert len({m.mtime for m in members}) == 1
    assert {"Makefile", "LICENSE", "README.md", "ss.c", ".clang-format", "dist/openwrt/Makefile"} <= contents.keys()
    assert not any(path.startswith((".git/", "build/")) for path in contents)
    if (ROOT / ".git").exists():
        known = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        assert sorted(contents) == sorted(known)
    for path in "Makefile", "dist/release.sh", "net/wire.c":
        assert contents[path] == (ROOT / path).read_bytes()


def test_executables(executables):
    assert executables
    for path in executables:
        assert os.access(path, os.X_OK)
        subprocess.run(["sh", ROOT / "tests/structure/is_static.sh", path], check=True, capture_output=True)


def test_bill_of_materials(name, executables):
    """The versions are those that the executable itself tells; the checksums are those of the files."""
    bill = json.loads((OUT / f"{name}.cdx.json").read_bytes())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    whole = bill["metadata"]["component"]
    assert f"{whole['name']}-{whole['version']}" == name
    told = subprocess.run([executables[0], "--version"], check=True, capture_output=True, text=True).stdout
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert versions.keys() == {"libsodium", "mbedtls", "c-ares", "musl"}
    for library in "libsodium", "mbedtls", "c-ares":
        assert re.search(rf"^{library} {re.escape(versions[library])} ", told, re.M), told
    sums = {part["name"]: part["hashes"][0]["content"] for part in whole["components"]}
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in executables}
    for component in bill["components"]:
        assert component["purl"].startswith("pkg:deb/debian/" + component["name"] + "@")
        assert component["licenses"] and (component["name"] == "musl" or len(component["hashes"][0]["content"]) == 64)
