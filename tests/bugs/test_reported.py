"""The shared collection of reported faults in comparable software: its checks that apply to what is
built, run as they are.

They lie in ../shared/bugs beside the repository, or where $SS_SHARED says. Left out are those that
have no check.
"""

import os
import pathlib
import subprocess
import sys

import kit
import pytest

SHARED = pathlib.Path(os.environ.get("SS_SHARED", kit.ROOT.parent / "shared")).resolve()
CHECKS = SHARED / "bugs" / "lib" / "auto_H.py"
CASES = """
TC01 TC03 TC05 TC07 TC11 TC13 TC15 TC17 TC19 TC21 CR02 CR04 CR06 CR08 CR10 CR12 CR14 CR18
MG01 MG03 MG05 MG07
SK01 SK03 SK05 SK07 SK09 SK11 SK13 SK15 UD01 UD05 UD09 UD11 UD13
AC01 AC03 AC07 DN03 DN05 DN09 CF03 CF05 CF09 CF13 CL01 CL03 PL01 PL03 PL05 PL07 SE01 SE05 SE07 SE09
""".split()

pytestmark = pytest.mark.skipif(not CHECKS.exists(), reason=f"{CHECKS} is missing: set SS_SHARED")


@pytest.mark.parametrize("case", CASES)
def test_case(case, tmp_path):
    programs = {
        f"SS_{role.upper()}": os.environ.get(f"SS_{role.upper()}") or str(kit.BUILD / f"ss-{role}")
        for role in ("local", "server", "tunnel", "redir", "manager")
    }
    done = subprocess.run(
        [sys.executable, "-B", CHECKS, case],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, **programs, "TMPDIR": str(tmp_path)},
    )
    verdicts = [line for line in done.stdout.splitlines() if line.startswith(f"{case} ")]
    assert verdicts and verdicts[0].split()[1] == "PASS", done.stdout + done.stderr
