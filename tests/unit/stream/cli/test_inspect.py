"""``tocsin inspect``: exact counts for the custodian, and no trace of them anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin
from tests.support.files import edit, write_rows


def _written(folder, rows):
    """Write events: who, where and when."""
    lines = [{"person": who, "room": room, "n": 1, "ts": ts} for who, room, ts in rows]
    write_rows(folder / "badges.jsonl", lines)


def _inspect(folder, *options, code=0):
    """Inspect a folder's configuration and events."""
    words = ("inspect", folder / "alarms.yaml", "--replay", folder / "badges.jsonl")
    return tocsin(*words, *options, code=code)


def _lines(folder, key, *options):
    """Return what is counted of a folder, as JSON: the lines that have a key."""
    return [line for line in json_lines(_inspect(folder, "--json", *options)) if key in line]


def test_it_answers_what_an_alarm_counts(tmp_path):
    """People count in their first room only, and how many were left out is said."""
    configuration(
        tmp_path, unit="user", epsilon_max="100", aggregate="COUNT(DISTINCT person) > 120"
    )
    _written(  # 200 people who badge in the lab at 05:00 and go to the hall
        tmp_path,
        (
            (f"p{i}", room, 5 * HOUR_MS + step * 1_000_000 + i)
            for step, room in enumerate(("lab", "hall", "hall"))
            for i in range(200)
        ),
    )
    (cell,) = _lines(tmp_path, "group")
    assert (cell["group"], cell["statistics"], cell["true"]) == ({"room": "lab"}, [200], True)
    assert cell["thresholds"] == [121]
    lost = _lines(tmp_path, "dropped_by_bounds")[5]["dropped_by_bounds"]
    reasons = ("repeats", "beyond_groups", "people_beyond_groups")
    assert {name: count for name, count in lost.items() if count} == dict.fromkeys(reasons, 200)
    shown = " ".join(_inspect(tmp_path).stdout.split())
    most = "200 events, at most 200 in a window"
    assert f"dropped beyond max_groups_per_window: {most}" in shown
    assert f"dropped as repeats: {most}" in shown
    assert "beyond max_events_per_group" not in shown


def test_it_says_that_this_is_private_and_opens_no_ledger(tmp_path):
    """Standard error names whom it is for; no folder, file or claim is made."""
    made = {Path(configuration(tmp_path)), Path(events(tmp_path))}
    said = _inspect(tmp_path).stderr
    assert "for the custodian only: no ledger is opened, nothing is charged" in said
    assert "200 events read, 200 usable" in said
    assert set(tmp_path.rglob("*")) == made


def test_a_file_that_a_run_refuses_is_counted(tmp_path):
    """To see what is wrong is what it is for: exit code 0, and every reason with an example."""
    configuration(tmp_path)
    rows = '{"person": "p", "room": "HALL", "ts": 5}\nnonsense\n'
    (tmp_path / "badges.jsonl").write_text(rows)
    (feed,) = _lines(tmp_path, "feed")
    assert feed["events"] == 2
    outside = feed["dropped"]["out_of_domain"]
    assert outside["place"] == "badges.jsonl, row 1"
    assert "did you mean 'hall'?" in outside["example"]
    example = {"rows": 1, "place": "badges.jsonl, row 2", "example": "'nonsense'"}
    assert feed["dropped"]["undecodable"] == example


@pytest.mark.parametrize(
    ("options", "hours"),
    [
        ("", range(24)),
        ("--since 1970-01-01T05:00 --until 1970-01-01T07:00Z", (5, 6)),
        ("--since 1970-01-01T05:00 --limit 1", (5,)),
        ("--alarm crowd --limit 2", (0, 1)),
    ],
)
def test_windows_can_be_chosen(tmp_path, options, hours):
    """--since, --until, --limit and --alarm leave windows and alarms out."""
    configuration(tmp_path)
    events(tmp_path)
    lines = _lines(tmp_path, "dropped_by_bounds", *options.split())
    assert [int(line["window_start"][11:13]) for line in lines] == list(hours)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--alarm other", "there is no alarm 'other' hint: write one of: crowd"),
        ("--since 1970-01-02 --until 1970-01-01", "--since is later than --until"),
        ("--since 1970-01-01T23:30Z", "no window of alarm 'crowd' is in the span"),
        ("--replay nowhere.jsonl", "no such file"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path, options, said):
    """Exit code 2 and what to write instead."""
    configuration(tmp_path)
    events(tmp_path)
    result = _inspect(tmp_path, *options.split(), code=2)
    assert said in " ".join(result.stderr.split())


@pytest.fixture
def busy(tmp_path):
    """Forty windows in which 30 or more of 60 rooms hold somebody, the first room 35 people."""
    rooms = [f"r{i}" for i in range(60)]
    path = Path(configuration(tmp_path, tolerance=3))
    text = path.read_text().replace("1970-01-02}", "1970-01-03}")
    path.write_text(text.replace("[lab, hall]", f"[{', '.join(rooms)}]"))
    _written(
        tmp_path,
        (
            (f"p{i}", room, hour * HOUR_MS + i)
            for hour in range(40)
            for at, room in enumerate(rooms[: 30 + hour % 30])
            for i in range(1 if at else 35)
        ),
    )
    return tmp_path


def test_what_is_shown_is_bounded(busy):
    """40 lines at most, and how to see the rest: --json has every cell."""
    shown = _inspect(busy).stdout.splitlines()
    assert len(shown) <= 40
    groups = {line["group"]["room"] for line in _lines(busy, "group")}
    assert shown[-1] == f"{len(groups) - 30} more groups: --json has all"


def test_what_groups_count_adds_up(busy):
    """A line a group, those first that are true in most windows."""
    summary = _inspect(busy).stdout.splitlines()
    rows = [[cell.strip() for cell in row.split("│")[1:-1]] for row in summary[4:6]]
    assert rows == [["r0", "40", "40", "35, 35"], ["r1", "40", "0", "1, 1"]]


def test_without_a_history_it_asks_from_when(tmp_path):
    """A live feed has no history: --since and --until say which windows."""
    path = Path(configuration(tmp_path))
    events(tmp_path)
    history = "    history: {from: 1970-01-01, until: 1970-01-02}\n"
    edit(path, history, "")
    assert "--since" in _inspect(tmp_path, code=2).stderr
    span = ("--since", "1970-01-01T05:00Z", "--until", "1970-01-01T06:00Z")
    assert [line["statistics"] for line in _lines(tmp_path, "group", *span)] == [[200]]
