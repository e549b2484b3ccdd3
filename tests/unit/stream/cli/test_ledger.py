"""``tocsin ledger FILE ...``: what each command prints, changes and refuses."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.records import Request
from stream.build import open_ledger
from stream.cli.main import main
from stream.config.loading import load
from stream.custody.archive import decisions_in
from stream.custody.changes import orphans
from stream.windows.instants import iso_utc
from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

DAY = "1970-01-02"


@pytest.fixture(scope="module")
def day_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a decided day, by budget unit; run once each."""

    @cache
    def run(unit: str) -> Path:
        folder = tmp_path_factory.mktemp(unit)
        path = configuration(folder, unit=unit, epsilon_max="40")
        assert tocsin("run", path, "--replay", events(folder)).exit_code == 0
        return folder

    return run


@pytest.fixture
def decided(day_of: Callable[[str], Path], tmp_path: Path) -> str:
    """A configuration under unit ``event`` whose day has been decided; the test's own copy."""
    return str(copytree(day_of("event"), tmp_path, dirs_exist_ok=True) / "alarms.yaml")


EDIT = (
    "UPDATE tocsin_entries"
    " SET payload = CAST(REPLACE(CAST(payload AS TEXT), '{old}', '{new}') AS BLOB)"
    " WHERE seq = {number}"
)


def edited(path: str, *changes: tuple[str, str]) -> None:
    """Replace words of a configuration."""
    text = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(path).write_text(text, encoding="utf-8")


def status_of(path: str) -> list[dict[str, Any]]:
    """Return the status as JSON, one object a record."""
    return json_lines(tocsin("ledger", path, "status", "--json"))


