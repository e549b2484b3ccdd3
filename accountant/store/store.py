"""SQLite and PostgreSQL under one roof: connections, transactions, locks, the schema.

The rows themselves are read and written by :mod:`accountant.store.transaction`; what they mean is
decided by :mod:`accountant.ledger.ledger`. Every write is one short transaction that holds its
locks to the end:

- SQLite: ``BEGIN IMMEDIATE`` on a WAL database with ``synchronous=FULL``; one host.
- PostgreSQL: ``READ COMMITTED`` with row locks, always taken in the order queries, scopes, logs,
  ledger, and ``synchronous_commit=on`` whatever the server's default.

A database that fails raises :class:`~accountant.errors.DependencyError` after rolling back; every
operation of the ledger may then be called again.
"""

from __future__ import annotations

import os
import select
import sqlite3
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa
from sqlalchemy import event, exc

from accountant.errors import DependencyError, LedgerCorruptError, LedgerError
from accountant.retrying import retrying
from accountant.store.files import locked, open_private, sync_directory
from accountant.store.tables import ENTRIES, PARTIALS, metadata
from accountant.store.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Store"]

BUSY_TIMEOUT_S = 30
POOL_SIZE, POOL_OVERFLOW = 8, 24
RETRY_FIRST_S, RETRY_LONGEST_S = 0.05, 2.0
CREATION_LOCK = 0x746F6373696E  # any constant will do; it spells the name
_INCREMENTAL = 2
_GIVES_BACK = f"PRAGMA auto_vacuum={_INCREMENTAL}"
_SETTINGS = """SET synchronous_commit TO on; SET lock_timeout TO '30s';
SET idle_in_transaction_session_timeout TO '20s'"""  # others wait for a frozen process's locks
_WAL_BYTES = 8 << 20
"""What a ``-wal`` file keeps for the next writes, however much one transaction once wrote."""

HINTS = {
    "full": "free disk space and try again; nothing was written",
    "no such table": "a table is missing: restore the newest backup; nothing was written",
    "locked": "another process uses the ledger: wait for it; nothing was written",
    "readonly": "make the ledger's file writable; nothing was written",
    "unable to open": "check the path in `ledger`: its directory must exist and be writable",
}
HINT = "check that the database runs and is reachable"


