"""Ledgers of one process begin as copies of an empty one, and share what was compiled for them.

Hundreds of tests begin with an empty ledger. To create each from nothing takes longer than most of
them, and so does putting the same statements into SQL again for each. The first one of a process is
made as a user's is; the next files are copies of its file, and the next databases of its
database. A file or a database in which there is anything is opened as it is.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.store.files import open_private
from accountant.store.store import Store

if TYPE_CHECKING:
    from tests.support.postgres import Postgres

OPEN = Store.__dict__["open"]
"""How a ledger's database is opened where nothing is remembered."""

_INIT = Store.__init__
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_CONNECT_S = 30.0
_COMPILED = {}
_MADE = {}
"""The database to copy, by server."""


def remember_the_schema() -> None:
    """Let every later ledger of this process begin as a copy of the first one."""
    Store.open = classmethod(_opened)  # type: ignore[assignment, method-assign]  # as it was
    Store.__init__ = _begun  # type: ignore[method-assign]  # the same


def new_ledger(server: Postgres) -> str:
    """Create a database that holds an empty ledger's tables, and return its URL."""
    if server.admin_url not in _MADE:
        made = server.new_database()
        Store.open(made, connect_timeout_s=_CONNECT_S).close()
        _MADE[server.admin_url] = made
    return server.new_database(copied=_MADE[server.admin_url])


def _opened(cls, url, *, connect_timeout_s):
    with suppress(sa.exc.ArgumentError, ValueError):  # the store says itself what is wrong with it
        parsed = sa.make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            _put_empty(Path(str(parsed.database)))
    store: Store = OPEN.__get__(None, cls)(url, connect_timeout_s=connect_timeout_s)
    engine: Any = store._engine  # it has connected: the dialect knows the database
    _COMPILED.setdefault(engine.dialect.name, (engine.dialect, engine._compiled_cache))
    return store


def _begun(self, engine):
    if engine.dialect.name in _COMPILED:
        engine.dialect, engine._compiled_cache = _COMPILED[engine.dialect.name]
    _INIT(self, engine)


def _put_empty(path):
    """Put an empty ledger where no file is yet: whole or not at all, and never over another's."""
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    with suppress(OSError):  # the store says itself what is wrong with the place
        if path.exists() or not path.parent.is_dir():
            return
        try:
            with os.fdopen(open_private(part, _NEW), "wb") as file:
                file.write(empty_ledger())
            path.hardlink_to(part)
        finally:
            part.unlink(missing_ok=True)


@cache
def empty_ledger() -> bytes:
    """Return the file of an empty ledger, as a user's begins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        OPEN.__get__(None, Store)(f"sqlite:///{path}", connect_timeout_s=_CONNECT_S).close()
        return path.read_bytes()
