"""The fixture `lab`: four machines of the test's own (lab.py); and a limit of time for each test."""

import ctypes
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import kit
import lab as laboratory

PATIENCE = 300  # seconds that a test may take, with what it starts, on a slow machine


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
    """Tests may run in a thread, where no signal reaches them; what blocks has a limit of its own."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    thread = ctypes.c_ulong(threading.get_ident())
    timer = threading.Timer(PATIENCE, lambda: raise_in(thread, ctypes.py_object(TimeoutError)))
    timer.start()
    yield
    timer.cancel()
    timer.join()


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
