"""Files that are given to a command: what cannot be events is refused before anything is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from accountant.errors import ConfigError, DataError, TocsinError
from stream.cli.given import refuse_strange, refuse_twice, unknown_feed

if TYPE_CHECKING:
    from pathlib import Path

EVENT = b'{"person": "p", "room": "hall"}\n'

TAKEN = [
    ("a.jsonl", EVENT),
    ("a.JSONL", EVENT),
    ("a.jsonl", b"\xef\xbb\xbf\n" + EVENT),
    ("a.jsonl", b""),
    ("a.jsonl", b"nonsense\n"),  # dropped line by line, and told with its row
    ("a.csv", b"person,room\np,hall\n"),
    ("a.csv", b"person\np\n"),
    ("a.csv", b"person;id,room\n"),
    ("a.parquet", b"PAR1....PAR1"),
    ("a.parquet", b"anything: its reader says what is wrong"),
]


@pytest.mark.parametrize(("name", "content"), TAKEN)
def test_what_may_be_events_is_taken(tmp_path: Path, name: str, content: bytes) -> None:
    """Whatever becomes of its rows."""
    (tmp_path / name).write_bytes(content)
    refuse_strange(tmp_path / name)


REFUSED = [
    ("a.jsonl", b"\x1f\x8b\x08rest", "compressed by gzip", "gunzip -k"),
    ("a.csv", b"PK\x03\x04rest", "a zip archive", "unzip"),
    ("a.jsonl", b"\x28\xb5\x2f\xfdrest", "compressed by zstd", "unzstd"),
    ("a.jsonl", b"BZh9rest", "compressed by bzip2", "bunzip2"),
    ("a.csv", "person".encode("utf-16"), "UTF-16 text", "iconv"),
    ("a.jsonl", b"PAR1", "Parquet", "call it .parquet"),
    ("a.parquet", b"ARROW1", "an Arrow file", "write_table"),
    ("a.csv", b"SQLite format 3\0", "a SQLite database", "export its rows"),
    ("a.jsonl", b"\0\0\0", "not text", ".jsonl"),
    ("a.jsonl", b"[\n" + EVENT, "one JSON array", "jq -c"),
    ("a.jsonl", b' {\n "person": "p"\n}\n', "JSON over several lines", "jq -c"),
    ("a.csv", b"<!DOCTYPE html>", "a web page", "download the file itself"),
    ("a.csv", b"person;room\n", "columns that commas do not part", "commas between"),
    ("a.csv", b"person\troom\n", "columns that commas do not part", "commas between"),
    ("a.txt", EVENT, "the suffix names no format", ".parquet, .csv, .jsonl"),
    ("a", EVENT, "the suffix names no format", ".parquet, .csv, .jsonl"),
]


@pytest.mark.parametrize(("name", "content", "said", "hint"), REFUSED)
def test_what_is_something_else_is_named(
    tmp_path: Path, name: str, content: bytes, said: str, hint: str
) -> None:
    """By its first bytes or its suffix, with what to do, as bad data."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as refused:
        refuse_strange(tmp_path / name)
    assert refused.value.message.startswith(str(tmp_path / name))
    assert hint in refused.value.hint


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """Nothing, a folder, a pipe, and a path that no file can have: none of them is opened."""
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    cases = {
        "none.jsonl": "no such file",
        "folder.jsonl": "a folder, not a file",
        "pipe.jsonl": "not a regular file",
        "a.jsonl\0": "not a path",
        f"{'a' * 300}.jsonl": "File name too long",
    }
    for name, said in cases.items():
        with pytest.raises(ConfigError, match=said) as refused:
            refuse_strange(tmp_path / name)
        assert refused.value.hint


def test_a_file_is_given_once(tmp_path: Path) -> None:
    """By whatever name; a file of two feeds is two."""
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(EVENT)
    other.write_bytes(EVENT)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    refuse_twice({"badges": [path, other], "doors": [path]})
    with pytest.raises(ConfigError, match=rf"{path} is given twice\n"):
        refuse_twice({"badges": [path, other, path]})
    with pytest.raises(ConfigError, match=rf"{link} is given twice, first as {path}\n"):
        refuse_twice({"badges": [path, link]})


def test_a_feed_that_is_none_is_told_from_a_path(tmp_path: Path) -> None:
    """``badge=FILE`` is a slip; ``a=b.jsonl`` may be a file's own name."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(EVENT)
    strange = unknown_feed(f"badge={path}", ["badges", "doors"])
    assert isinstance(strange, TocsinError)
    assert strange.message == "there is no feed 'badge'"
    assert "badges" in strange.hint
    assert unknown_feed(f"badge={tmp_path}/none.jsonl", ["badges"]) is None
    assert unknown_feed(str(path), ["badges"]) is None
    assert unknown_feed(f"badge={'x' * 5_000}", ["badges"]) is None
