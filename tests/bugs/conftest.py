"""The kit of the end-to-end tests says which programs are tested."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import kit


@pytest.fixture
def stage():
    with kit.Stage() as stage:
        yield stage
