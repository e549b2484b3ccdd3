"""Fixtures for every test: real servers, started once in a process and stopped with it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.support.fixtures import broker, end_broker, own_broker
from tests.support.postgres import postgres
from tests.support.quickly import import_quickly
from tests.support.schema import remember_the_schema
from tests.support.sharing import on_a_broker, share

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["broker", "own_broker", "postgres"]

# What an example takes says how busy the machine is, not whether the property holds.
settings.register_profile("tocsin", deadline=None)
settings.load_profile("tocsin")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let long targets ask for the long version of a test."""
    parser.addoption("--full", action="store_true", help="run the long version (make crash)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share tests out to processes."""
    share(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the broker where the files that ask for one are over: they come first."""
    if not on_a_broker(item):
        end_broker()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep the garbage collector off what is collected: nearly all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what collecting has made: it stays to the end."""
    gc.collect()
    gc.freeze()


@event.listens_for(Pool, "checkout")
def _forget_the_disk(connection: Any, record: Any, _proxy: object) -> None:
    """Let SQLite's commits stay in memory: tests outlive a killed process, not a power cut."""
    if type(connection).__module__ == "sqlite3" and "forgets" not in record.info:
        connection.execute("PRAGMA synchronous=OFF")
        record.info["forgets"] = True  # as long as this connection lives


remember_the_schema()
import_quickly()
