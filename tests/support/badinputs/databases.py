"""Ledgers that are none, cannot be opened, or are not there."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.support.badinputs.shapes import GOOD, holding

_RUN, _STATUS = "run alarms.yaml --replay badges.jsonl", "ledger alarms.yaml status"
_LOG = (
    "CREATE TABLE tocsin_entries (seq INTEGER PRIMARY KEY, kind TEXT, key TEXT, payload BLOB,"
    " hash BLOB)"
)


def _database(statement):
    def make(folder):
        with closing(sqlite3.connect(folder / "ledger.db")) as connection:
            if statement == _LOG:  # as Tocsin keeps its own
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(statement)
            connection.commit()

    return make


def _elsewhere(url):
    return holding("alarms.yaml", GOOD.replace("sqlite:///ledger.db", f'"{url}"'))


DATABASES = (
    *(
        (words, prepare)
        for words in (_RUN, _STATUS)
        for prepare in (
            _database("CREATE TABLE users (name TEXT)"),
            holding("ledger.db", "I am a text, and no database at all\n" * 50),
            lambda folder: (folder / "ledger.db").mkdir(),
            _database("CREATE TABLE tocsin_ledger (id INTEGER PRIMARY KEY)"),
            _database(_LOG),
        )
    ),
    *(
        (_RUN, _elsewhere(url))
        for url in (
            "sqlite:///none/ledger.db",
            "sqlite:////proc/ledger.db",
            "sqlite:///rooms.txt/ledger.db",
            "sqlite:///~/ledger.db",
            "sqlite:///.",
            f"sqlite:///{'a' * 300}.db",
            "sqlite:///alarms.yaml",
            "sqlite:///badges.jsonl",
            "postgresql://tocsin@127.0.0.1:1/none",
            "postgresql:///none?host=/nowhere",
        )
    ),
    (_STATUS, _elsewhere("sqlite:///none/ledger.db")),
    (_STATUS, _elsewhere(f"sqlite:///{'a' * 300}.db")),
    (_STATUS, _elsewhere("postgresql://tocsin:hunter2@127.0.0.1:1/none")),
)
"""What was called, and on what."""