class Store:
    """One database that holds a ledger. Thread-safe; open one per process, after any fork."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.secret = b""
        """Of the ledger, once it is known: working rows are vouched for by it."""
        self.name = engine.url.render_as_string(hide_password=True)
        self.file = Path(str(engine.url.database)) if self._sqlite else None
        """Of a SQLite database; ``None`` of others."""

    @classmethod
    def open(cls, url: str, *, connect_timeout_s: float) -> Self:
        """Connect, and create the schema where there is none.

        Args:
            url: SQLAlchemy URL of a SQLite file or a PostgreSQL database.
            connect_timeout_s: keep trying to reach the database for so long.

        Raises:
            LedgerError: the URL is of no supported kind, or the schema of another version.
            DependencyError: the database cannot be reached.
        """
        store = cls(_engine(url))
        try:
            retrying(
                store.translated()(store._create),
                passing=store._may_pass,
                first_s=RETRY_FIRST_S,
                longest_s=RETRY_LONGEST_S,
                deadline_s=connect_timeout_s,
            )
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close every pooled connection; idempotent."""
        self._engine.dispose()

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Run one write transaction: committed when the block ends, rolled back when it raises."""
        with self.translated(), self._writing() as connection:
            yield Transaction(connection, self.secret)

    @contextmanager
    def read(self, *, slow: bool = False) -> Iterator[Transaction]:
        """Run reads that all see one snapshot; slow ones may think for minutes between two."""
        options = {} if self._sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.translated(), self._transaction("BEGIN", **options) as connection:
            if slow and not self._sqlite:
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout TO 0")
            yield Transaction(connection, self.secret)

    @contextmanager
    def glance(self) -> Iterator[Transaction]:
        """Run one read that no other has to agree with: nothing is begun or ended around it."""
        options = {} if self._sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self.translated(), self._connect(**options) as connection:
            yield Transaction(connection, self.secret)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """Hold the lock called ``name`` among all processes; yield whether it was free.

        PostgreSQL: a session advisory lock on a connection of its own. SQLite: ``flock`` on a file
        beside the database. Both are let go when the process dies.
        """
        digest = blake2b(name.encode(), digest_size=8)
        if self._sqlite:
            path = f"{self._engine.url.database}.{digest.hexdigest()}.lock"
            with locked(_opened(path)) as held:
                yield held
            return
        number = int.from_bytes(digest.digest(), "big", signed=True)
        with self.translated():
            connection = self._connect(isolation_level="AUTOCOMMIT")
        with closing(connection):
            with self.translated():
                held = bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(number))))
            try:
                yield held
            finally:
                _unlock(connection, number, held=held)

    def backup(self, path: Path) -> None:
        """Copy a SQLite database to a new file, while others go on reading and writing it.

        The copy is one snapshot, complete in one file that only its owner may read, and on the disk
        when this returns.

        Args:
            path: where nothing is yet; its directory exists.

        Raises:
            LedgerError: the path is taken, or the database is PostgreSQL, which has tools for this.
            DependencyError: the copy cannot be written.
        """
        if not self._sqlite:
            raise LedgerError(
                f"the ledger {self.name} is in PostgreSQL: this command copies SQLite files only",
                hint="run `pg_dump --format=custom`",
            )
        if path.exists():
            raise LedgerError(f"{path} exists", hint="write a new name for every copy")
        part = path.with_name(f".{path.name}.part")
        try:
            part.unlink(missing_ok=True)  # of a copy that was cut off
            with os.fdopen(open_private(part, os.O_CREAT | os.O_EXCL | os.O_RDWR)) as file:
                with closing(self._engine.raw_connection()) as connection:
                    connection.cursor().execute(_GIVES_BACK)  # the copy does, if this one does not
                    connection.cursor().execute("VACUUM INTO ?", (str(part),))
                os.fsync(file.fileno())
            part.rename(path)
            sync_directory(path.parent)
        except (sqlite3.Error, exc.SQLAlchemyError, OSError) as error:
            with suppress(OSError):
                part.unlink()
            raise DependencyError(
                f"the ledger {self.name} cannot be copied to {path}: "
                f"{getattr(error, 'strerror', None) or error}",
                hint="check permissions and free disk space; the ledger is unchanged",
                ledger=True,
            ) from None

    def give_back(self, pages: int) -> bool:
        """Give free pages of a SQLite file back to the disk; say whether any are left.

        The file is shorter once no free page is left and nobody reads what was before; its
        ``-wal`` file is at the next write. A file that was put together from a dump keeps what
        is free in it, for rows to come, and so does PostgreSQL: nothing is left there. A copy that
        :meth:`backup` made of such a file gives back.

        Args:
            pages: at most so many, in one short transaction.

        Raises:
            DependencyError: the file cannot be written.
        """
        if not self._sqlite:
            return False
        with self.translated(), closing(self._engine.raw_connection()) as connection:
            try:
                # As a script: it is one step for each page, of which `execute` takes the first.
                cursor = connection.cursor().executescript(f"PRAGMA incremental_vacuum({pages})")
                (kind,) = cursor.execute("PRAGMA auto_vacuum").fetchone()
                (free,) = cursor.execute("PRAGMA freelist_count").fetchone()
                if not free:
                    cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")  # waits for nobody
            except sqlite3.Error as error:
                raise exc.OperationalError(None, None, error) from error
        return bool(kind == _INCREMENTAL and free)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the drivers' errors into ours, without a stored value in their text."""
        try:
            yield
        except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError) as error:
            raise self._unreachable(error) from None
        except exc.DBAPIError as error:
            if error.connection_invalidated:
                raise self._unreachable(error) from None
            if "not a database" in str(error.orig):
                raise LedgerError(
                    f"{self.file} is not a ledger: it is not a SQLite database",
                    hint="write another file in `ledger`; nothing was written",
                ) from None
            raise LedgerCorruptError(
                f"the ledger {self.name} refused a row ({type(error.orig).__name__})",
                hint="run `tocsin ledger FILE verify`; nothing was written",
            ) from None

    @property
    def _sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def _connect(self, **options: Any) -> sa.Connection:
        try:
            connection = self._engine.connect()
        except exc.InvalidRequestError as error:  # the server hung up on each that was tried
            raise self._unreachable(error) from None
        return connection.execution_options(**options) if options else connection

    def _writing(self) -> AbstractContextManager[sa.Connection]:
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str, **options: Any) -> Iterator[sa.Connection]:
        """Run a transaction, which SQLite begins in the words given: its driver begins none."""
        with self._connect(**options) as connection, connection.begin():
            if self._sqlite:  # not by a listener: with any, each statement looks for others
                connection.exec_driver_sql(begin)
            yield connection

    def _may_pass(self, error: DependencyError) -> bool:
        """A server may still be starting; a file is there or not, but may be busy."""
        return not self._sqlite or "locked" in error.message

    def _unreachable(self, error: exc.SQLAlchemyError) -> DependencyError:
        cause = error.orig if isinstance(error, exc.DBAPIError) else error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        hint = next((text for word, text in HINTS.items() if word in lines[0]), HINT)
        return DependencyError(f"the ledger {self.name} failed: {lines[0]}", hint=hint, ledger=True)

    def _create(self) -> None:
        """Create the tables in a database that has none.

        Raises:
            LedgerError: it holds other tables.
        """
        with self._writing() as connection:
            if not self._sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
            names = sa.inspect(connection).get_table_names()
            if ENTRIES.name in names:
                return
            if any(name.startswith("tocsin_") for name in names):
                raise LedgerError(
                    f"a development version of Tocsin made the ledger {self.name}",
                    hint="use the version that made it, or a new ledger",
                )
            if names and self._sqlite:
                raise LedgerError(
                    f"{self.name} is not a ledger: it has other tables",
                    hint="write a new file in `ledger`; nothing was written",
                )
            metadata.create_all(connection)
            if not self._sqlite:
                # Compressing a long vector of cells takes twenty times as long as storing it.
                for column in ("cell_index", "cell_value"):
                    stored = f"ALTER COLUMN {column} SET STORAGE EXTERNAL"
                    connection.exec_driver_sql(f"ALTER TABLE {PARTIALS.name} {stored}")


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError):
        raise LedgerError(
            "`ledger` is not a database URL",
            hint="write sqlite:///FILE or postgresql://USER@HOST/DATABASE",
        ) from None
    common: dict[str, Any] = {
        "hide_parameters": True,  # an error's text must not carry stored values
        "pool_size": POOL_SIZE,
        "max_overflow": POOL_OVERFLOW,
        "pool_timeout": BUSY_TIMEOUT_S,
    }
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database not in (None, "", ":memory:"):
        os.close(_opened(str(parsed.database)))
        engine = sa.create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_S}, **common)
        event.listen(engine, "connect", _prepare_sqlite)
        return engine
    if backend == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
        reach = {"connect_timeout": "5", "tcp_user_timeout": "10000", "keepalives_idle": "10"}
        reach["client_encoding"] = "utf8"  # from a database in SQL_ASCII texts would come as bytes
        arguments = {name: value for name, value in reach.items() if name not in parsed.query}
        engine = sa.create_engine(parsed, connect_args=arguments, **common)
        event.listen(engine, "connect", _prepare_postgres)
        event.listen(engine, "checkout", partial(_still_there, engine.dialect))
        return engine
    raise LedgerError(
        f"{parsed.render_as_string(hide_password=True)} is not the URL of a SQLite file or of a "
        "PostgreSQL database",
        hint="write sqlite:///FILE or postgresql://USER@HOST/DATABASE",
    )


