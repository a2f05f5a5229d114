"""make check itself: when a stage counts as failed. A make that only pretends says what each stage wrote."""
import os
import re
import subprocess

import kit
import pytest

ONE = "1 passed, 0 failed"


def check(folder, stage, wrote, status=0, **environment):
    """(exit status, output) when this stage writes that and all others pass."""
    make = folder / "make"
    make.write_text(f'#!/bin/sh\ncase " $* " in *" {stage} "*) printf "%s\\n" "{wrote}"; exit {status};; esac\necho "{ONE}"\n')
    make.chmod(0o755)
    done = subprocess.run(["sh", kit.ROOT / "tests/check.sh"], cwd=folder, capture_output=True, text=True, timeout=2 * kit.PATIENCE,
                          env={**os.environ, "MAKE": str(make), **environment})
    return done.returncode, done.stdout


@pytest.mark.parametrize("wrote, status, good", [
    (ONE, 0, True),
    ("5 passed, 1 skipped in 3s", 0, True),
    ("2 passed, 1 failed", 1, False),
    (ONE, 2, False),
    ("nothing", 0, False),
    ("0 passed, 0 failed, 3 skipped", 0, False),
    ("SKIPPED noheap: no way\n0 passed, 0 failed, 1 skipped", 0, True),
], ids=["one", "some", "failed", "status", "nothing", "idle", "with a reason"])
def test_stage(tmp_path, wrote, status, good):
    code, out = check(tmp_path, "noheap", wrote, status, SS_SHARED=str(tmp_path))
    assert (code == 0) == good, out


def test_without_the_shared_data(tmp_path):
    """What lies there alone is left out, loudly."""
    code, out = check(tmp_path, "none", "", SS_SHARED="/nonexistent")
    assert code == 0 and "SKIPPED bugs: there is no /nonexistent/bugs: set SS_SHARED" in out


def test_over_kqueue(tmp_path):
    """What that has no part in is left out, loudly."""
    _, out = check(tmp_path, "none", "", SS_SHARED=str(tmp_path), POLLER="kqueue")
    assert "SKIPPED netns: " in out and "SKIPPED size: " in out and "SKIPPED noheap" not in out


def test_lines_stay_together(tmp_path):
    """Stages run at once; each is told of when it has ended, under its name, and nobody is left out."""
    (tmp_path / "make").write_text('#!/bin/sh\nfor n in 1 2 3; do echo "line $n of $*"; done\necho "1 passed, 0 failed"\n')
    (tmp_path / "make").chmod(0o755)
    done = subprocess.run(["sh", kit.ROOT / "tests/check.sh"], cwd=tmp_path, capture_output=True, text=True, timeout=2 * kit.PATIENCE,
                          env={**os.environ, "MAKE": str(tmp_path / "make"), "SS_SHARED": str(tmp_path)})
    blocks = dict(block.split("\n", 1) for block in ("\n" + done.stdout).split("\n== ")[1:])
    stages = set(re.findall(r'^\s*(?:run|unless_kqueue "[^"]*") ([\w-]+) ', (kit.ROOT / "tests/check.sh").read_text(), re.MULTILINE))
    assert f"{len(stages) - 1} passed, 0 failed, 1 skipped" in blocks.pop("sums")
    assert set(blocks) == set(stages)
    for name, block in blocks.items():
        words = [line.split()[:3] for line in block.splitlines()]
        assert words[:3] == [["line", n, "of"] for n in "123"] or name == "bugs", (name, block)
