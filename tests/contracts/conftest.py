"""Every contract test of the ledger runs on both stores.

A module that says ``DATABASES = ["sqlite"]`` runs on that alone: what it tests takes no lock, and
no commit of it is different. A test of such a module may ask for both.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count

import pytest

from accountant.store.store import Store
from tests.support.ledgers import Clock, open_ledger
from tests.support.postgres import postgres
from tests.support.schema import OPEN, new_ledger

__all__ = [
    "clock",
    "database",
    "empty_url",
    "fresh",
    "ledger",
    "ledger_url",
    "made_anew",
    "new_url",
    "opened",
    "postgres",
]


def pytest_generate_tests(metafunc):
    """Run each test on the stores that its module names, or on both."""
    by_itself = any(
        one.name == "parametrize" and "database" in one.args[0]
        for one in metafunc.definition.iter_markers()
    )
    if "database" in metafunc.fixturenames and not by_itself:
        databases = getattr(metafunc.module, "DATABASES", ["sqlite", "postgresql"])
        metafunc.parametrize("database", databases, indirect=True)


@pytest.fixture
def database(request):
    """Each store's kind."""
    return request.param


@pytest.fixture
def ledger_url(database, request, tmp_path):
    """URL of a database for a new ledger on each store; its tables may be there."""
    if database == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    return new_ledger(request.getfixturevalue("postgres"))


@pytest.fixture
def empty_url(database, request, tmp_path):
    """URL of a database on each store in which there is nothing at all."""
    if database == "sqlite":
        return f"sqlite:///{tmp_path}/empty.db"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def made_anew(monkeypatch):
    """Ledgers are made here as a user's are."""
    monkeypatch.setattr(Store, "open", OPEN)


@pytest.fixture
def clock():
    """A clock the test moves."""
    return Clock()


@pytest.fixture
def opened(ledger_url, clock):
    """A function that opens the ledger once more; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(open_ledger(ledger_url, clock))


@pytest.fixture
def new_url(database, request, tmp_path):
    """A function that returns the URL of a database for another new ledger."""
    number = count()
    if database == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/ledger-{next(number)}.db"
    server = request.getfixturevalue("postgres")
    return lambda: new_ledger(server)


@pytest.fixture
def fresh(new_url):
    """A function that opens another empty ledger; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(open_ledger(new_url()))


@pytest.fixture
def ledger(opened):
    """An empty ledger."""
    return opened()
