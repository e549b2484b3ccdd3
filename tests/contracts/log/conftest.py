"""Contract tests of the ledger, run on the log that is to take its place."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING

import pytest

from accountant.ledger.ledger import Ledger
from accountant.store.store import Store
from tests.support.ledgers import Clock
from tests.support.schema import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No log is made here from the file of a ledger of rows."""
    monkeypatch.setattr(Store, "open", OPEN)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what a module says on both databases."""
    databases = getattr(metafunc.module, "DATABASES", None)
    if databases is not None and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", databases, indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """SQLite, unless a module asks for both."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture
def new_url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """A function that returns the URL of a database for another new log."""
    number = count()
    if database == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/log-{next(number)}.db"
    server = request.getfixturevalue("postgres")
    return lambda: str(server.new_database())


@pytest.fixture
def ledger_url(new_url: Callable[[], str]) -> str:
    """URL of a database for a new log."""
    return new_url()


@pytest.fixture
def opened(ledger_url: str, clock: Clock) -> Iterator[Callable[[], Ledger]]:
    """A function that opens the log once more; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(_open(ledger_url, clock))


@pytest.fixture
def fresh(new_url: Callable[[], str]) -> Iterator[Callable[[], Ledger]]:
    """A function that opens another empty log; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(_open(new_url(), Clock()))


def _open(url: str, clock: Clock) -> Ledger:
    return Ledger.open(url, clock_ms=clock, entropy=os.urandom)
