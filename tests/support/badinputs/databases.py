"""Ledgers that are none, cannot be opened, or are not there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.support.badinputs.shapes import GOOD, Call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["DATABASES"]

_RUN, _STATUS = "run alarms.yaml --replay badges.jsonl", "ledger alarms.yaml status"
_LOG = (
    "CREATE TABLE tocsin_entries (seq INTEGER PRIMARY KEY, kind TEXT, key TEXT, payload BLOB,"
    " hash BLOB)"
)


def _database(*statements: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "ledger.db")) as connection:
            if _LOG in statements:  # as Tocsin keeps its own
                connection.execute("PRAGMA journal_mode=WAL")
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return make


def _elsewhere(url: str) -> str:
    return GOOD.replace("sqlite:///ledger.db", f'"{url}"')


def _text(folder: Path) -> None:
    (folder / "ledger.db").write_text("I am a text, and no database at all\n" * 50)


DATABASES: tuple[Call, ...] = (
    *(
        Call(words, phrase, code, prepare)
        for words in (_RUN, _STATUS)
        for phrase, code, prepare in (
            ("it has other tables", 2, _database("CREATE TABLE users (name TEXT)")),
            ("it is not a SQLite database", 2, _text),
            ("must exist and be writable", 4, lambda folder: (folder / "ledger.db").mkdir()),
            (
                "use the version that made it",
                2,
                _database("CREATE TABLE tocsin_ledger (id INTEGER PRIMARY KEY)"),
            ),
            ("restore the newest backup", 4, _database(_LOG)),
        )
    ),
    *(
        Call(_RUN, phrase, code, config=_elsewhere(url))
        for url, phrase, code in (
            ("sqlite:///none/ledger.db", "must exist and be writable", 4),
            ("sqlite:////proc/ledger.db", "must exist and be writable", 4),
            ("sqlite:///rooms.txt/ledger.db", "must exist and be writable", 4),
            ("sqlite:///~/ledger.db", "must exist and be writable", 4),
            ("sqlite:///.", "must exist and be writable", 4),
            (f"sqlite:///{'a' * 300}.db", "File name too long", 4),
            ("sqlite:///alarms.yaml", "it is not a SQLite database", 2),
            ("sqlite:///badges.jsonl", "it is not a SQLite database", 2),
            ("postgresql://tocsin@127.0.0.1:1/none", "check that the database runs", 4),
            ("postgresql:///none?host=/nowhere", "check that the database runs", 4),
        )
    ),
    Call(_STATUS, "there is no ledger", config=_elsewhere("sqlite:///none/ledger.db")),
    Call(
        _STATUS,
        "check that the database runs",
        4,
        config=_elsewhere("postgresql://tocsin:hunter2@127.0.0.1:1/none"),
    ),
)
"""What was called, on what, and what it is answered."""
