"""The fixture `stage`: what a test starts through it has ended when the test has, failed or not."""

import kit
import pytest
import sip004


def pytest_report_header():
    return [f"ss-{role}: {' '.join(kit.command(role))}" for role in ("local", "server")]


@pytest.fixture
def stage():
    with kit.Stage() as stage:
        yield stage


@pytest.fixture(autouse=True)
def only_ours(request):
    """Mark `ours`: what only our programs promise."""
    if request.node.get_closest_marker("ours") and not all(
        kit.is_ours(role) for role in ("local", "server")
    ):
        pytest.skip("asks for what shadowsocks-libev does not have")


@pytest.fixture
def memory():
    """For tests that read RssAnon."""
    for role in ("local", "server"):
        if kit.sanitized(role):
            pytest.skip(
                f"ss-{role} is built with AddressSanitizer: its resident memory means nothing"
            )


@pytest.fixture(params=sip004.METHODS)
def method(request):
    return request.param
