"""A PostgreSQL server that may be killed: its data and its address stay.

``tests.support.postgres`` starts one through ``pg_ctl``, which lets go of it; who wants to kill a
server and to start it again on the same data has to be its parent.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from deploy.kafka.runtime import HOST
from tests.support.postgres import pgserver
from tests.support.waiting import wait_until

_NAME = "tocsin"
_RULES = f"local all all trust\nhost all all {HOST}/32 scram-sha-256\n"


class Database:
    """One server on a Unix socket, with one database for the ledger.

    Args:
        port: on loopback, where it asks for passwords; none where 0.
    """

    def __init__(self, port=0):
        # A Unix socket's path may hold 107 bytes only.
        self._directory = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
        self._data = self._directory / "data"
        self._server = pgserver(self._data, start=False)
        (self._data / "pg_hba.conf").write_text(_RULES)
        self._listens = f"listen_addresses={HOST if port else ''}"
        self.port = port or 5432
        self._process = None

    @property
    def url(self) -> str:
        """The ledger's URL; it survives ``kill`` and ``start``."""
        return self._url(_NAME)

    def __enter__(self):
        """Start, and make the database."""
        self.start()
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {_NAME}")
        return self

    def __exit__(self, *_):
        """End it and remove its data."""
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def connect(self, name: str = _NAME) -> psycopg.Connection:
        """Open a session of our own.

        Raises:
            psycopg.OperationalError: the server is away.
        """
        return psycopg.connect(self._url(name), autocommit=True, connect_timeout=5)

    def start(self) -> None:
        """Start and wait until it answers; a killed one's children may hold its memory a while."""
        wait_until("PostgreSQL answers", self._answers)

    def kill(self) -> None:
        """End it at once with SIGKILL; its children notice and end too."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _url(self, name):
        return f"postgresql://postgres@/{name}?host={self._data}&port={self.port}"

    def _answers(self):
        if self._process is None or self._process.poll() is not None:
            with (self._directory / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    [
                        *(self._server.bin_path / "postgres", "-D", self._data),
                        *("-k", self._data, "-c", self._listens, "-p", str(self.port)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    user=self._server.system_user,
                    start_new_session=True,  # Ctrl-C is for the test, which ends it
                )
            time.sleep(0.5)
        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True
