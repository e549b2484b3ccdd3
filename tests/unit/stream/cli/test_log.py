"""``tocsin ledger FILE log``: one line an entry, less what is about other alarms or the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.commands import configuration, events, json_lines, tocsin
from tests.unit.stream.cli.test_ledger import with_an_orphan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A configuration whose day has been decided."""
    folder = tmp_path_factory.mktemp("decided")
    path = configuration(folder, epsilon_max="40")
    assert tocsin("run", path, "--replay", events(folder)).exit_code == 0
    return path


def log_of(path: str, *more: str) -> list[str]:
    """Return the lines of the history."""
    result = tocsin("ledger", path, "log", *more)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_the_log_has_a_line_for_every_entry(decided: str) -> None:
    """Its number and its kind, as the export has them; of windows, what became of them."""
    rows = json_lines(tocsin("ledger", decided, "export"))
    lines = log_of(decided)
    said = [line.split(" ", 2) for line in lines]
    assert [(int(number), kind) for number, kind, _ in said] == [
        (row["seq"], row["record"]) for row in rows
    ]
    window = "'crowd' 1970-01-01 05:00 UTC to 1970-01-01 06:00 UTC"
    (ended,) = (line for line in lines if f"ended {window}" in line)
    assert ended.endswith(f"{window}: number 6, decided, 1 alarm(s), 1.38629436112 lost")
    assert any(f"{window}: reserved, 1.38629436112 at worst" in line for line in lines)


def test_the_log_goes_on_behind_an_archive(tmp_path: Path) -> None:
    """What lies there is left out; that it does is said."""
    path = configuration(tmp_path, epsilon_max="40")
    assert tocsin("run", path, "--replay", events(tmp_path)).exit_code == 0
    assert tocsin("ledger", path, "archive", str(tmp_path / "old")).exit_code == 0
    (name,) = (one.name for one in (tmp_path / "old").iterdir())
    archived, snapshot = log_of(path)
    assert f" archived file {name}, first 1, last " in archived
    assert snapshot.endswith(" snapshot of all that came before")


def test_the_log_of_one_alarm_is_without_the_others(tmp_path: Path) -> None:
    """What names another alarm goes, of windows and of what was registered."""
    path = with_an_orphan(tmp_path)
    tocsin("ledger", path, "remove-alarm", "gone", "--yes")
    for alarm, other in (("crowd", "gone"), ("gone", "crowd")):
        lines = log_of(path, "--alarm", alarm)
        assert any(f"'{alarm}'" in line for line in lines)
        assert not any(other in line for line in lines)
    kinds = [line.split()[1] for line in log_of(path, "--alarm", "gone")]
    assert kinds[-1] == "retired"
    assert kinds.count("alarm") == 1


def test_the_log_since_a_time_is_of_later_windows(decided: str) -> None:
    """Windows that end after it; at the very beginning, all of them and nothing else."""
    lines = log_of(decided, "--since", "1970-01-01T20:00")
    ended = [line for line in lines if line.split()[1] == "ended"]
    assert [line.split(": ")[1].split(",")[0] for line in ended] == [
        f"number {number}" for number in (21, 22, 23, 24)
    ]
    assert "'crowd' 1970-01-01 20:00 UTC to 1970-01-01 21:00 UTC: " in ended[0]
    assert not any("1970-01-01 19:00 UTC to" in line for line in lines)
    all_of_them = log_of(decided, "--since", "1970-01-01")
    assert {line.split()[1] for line in all_of_them} <= {"admitted", "answered", "ended"}
    assert log_of(decided, "--since", "1970-01-02") == []