def without_checkpoints(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a status without the ends of its chains."""
    return [{key: value for key, value in line.items() if key != "checkpoint"} for line in lines]


def checkpoints_of(result: Result) -> list[str]:
    """Return the checkpoints that a command ended with."""
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    return [line.removeprefix("checkpoint ") for line in lines if line.startswith("checkpoint ")]


def execute(folder: Path, statement: str) -> None:
    """Change a ledger behind Tocsin's back."""
    with closing(sqlite3.connect(folder / ".tocsin" / "alarms.db")) as database, database:
        database.execute(statement)


def test_an_export_has_every_window_and_not_the_hash_key(decided: str) -> None:
    """What was decided comes out; the key of the hashes stays inside."""
    rows = json_lines(tocsin("ledger", decided, "export"))
    assert sum(row["record"] == "ended" for row in rows) == 24
    assert not any("hash_key" in row for row in rows)


def test_verify_finds_a_ledger_that_was_tampered_with(tmp_path: Path, decided: str) -> None:
    """A loss changed behind Tocsin's back is named, with exit code 2."""
    ended = next(
        row
        for row in json_lines(tocsin("ledger", decided, "export"))
        if row["record"] == "ended" and row.get("settled_units")
    )
    units, number = ended["settled_units"], ended["seq"]
    old, new = (f'"settled_units":{one}' for one in (units, units - 1))
    execute(tmp_path, EDIT.format(old=old, new=new, number=number))
    result = tocsin("ledger", decided, "verify")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"entry {number} of the ledger is not what was stored" in result.stderr


def test_accepted_windows_may_be_cut_anew(tmp_path: Path) -> None:
    """With longer windows, the next one that starts on the new calendar is decided next."""
    path = Path(configuration(tmp_path))
    early = path.read_text(encoding="utf-8").replace("until: 1970-01-02", "until: 1970-01-01T05:00")
    path.write_text(early, encoding="utf-8")
    command = ("run", str(path), "--replay", events(tmp_path))
    tocsin(*command, "--accept-drops")  # the events lie in the hour after
    changed = early.replace("'1' HOUR", "'4' HOUR").replace("1970-01-01T05:00", "1970-01-02")
    path.write_text(changed, encoding="utf-8")
    accepted = tocsin("ledger", str(path), "apply")
    assert "in force from 1970-01-01 08:00 UTC" in accepted.stdout
    shown = tocsin(*command)
    assert shown.exit_code == 0, shown.stderr
    assert "4 decided now" in " ".join(shown.stdout.split())
    assert tocsin("ledger", str(path), "verify").exit_code == 0


# --- verify with checkpoints


def test_verify_ends_with_checkpoints_that_status_shows_too(tmp_path: Path) -> None:
    """What ``verify`` prints is taken by ``--checkpoint``, now and after more windows."""
    path = configuration(tmp_path)
    edited(path, (f"until: {DAY}", "until: 1970-01-01T12:00"))
    tocsin("run", path, "--replay", events(tmp_path))
    noted = checkpoints_of(tocsin("ledger", path, "verify"))
    ledger, budget, _ = status_of(path)
    assert noted == [ledger["checkpoint"]]
    assert noted[0] in tocsin("ledger", path, "status").stdout
    assert (budget["reservations"], budget["pending"]) == (0, 0)
    edited(path, ("until: 1970-01-01T12:00", f"until: {DAY}"))
    tocsin("run", path, "--replay", events(tmp_path))
    later = checkpoints_of(tocsin("ledger", path, "verify", "--checkpoint", noted[0]))
    assert later != noted
    both = ("--checkpoint", noted[0], "--checkpoint", later[0], "--checkpoint", later[0])
    assert checkpoints_of(tocsin("ledger", path, "verify", *both)) == later


def test_verify_since_a_noted_link_says_what_it_did_not_read(decided: str) -> None:
    """It ends with checkpoints like any other, and does not pass for a whole one."""
    (noted,) = checkpoints_of(tocsin("ledger", decided, "verify"))
    result = tocsin("ledger", decided, "verify", "--since", noted)
    assert checkpoints_of(result) == [noted]
    number = noted.partition(":")[0]
    said = f"read since entry {number} only; what came before was not compared"
    assert result.stdout.splitlines()[:2] == ["ok", said]
    wrong = tocsin("ledger", decided, "verify", "--since", f"{number}:{'0' * 32}")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "is not the one that was noted" in wrong.stderr


def test_two_checkpoints_that_contradict_each_other_are_bad_input(decided: str) -> None:
    """One entry has one hash."""
    same = ("--checkpoint", "3:" + "0" * 32, "--checkpoint", "3:" + "1" * 32)
    result = tocsin("ledger", decided, "verify", *same)
    assert result.exit_code == 2
    assert "give different hashes" in result.stderr


@pytest.mark.parametrize("column", ["hash", "payload"])
def test_a_log_that_cannot_be_read_is_said(tmp_path: Path, decided: str, column: str) -> None:
    """Where what is stored is no hash, or no entry, ``verify`` still ends in a sentence."""
    execute(tmp_path, f"UPDATE tocsin_entries SET {column} = 7 WHERE seq = 5")  # noqa: S608
    result = tocsin("ledger", decided, "verify")
    assert (result.exit_code != 0, result.stdout) == (True, "")
    assert "entry 5 of the ledger" in result.stderr
    assert "Traceback" not in result.stderr


# --- archive


def test_archiving_changes_nothing_that_is_shown(tmp_path: Path, decided: str) -> None:
    """Entries go; status, verification and a second run stay; the checkpoint is told."""
    before, folder = status_of(decided), tmp_path / "archive"
    command = ("ledger", decided, "archive", str(folder))
    told = tocsin(*command, "--before", "1970-01-01T12:00").stdout.splitlines()
    (name,) = (path.name for path in folder.iterdir())
    many = name.split("-")[2]
    assert told == [
        f"{many} entries moved to {name}, before 1970-01-01 12:00 UTC",
        *(f"checkpoint {noted}" for noted in checkpoints_of(tocsin("ledger", decided, "verify"))),
    ]
    assert " entries moved to entries-" in tocsin(*command).stdout
    assert tocsin(*command).stdout.startswith("0 entries moved, before ")
    assert len(list(folder.iterdir())) == 2
    assert without_checkpoints(status_of(decided)) == without_checkpoints(before)
    (noted,) = checkpoints_of(tocsin("ledger", decided, "verify"))
    assert checkpoints_of(tocsin("ledger", decided, "verify", "--checkpoint", noted)) == [noted]
    again = tocsin("run", decided, "--replay", events(tmp_path))
    assert "24 decided by an earlier run" in " ".join(again.stdout.split())
    kinds = [row["record"] for row in json_lines(tocsin("ledger", decided, "export"))]
    assert "ended" not in kinds
    assert kinds[:2] == ["archived", "snapshot"]


def test_verify_follows_archives(tmp_path: Path, decided: str) -> None:
    """From the first entry on, with checkpoints that lie in them; an edited file is named."""
    (early,) = checkpoints_of(tocsin("ledger", decided, "verify"))
    folder = tmp_path / "archive"
    command = ("ledger", decided, "archive", str(folder))
    told = tocsin(*command, "--before", "1970-01-01T12:00").stdout.split()
    tocsin(*command)
    verify = ("ledger", decided, "verify", "--archive", str(folder))
    assert tocsin(*verify).stdout.startswith("ok\n")
    assert tocsin(*verify, "--checkpoint", early).stdout.startswith("ok\n")
    middle = f"5:{early.partition(':')[2]}"
    wrong = tocsin(*verify, "--checkpoint", middle)
    assert (wrong.exit_code, "entry 5 is not the one that was noted" in wrong.stderr) == (2, True)
    assert tocsin(*verify, "--since", early).exit_code == 2
    assert tocsin(*command, "--before", "2100-01-01").exit_code == 2
    path = folder / told[4].rstrip(",")
    path.write_bytes(path.read_bytes()[:-9])
    result = tocsin(*verify)
    assert (result.exit_code, result.stderr.startswith(f"{path.name}: ")) == (2, True)
    assert tocsin("ledger", decided, "verify").exit_code == 0


def test_an_checkpoint_in_an_archive_is_not_taken_on_trust(tmp_path: Path, decided: str) -> None:
    """The last entry of an archive is still compared; an earlier one cannot be, and says so."""
    (noted,) = checkpoints_of(tocsin("ledger", decided, "verify"))
    tocsin("ledger", decided, "archive", str(tmp_path / "archive"))
    wrong, early = noted[:-32] + "0" * 32, f"1:{'0' * 32}"
    for checkpoint, text in ((wrong, "not the one that was noted"), (early, "give the archive")):
        result = tocsin("ledger", decided, "verify", "--checkpoint", checkpoint)
        assert (result.exit_code, result.stdout) == (2, "")
        assert text in result.stderr
    assert tocsin("ledger", decided, "verify", "--checkpoint", noted).exit_code == 0


def test_what_was_published_is_compared(tmp_path: Path, decided: str) -> None:
    """What a replay printed, now and from an archive; an alarm that was dropped is named."""
    saved, folder = tmp_path / "published.jsonl", tmp_path / "archive"
    printed = tocsin("run", decided, "--replay", events(tmp_path), "--json").stdout
    saved.write_text(printed, encoding="utf-8")
    verify = ("ledger", decided, "verify", "--published", str(saved))
    for more in ((), ("--archive", str(folder))):
        if more:
            assert tocsin("ledger", decided, "archive", str(folder)).exit_code == 0
        compared = tocsin(*verify, *more).stdout
        assert compared.startswith("ok\ncrowd: decisions 1 to 24 compared\ncheckpoint ")
    assert "24 decision(s) not covered" in tocsin(*verify).stdout
    lines = printed.splitlines()
    kept = [line for line in lines if '"alarm_id"' not in line]
    assert len(kept) == len(lines) - 1
    saved.write_text("\n".join(kept), encoding="utf-8")
    for given, text in ((more, "is missing"), ((), "its alarms are not those of its record")):
        result = tocsin(*verify, *given)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "number 6" in result.stderr
        assert text in result.stderr
    saved.write_text("{}\n", encoding="utf-8")
    assert f"{saved}:1: not a decision and not an alarm" in tocsin(*verify).stderr
    assert tocsin(*verify, "--topics").exit_code == 2
    assert "--published FILE.jsonl" in tocsin("ledger", decided, "verify", "--topics").stderr


def archived_until(path: str) -> list[str]:
    """Return when the windows end that lie in an archive, in order."""
    alarms = load(Path(path), environ={})
    with open_ledger(alarms) as ledger:
        moved = decisions_in(ledger, Path(path).parent / "archive")
        return [iso_utc(one.key.end_ms) for one in moved]


def test_windows_that_may_still_be_decided_stay_out_of_archives(
    decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ``--before`` says, no window younger than ``max_age`` and its grace goes."""
    (query,) = load(Path(decided), environ={}).by_name.values()
    now_ms = query.max_age_ms + query.grace_ms + 12 * HOUR_MS
    monkeypatch.setattr("stream.cli.ledger.wall_clock_ms", lambda: now_ms)
    folder = Path(decided).parent / "archive"
    moved = tocsin("ledger", decided, "archive", str(folder), "--before", "1970-01-02")
    assert moved.stdout.splitlines()[0].endswith(", before 1970-01-01 12:00 UTC")
    assert len(archived_until(decided)) == 12
    assert archived_until(decided)[-1] == "1970-01-01T12:00:00.000Z"


def test_the_current_period_is_kept_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a period, what began before today's (in the budget's time zone) goes."""
    path = configuration(tmp_path, unit="user", epsilon_max="40")
    edited(
        path,
        ("period: lifetime", "period: 1d"),
        ("    max_fnr", "    timing: {max_age: 1h}\n    max_fnr"),
    )
    monkeypatch.setattr("stream.cli.ledger.wall_clock_ms", lambda: 10 * 24 * HOUR_MS + 15 * HOUR_MS)
    tocsin("run", path, "--replay", events(tmp_path))
    before = status_of(path)
    told = tocsin("ledger", path, "archive", str(tmp_path / "archive")).stdout
    assert told.splitlines()[0].endswith(", before 1970-01-11 00:00 UTC")
    assert len(archived_until(path)) == 24
    assert without_checkpoints(status_of(path)) == without_checkpoints(before)


def test_losses_of_an_alarm_that_never_ran_say_so(decided: str) -> None:
    """It is in the configuration and not yet in the ledger."""
    Path(decided).write_text(Path(decided).read_text(encoding="utf-8") + GONE, encoding="utf-8")
    result = tocsin("ledger", decided, "losses", "gone")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no decision of alarm 'gone' yet" in result.stderr
    assert "hint:" in result.stderr


@pytest.mark.parametrize("unit", ["event", "user"])
@pytest.mark.parametrize("at", [(), ("--at", "1970-01-01T05:30")])
def test_losses_after_archiving_are_not_taken_for_all(
    day_of: Callable[[str], Path], tmp_path: Path, unit: str, at: tuple[str, ...]
) -> None:
    """Where entries are gone, what is left is neither exact nor complete, and the table says so."""
    path = str(copytree(day_of(unit), tmp_path, dirs_exist_ok=True) / "alarms.yaml")
    command = ("ledger", path, "losses", "crowd", *at)
    before = json_lines(tocsin(*command, "--json"))
    assert all(line["exact"] and line["complete"] for line in before)
    assert float(before[0]["epsilon"]) > 1
    tocsin("ledger", path, "archive", str(tmp_path / "archive"))
    after = json_lines(tocsin(*command, "--json"))
    assert not any(line["exact"] or line["complete"] for line in after)
    shown = " ".join(tocsin(*command).stdout.split())
    assert "what is left" in shown
    assert "may have lost more" in shown


# --- alarms that were removed

GONE = """\
  gone:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 9
    max_fnr: 0.05
    tolerance: 1
"""


def with_an_orphan(folder: Path) -> str:
    """Return a configuration that lacks an alarm which holds a reservation of its ledger."""
    path = configuration(folder)
    kept = Path(path).read_text(encoding="utf-8")
    early = kept.replace(f"until: {DAY}", "until: 1970-01-01T12:00")
    Path(path).write_text(early + GONE, encoding="utf-8")
    assert tocsin("run", path, "--replay", events(folder)).exit_code == 0
    alarms = load(Path(path), environ={})
    noon_ms, one_ms = 12 * HOUR_MS, 13 * HOUR_MS
    with open_ledger(alarms) as ledger:
        requests = [
            Request(
                Charge(WindowKey(one_ms, name, noon_ms), UniformCost(2 * 10**12, 2), 1),
                alarms.by_name[name].fingerprint,
            )
            for name in ("crowd", "gone")
        ]
        ledger.admit("feed:badges", requests)
    Path(path).write_text(kept, encoding="utf-8")
    return path


def test_retiring_asks_first_and_gives_reservations_back(tmp_path: Path) -> None:
    """Anything but yes leaves the alarm as it was; removed, it does not come back."""
    path = with_an_orphan(tmp_path)
    command = ("ledger", path, "remove-alarm", "gone")
    replay = ("run", path, "--replay", events(tmp_path))
    for answer, code, left in (("n\n", 1, 2), ("", 1, 2), ("y\n", 0, 1)):
        asked = CliRunner().invoke(main, command, input=answer)
        assert asked.exit_code == code
        assert "remove 'gone' from budget 'feed:badges' for good?" in asked.stderr
        assert status_of(path)[1]["reservations"] == left
    assert tocsin("ledger", path, "verify").exit_code == tocsin(*replay).exit_code == 0
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(GONE)
    refused = tocsin(*replay)
    assert (refused.exit_code, "'gone' was removed" in refused.stderr) == (2, True)


def test_only_alarms_out_of_the_configuration_can_be_removed(tmp_path: Path) -> None:
    """An alarm that still runs is refused, and so is one that never was."""
    path = with_an_orphan(tmp_path)
    running = tocsin("ledger", path, "remove-alarm", "crowd", "--yes")
    assert (running.exit_code, "take it out first" in running.stderr) == (2, True)
    unknown = tocsin("ledger", path, "remove-alarm", "crow", "--yes")
    assert unknown.exit_code == 2
    assert "alarms that can be removed: gone" in unknown.stderr


def test_alarms_on_other_budgets_are_no_orphans(tmp_path: Path) -> None:
    """Only alarms that draw on a budget of this configuration can make its windows wait."""
    alarms = load(Path(with_an_orphan(tmp_path)), environ={})
    with open_ledger(alarms) as ledger:
        status = ledger.reports.status()
    assert orphans(alarms, status) == ["gone"]
    elsewhere = {name: replace(q, scope="feed:doors") for name, q in status.queries.items()}
    assert orphans(alarms, replace(status, queries=elsewhere)) == []


# --- a budget that changed


def test_a_changed_unit_is_refused(tmp_path: Path, decided: str) -> None:
    """The alarms would move to another budget: exit code 2 and a hint."""
    edited(decided, ("privacy_unit: event", "privacy_unit: user"), ('"40"', '"40", period: 1d'))
    for command in (("run", decided, "--replay", events(tmp_path)), ("ledger", decided, "apply")):
        result = tocsin(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "'feed:badges'" in result.stderr
        assert "hint:" in result.stderr
    kafka = 'kafka: {bootstrap: "127.0.0.1:1"}\nfeeds:'
    edited(decided, ("feeds:", kafka))
    result = tocsin("ledger", decided, "reconcile")
    assert result.exit_code == 2
    assert "the scope of alarm 'crowd' changed from 'feed:badges' to 'user'" in result.stderr
    edited(decided, ("privacy_unit: user", "privacy_unit: event"), (", period: 1d", ""))
    assert [line["budget"] for line in status_of(decided) if "spent" in line] == ["feed:badges"]
