"""The shared collection of reported faults in comparable software: its checks that apply to what is
built, run as they are.

They lie in ../shared/bugs beside the repository, or where $SS_SHARED says. Cases that have no check
there have tests of their own: in test_recipes.py, or where the rest of their matter is tested.
"""

import os
import pathlib
import re
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

# Those of configuration, command line and daemon that have no check there: where ours is.
ELSEWHERE = {
    "CF01": "test_config.py::test_syntax_errors", "CF07": "test_contract.py::test_one_bad_address",
    "CF11": "test_contract.py::test_both_ways_and_the_flag_wins",
    "CL05": "test_config.py::test_password_is_wiped_from_the_command_line", "DM01": "test_command_line.py::test_user",
    "DM03": "test_daemon.py::test_symbolic_link", "DM05": "test_plugin.py::test_user",
    "DM07": "test_signals.py::test_live_on", "SE03": "test_dist.py::test_a_server_refuses",
}

pytestmark = pytest.mark.skipif(not CHECKS.exists(), reason=f"{CHECKS} is missing: set SS_SHARED")


def test_none_is_forgotten():
    """Each case is named where it is tested."""
    cases = {path.stem for path in (SHARED / "bugs" / "cases").glob("*.json")}
    files = [kit.ROOT / "Makefile", *(f for f in (kit.ROOT / "tests").rglob("*") if f.suffix in (".py", ".c", ".h"))]
    named = {name for file in files for name in re.findall(r"(?<![A-Z])[A-Z]{2}\d\d(?!\d)", file.read_text())}
    assert cases and not cases - named


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
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, **programs, "TMPDIR": str(tmp_path)},
    )
    verdicts = [line for line in done.stdout.splitlines() if line.startswith(f"{case} ")]
    assert verdicts and verdicts[0].split()[1] == "PASS", done.stdout + done.stderr


def test_none_is_forgotten():
    """Each case of these kinds is checked here or by a test that exists."""
    kinds = {path.stem for path in (SHARED / "bugs" / "cases").glob("*.json") if path.stem[:2] in ("CF", "CL", "DM", "SE")}
    assert kinds and kinds <= {*CASES, *ELSEWHERE}
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (kit.ROOT / "tests" / "e2e" / file).read_text()
