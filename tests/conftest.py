"""Fixtures for every test: real servers, started once and stopped with the session."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tests.support.fixtures import broker, own_broker
from tests.support.postgres import postgres

if TYPE_CHECKING:
    import pytest

__all__ = ["broker", "own_broker", "postgres"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let long targets ask for the long version of a test."""
    parser.addoption("--full", action="store_true", help="run the long version (make crash)")


# kafka-python warns whenever a busy machine lets its loop wait for a tenth of a second.
logging.getLogger("kafka").setLevel(logging.ERROR)
