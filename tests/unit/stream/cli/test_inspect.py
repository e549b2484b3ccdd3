"""``tocsin inspect``: exact counts for the custodian, and no trace of them anywhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Iterable


def _written(folder: Path, rows: Iterable[tuple[str, str, int]]) -> Path:
    """Write events: who, where and when."""
    lines = [{"person": who, "room": room, "n": 1, "ts": ts} for who, room, ts in rows]
    file = folder / "badges.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


def _inspected(folder: Path, *options: object) -> list[dict[str, Any]]:
    """Return what is counted of a folder, as JSON."""
    path, file = folder / "alarms.yaml", folder / "badges.jsonl"
    return json_lines(tocsin("inspect", path, "--replay", file, "--json", *options))


def test_it_answers_what_an_alarm_counts(tmp_path: Path) -> None:
    """People count in their first room only: the table says so, and how many were left out."""
    path = configuration(
        tmp_path, unit="user", epsilon_max="100", aggregate="COUNT(DISTINCT person) > 120"
    )
    file = _written(  # 200 people who badge in the lab at 05:00 and go to the hall
        tmp_path,
        (
            (f"p{i}", room, 5 * HOUR_MS + step * 1_000_000 + i)
            for step, room in enumerate(("lab", "hall", "hall"))
            for i in range(200)
        ),
    )
    lines = _inspected(tmp_path)
    (cell,) = [line for line in lines if "group" in line]
    assert (cell["group"], cell["statistics"], cell["true"]) == ({"room": "lab"}, [200], True)
    assert cell["thresholds"] == [121]
    lost = [line["dropped_by_bounds"] for line in lines if "dropped_by_bounds" in line][5]
    assert {name: count for name, count in lost.items() if count} == {
        "repeats": 200,
        "beyond_groups": 200,
        "people_beyond_groups": 200,
    }
    shown = " ".join(tocsin("inspect", path, "--replay", file).stdout.split())
    most = "most at 1970-01-01 05:00: 200 events of 200 people"
    assert f"dropped beyond max_groups_per_window: 200 events; {most}" in shown
    assert "dropped as repeats: 200 events; most at 1970-01-01 05:00: 200 events" in shown
    assert "beyond max_events_per_group" not in shown


def test_it_says_that_this_is_private_and_opens_no_ledger(tmp_path: Path) -> None:
    """Standard error names whom it is for; no folder, file or claim is made."""
    path, file = configuration(tmp_path), events(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = tocsin("inspect", path, "--replay", file, code=0)
    assert "for the custodian only: no ledger is opened, nothing is charged" in result.stderr
    assert "200 events read, 200 usable" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_a_run_refuses_is_counted(tmp_path: Path) -> None:
    """To see what is wrong is what it is for: exit code 0, and every reason with an example."""
    configuration(tmp_path)
    file = tmp_path / "badges.jsonl"
    file.write_text('{"person": "p", "room": "HALL", "ts": 5}\nnonsense\n')
    (feed,) = [line for line in _inspected(tmp_path) if "feed" in line]
    assert feed["events"] == 2
    assert feed["dropped"]["out_of_domain"]["place"] == "badges.jsonl, row 1"
    assert "did you mean 'hall'?" in feed["dropped"]["out_of_domain"]["example"]
    assert feed["dropped"]["undecodable"] == {
        "rows": 1,
        "place": "badges.jsonl, row 2",
        "example": "'nonsense'",
    }


def test_windows_can_be_chosen(tmp_path: Path) -> None:
    """--since, --until, --limit and --alarm leave windows and alarms out."""
    configuration(tmp_path)
    events(tmp_path)

    def starts(*options: str) -> list[str]:
        lines = _inspected(tmp_path, *options)
        return [line["window_start"][11:13] for line in lines if "dropped_by_bounds" in line]

    assert len(starts()) == 24
    assert starts("--since", "1970-01-01T05:00", "--until", "1970-01-01T07:00Z") == ["05", "06"]
    assert starts("--since", "1970-01-01T05:00", "--limit", "1") == ["05"]
    assert starts("--alarm", "crowd", "--limit", "2") == ["00", "01"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "Missing option '--replay'"),
        ("--replay FILE --alarm other", "there is no alarm 'other' hint: write one of: crowd"),
        (
            "--replay FILE --since 1970-01-02 --until 1970-01-01",
            "--since is later than --until",
        ),
        (
            "--replay FILE --since 1970-01-01T23:30Z",
            "no window of alarm 'crowd' is in the span",
        ),
        ("--replay FILE --json --summary", "for what is shown"),
        ("--replay nowhere.jsonl", "no such file"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, options: str, said: str) -> None:
    """Exit code 2 and what to write instead."""
    words = options.replace("FILE", events(tmp_path)).split()
    result = tocsin("inspect", configuration(tmp_path), *words, code=2)
    assert said in " ".join(result.stderr.split())


@pytest.fixture
def busy(tmp_path: Path) -> tuple[object, ...]:
    """Forty windows in which 30 or more of 60 rooms hold somebody, the first room 35 people."""
    rooms = [f"r{i}" for i in range(60)]
    path = Path(configuration(tmp_path, tolerance=3))
    text = path.read_text().replace("1970-01-02}", "1970-01-03}")
    path.write_text(text.replace("[lab, hall]", f"[{', '.join(rooms)}]"))
    file = _written(
        tmp_path,
        (
            (f"p{i}", room, hour * HOUR_MS + i)
            for hour in range(40)
            for at, room in enumerate(rooms[: 30 + hour % 30])
            for i in range(1 if at else 35)
        ),
    )
    return "inspect", path, "--replay", file


def test_what_is_shown_is_bounded(tmp_path: Path, busy: tuple[object, ...]) -> None:
    """40 lines at most, and how to see the rest: --json has every cell."""
    cells = [line for line in _inspected(tmp_path) if "group" in line]
    shown = tocsin(*busy).stdout.splitlines()
    assert len(shown) <= 40
    more = "more lines: --json has all, --summary and --since fewer"
    assert shown[-1].startswith(f"{len(cells) - 30} {more}")
    summary = tocsin(*busy, "--summary", "--since", "1970-01-01").stdout.splitlines()
    assert len(summary) <= 40
    assert summary[-1].endswith(f" {more}")


def test_a_summary_adds_up(busy: tuple[object, ...]) -> None:
    """A line a group, those first that are true in most windows."""
    summary = tocsin(*busy, "--summary").stdout.splitlines()
    rows = [[cell.strip() for cell in row.split("│")[1:-1]] for row in summary[4:6]]
    assert rows == [["r0", "40", "40", "35, 35"], ["r1", "40", "0", "1, 1"]]


def test_without_a_history_it_asks_from_when(tmp_path: Path) -> None:
    """A live feed has no history: --since and --until say which windows."""
    path, file = Path(configuration(tmp_path)), events(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("    history: {from: 1970-01-01, until: 1970-01-02}\n", ""))
    assert "--since" in tocsin("inspect", path, "--replay", file).stderr
    lines = _inspected(tmp_path, "--since", "1970-01-01T05:00Z", "--until", "1970-01-01T06:00Z")
    assert [line["statistics"] for line in lines if "group" in line] == [[200]]
