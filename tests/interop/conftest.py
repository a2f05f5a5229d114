"""The kit of the end-to-end tests, and the matrix at the end: who met whom, by which method."""
import collections
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kit  # noqa: E402


@pytest.fixture
def stage():
    with kit.Stage() as stage:
        yield stage


def pytest_terminal_summary(terminalreporter):
    """One row a method and target; "whole": every byte came, both ways."""
    rows, pairs = collections.defaultdict(dict), []
    for outcome, word in (("passed", "whole"), ("failed", "FAILED")):
        for report in terminalreporter.stats.get(outcome, []):
            if found := re.search(r"\[(.+?)-([^-]+\.[^-]+)-(.+)\]$", report.nodeid):
                pair, host, method = found.groups()
                rows[method, host][pair] = word
                pairs += [pair] if pair not in pairs else []
    for (method, host), row in sorted(rows.items()):
        cells = ", ".join(f"{pair}: {row.get(pair, '-')}" for pair in sorted(pairs))
        terminalreporter.write_line(f"{method:24} {host:12} {cells}")
