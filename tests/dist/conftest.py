"""The static executable, alone: SS_STATIC, or build/musl/ss as `make static-musl` left it."""

import os
import pathlib
import shutil

import kit
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATIC = pathlib.Path(os.environ.get("SS_STATIC", ROOT / "build/musl/ss"))


@pytest.fixture
def stage():
    with kit.Stage() as stage:
        yield stage


@pytest.fixture
def tool():
    """tool("runc"): the test is skipped where there is none."""

    def find(name):
        if not shutil.which(name):
            pytest.skip(f"no {name} here (sh dist/setup.sh check)")
        return name

    return find


@pytest.fixture
def root(tmp_path):
    """A directory that has the executable and nothing else."""
    if not STATIC.exists():
        pytest.skip(f"no {STATIC} here: make static-musl")
    tmp_path.chmod(0o755)
    folder = tmp_path / "root"
    folder.mkdir(mode=0o755)
    shutil.copy2(STATIC, folder / "ss")
    return folder
