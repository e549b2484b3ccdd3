"""Pytest fixtures that start and stop servers; ``tests/conftest.py`` imports them."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import Broker
from tests.support.together import together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["broker", "own_broker"]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One Kafka broker for the whole run; tests take topics of their own and never stop it."""
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    data = run / "broker" / "kafka"
    with together(data.parent, partial(_started, data), partial(Broker.joined, data)) as running:
        yield running


@contextmanager
def _started(data: Path) -> Iterator[Broker]:
    try:
        with Broker(directory=data) as running:
            yield running
    finally:
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A Kafka broker for one test, which may kill, pause and restart it.

    After SIGKILL the same node may register again only once its session is over.
    """
    with Broker(settings={"broker.session.timeout.ms": "3000"}) as running:
        yield running