def _opened(path: str) -> int:
    """Open a file that only its owner may read: a ledger holds raw counts and the hash key."""
    try:
        return open_private(path)
    except OSError as error:
        raise DependencyError(
            f"the ledger {path} cannot be opened: {error.strerror}",
            hint=HINTS["unable to open"],
            ledger=True,
        ) from None


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # BEGIN is ours, see Store._transaction
    with closing(connection.cursor()) as cursor:
        held = {row[0] for row in cursor.execute("SELECT name FROM sqlite_master")}
        own = not held or ENTRIES.name in held  # another program's is left as it is
        if not held:
            cursor.execute(_GIVES_BACK)  # before anything is written: a file cannot begin with it
        if own and cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")


def _prepare_postgres(connection: Any, _record: Any) -> None:
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        raise LedgerError(
            f"the ledger's database has the encoding {encoding} instead of UTF8",
            hint="create the database with ENCODING 'UTF8'",
        )
    connection.autocommit = True
    connection.execute(_SETTINGS)
    connection.autocommit = False


def _still_there(dialect: sa.Dialect, connection: Any, *_: Any) -> None:
    """Let go of the pool's connections if the server hung up on one.

    A ping would be a round trip for every transaction. What an idle server says, it has said by
    now: mostly nothing, which is asked of this machine alone.

    Raises:
        InvalidatePoolError: the pool connects again.
    """
    said = select.poll()
    try:
        said.register(connection.fileno(), select.POLLIN)
        if said.poll(0):
            dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise exc.InvalidatePoolError from error


def _unlock(connection: sa.Connection, number: int, *, held: bool) -> None:
    try:
        if held:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(number)))
    except exc.SQLAlchemyError:
        # Whatever happened, closing the session lets go; the next user of the pool needs another.
        connection.invalidate()
