"""The kit of the end-to-end tests, and the matrix at the end: who met whom, by which method."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402
import matrix  # noqa: E402


@pytest.fixture
def stage():
    with kit.Stage() as stage:
        yield stage


@pytest.fixture
def cell(request, record_property):
    """(peer, role of ours, method); how the test ends stands in the matrix."""
    record_property("cell", request.param)
    return request.param


def pytest_terminal_summary(terminalreporter):
    """The picture, and the same for matrix.py in build/."""
    results = {}
    for outcome, held in (("passed", True), ("failed", False), ("error", False)):
        for report in terminalreporter.stats.get(outcome, []):
            for key, value in getattr(report, "user_properties", ()):
                if key == "cell":
                    results[tuple(value)] = held and results.get(tuple(value), True)
    if results:
        (kit.BUILD / "interop.json").write_text(json.dumps([[*cell, held] for cell, held in results.items()]))
        for line in [*matrix.picture(results), matrix.LEGEND]:
            terminalreporter.write_line(line)
