"""The fixture `lab`: four machines of the test's own (lab.py); and a limit of time for each test."""

import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import kit
import lab as laboratory

PATIENCE = 60  # seconds that a test may take, with what it starts


def pytest_report_header():
    return [f"programs: {kit.BUILD}"]


@pytest.fixture(scope="session", autouse=True)
def permitted():
    why = laboratory.missing()
    if why:
        pytest.skip(why)


def pytest_terminal_summary(terminalreporter):
    """The line that `make check` looks for where nothing could run."""
    if not terminalreporter.stats.get("passed") and (why := laboratory.missing()):
        terminalreporter.write_line(f"SKIPPED netns: {why}")


@pytest.fixture(autouse=True)
def limit():
    def over(*_):
        raise TimeoutError(f"the test took more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def lab():
    with laboratory.Lab() as lab:
        yield lab


@pytest.fixture
def stage(lab):
    """Ends before the machines do."""
    with kit.Stage() as stage:
        yield stage


@pytest.fixture(params=(4, 6), ids=("IPv4", "IPv6"))
def version(request):
    return request.param
