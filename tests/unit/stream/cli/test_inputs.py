"""Files that are given to a command: what cannot be events is refused before anything is opened."""

from __future__ import annotations

import pytest

from accountant.errors import ConfigError, DataError
from stream.cli.inputs import refuse_unreadable

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
    ("a.json", b"anything: of its suffix its reader says what is wrong"),
    ("a.parquet", b"anything: its reader says what is wrong"),
]


@pytest.mark.parametrize(("name", "content"), TAKEN)
def test_what_may_be_events_is_taken(tmp_path, name, content):
    """Whatever becomes of its rows."""
    (tmp_path / name).write_bytes(content)
    refuse_unreadable({"badges": [tmp_path / name]})


REFUSED = [
    ("a.jsonl", b"\x28\xb5\x2f\xfd\0rest", "not text", "unpack it"),
    ("a.csv", b"person\0,room\n", "not text", "with one of .parquet, .csv, .jsonl"),
    ("a.jsonl", b"\xef\xbb\xbf [" + EVENT, "not one JSON object a line", "jq -c"),
]
"""What ``test_badinputs.py`` has not among its files."""


@pytest.mark.parametrize(("name", "content", "said", "hint"), REFUSED)
def test_what_is_something_else_is_named(tmp_path, name, content, said, hint):
    """By its first bytes, with what to do, as bad data."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as refused:
        refuse_unreadable({"badges": [tmp_path / name]})
    assert hint in refused.value.hint


def test_a_file_is_given_once(tmp_path):
    """By whatever name; a file of two feeds is two."""
    path, other, link = (tmp_path / f"{name}.jsonl" for name in "abc")
    path.write_bytes(EVENT)
    other.write_bytes(EVENT)
    link.symlink_to(path)
    refuse_unreadable({"badges": [path, other], "doors": [path]})
    with pytest.raises(ConfigError, match=rf"{path} is given twice\n"):
        refuse_unreadable({"badges": [path, other, path]})
    with pytest.raises(ConfigError, match=rf"{link} is given twice, first as {path}\n"):
        refuse_unreadable({"badges": [path, link]})
