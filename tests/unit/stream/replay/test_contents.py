"""What a file is, whatever it is called, and that a ledger goes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accountant.errors import DataError
from stream.replay.contents import digest_of, digests_of
from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin


def test_a_digest_is_of_the_bytes_alone(tmp_path):
    """Neither name nor date change it, one byte does; empty files hold nobody."""
    one, other, empty = (tmp_path / name for name in ("one.csv", "other.jsonl", "empty"))
    for path, text in ((one, b"x" * 3_000_000), (other, b"x" * 3_000_000), (empty, b"")):
        path.write_bytes(text)
    assert digests_of([one, other, empty]) == [(one, digest_of(one)), (other, digest_of(one))]
    other.write_bytes(b"x" * 2_999_999 + b"y")
    assert digest_of(one) != digest_of(other)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    """With its name."""
    with pytest.raises(DataError, match=r"none\.csv: No such file"):
        digest_of(tmp_path / "none.csv")


def renamed(folder, number, unit="event"):
    """Write the configuration with feed, topic and alarm under other names."""
    path = Path(configuration(folder, unit=unit, denials=unit == "user"))
    text = path.read_text()
    for name in ("badges", "building", "crowd"):
        text = text.replace(name, f"{name}{number}")
    path.write_text(text)
    return path


def standing(path):
    """Return how many entries the ledger has, and what its budgets spent."""
    first, *others = json_lines(tocsin("ledger", path, "status", "--json"))
    spent = [line["spent"] for line in others if "spent" in line]
    return int(first["checkpoint"].partition(":")[0]), spent


def test_a_renamed_feed_is_no_fresh_wall_for_its_file(tmp_path):
    """Unit event: feed, topic, alarm and file under other names; nothing is registered."""
    tocsin("run", renamed(tmp_path, 0), "--replay", events(tmp_path), code=0)
    before = standing(renamed(tmp_path, 0))
    for number in (1, 2):
        path, again = renamed(tmp_path, number), events(tmp_path, f"copy{number}.jsonl")
        refused = tocsin("run", path, "--replay", again, code=2)
        assert refused.stdout == ""
        assert (
            f"feed 'badges{number}' reads a file that is already charged to budget "
            "'feed:badges0' as feed 'badges0'"
        ) in refused.stderr
        assert standing(path) == before


def test_a_user_has_one_wall_for_all_feeds(tmp_path):
    """Unit user: the same file under another name is on the budget that all feeds share."""
    replay = "--replay", events(tmp_path)
    tocsin("run", renamed(tmp_path, 0, "user"), *replay, code=0)
    result = tocsin("run", renamed(tmp_path, 1, "user"), *replay, code=2)
    assert "budget 'user' also has 'crowd0'" in result.stderr


def test_other_content_under_a_feed_is_the_same_wall(tmp_path):
    """More files, or others, draw on what the feed has."""
    path, more = configuration(tmp_path), tmp_path / "more.jsonl"
    more.write_text(f'{{"person": "q", "room": "lab", "n": 1, "ts": {6 * HOUR_MS}}}\n')
    run = ("run", path, "--replay", events(tmp_path))
    tocsin(*run, code=0)
    entries, spent = standing(path)
    assert "0 decided now" in " ".join(tocsin(*run, more, code=0).stdout.split())
    assert standing(path) == (entries + 1, spent), "the log tells of the file"
