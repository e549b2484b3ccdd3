"""Every contract test of the ledger runs on both stores."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.support.ledgers import Clock, open_ledger
from tests.support.postgres import postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from accountant.ledger.ledger import Ledger

__all__ = ["clock", "fresh", "ledger", "ledger_url", "new_url", "opened", "postgres"]


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database on each store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    url: str = request.getfixturevalue("postgres").new_database()
    return url


@pytest.fixture
def clock() -> Clock:
    """A clock the test moves."""
    return Clock()


@pytest.fixture
def opened(ledger_url: str, clock: Clock) -> Iterator[Callable[[], Ledger]]:
    """A function that opens the ledger once more; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(open_ledger(ledger_url, clock))


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """A function that returns the URL of another empty database."""
    number = count()
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/ledger-{next(number)}.db"
    make: Callable[[], str] = request.getfixturevalue("postgres").new_database
    return make


@pytest.fixture
def fresh(new_url: Callable[[], str]) -> Iterator[Callable[[], Ledger]]:
    """A function that opens another empty ledger; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(open_ledger(new_url()))


@pytest.fixture
def ledger(opened: Callable[[], Ledger]) -> Ledger:
    """An empty ledger."""
    return opened()
