"""What is looked at while it runs: memory, threads, files of workers; the ledger."""

from __future__ import annotations

import json
import time

import psutil
import psycopg

from tests.soak.loops import Loop

_ROWS = ("partials", "entries")
_LEFT = "SELECT coalesce(sum(value), 0) FROM tocsin_counters WHERE name LIKE 'published/%'"


class Gauges(Loop):
    """Writes JSON lines at every look, from entering the context to leaving it.

    Args:
        path: of the lines.
        pool: the workers.
        database: of the ledger.
        every_s: between two looks.
    """

    def __init__(self, path, pool, database, *, every_s):
        super().__init__("gauges", self._note, every_s=every_s)
        self._path, self._pool, self._database = path, pool, database

    def _note(self):
        with self._path.open("a") as opened:
            opened.writelines(f"{json.dumps(line)}\n" for line in self._look())

    def _look(self):
        at_ms = time.time_ns() // 1_000_000
        found = []
        for life in self._pool.lives():
            try:
                process = psutil.Process(life.pid)
                figures = {
                    "rss": process.memory_info().rss,
                    "threads": process.num_threads(),
                    "files": process.num_fds(),
                    "cpu_s": sum(process.cpu_times()[:2]),
                }
            except psutil.Error:
                continue  # it ended while it was looked at
            place = {"at_ms": at_ms, "worker": life.worker, "pid": life.pid}
            found.append({"what": "process", **place, "age_ms": at_ms - life.began_ms, **figures})
        ledger = self._ledger()
        if ledger is not None:
            found.append({"what": "ledger", "at_ms": at_ms, **ledger})
        return found

    def _ledger(self):
        try:
            with self._database.connect() as connection:
                (size,) = connection.execute("SELECT pg_database_size(current_database())")
                rows = {}
                for table in _ROWS:
                    (count,) = connection.execute(f"SELECT count(*) FROM tocsin_{table}")  # noqa: S608
                    rows[table] = count[0]
                (left,) = connection.execute(_LEFT)
        except psycopg.OperationalError:
            return None  # it is away, or restarting
        return {"bytes": size[0], **rows, "decisions": int(left[0])}
