"""``tocsin ledger FILE ...``: what each command prints, changes and refuses."""

from __future__ import annotations

import re
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


DAY = "until: 1970-01-02"
NOON = "until: 1970-01-01T12:00"


@pytest.fixture(scope="module")
def day_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a decided day, by budget unit; run once each."""

    @cache
    def run(unit: str) -> Path:
        folder = tmp_path_factory.mktemp(unit)
        path = configuration(folder, unit=unit, epsilon_max="40")
        tocsin("run", path, "--replay", events(folder), code=0)
        return folder

    return run


@pytest.fixture
def decided(day_of: Callable[[str], Path], tmp_path: Path) -> str:
    """A configuration under unit ``event`` whose day has been decided; the test's own copy."""
    return str(copytree(day_of("event"), tmp_path, dirs_exist_ok=True) / "alarms.yaml")


def edited(path: str, *changes: tuple[str, str]) -> None:
    """Replace words of a configuration."""
    text = Path(path).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(path).write_text(text)


def status_of(path: str) -> list[dict[str, Any]]:
    """Return the status as JSON, one object a record, without the ends of its chains."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    return [{key: value for key, value in line.items() if key != "checkpoint"} for line in lines]


def verify(path: str, *words: object) -> str:
    """Find a ledger sound, and return the checkpoint that this ends with."""
    told = tocsin("ledger", path, "verify", *words, code=0).stdout
    assert told.startswith("ok\n")
    return told.rstrip().rpartition("checkpoint ")[2]


def refused(path: str, *words: object) -> str:
    """Return why a command on a ledger ends with 2; it prints nothing else."""
    result = tocsin("ledger", path, *words, code=2)
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            """payload = CAST(REPLACE(CAST(payload AS TEXT), 'units":', 'units":1') AS BLOB)""",
            r"entry \d+ of the ledger is not what was stored",
        ),
        ("hash = 7 WHERE seq = 5", "entry 5 of the ledger"),
        ("payload = 7 WHERE seq = 5", "entry 5 of the ledger"),
    ],
    ids=["another loss", "no hash", "no entry"],
)
def test_verify_finds_a_ledger_that_was_tampered_with(
    tmp_path: Path, decided: str, change: str, said: str
) -> None:
    """What was changed behind Tocsin's back is named, with exit code 2."""
    with closing(sqlite3.connect(tmp_path / ".tocsin" / "alarms.db")) as database, database:
        database.execute(f"UPDATE tocsin_entries SET {change}")  # noqa: S608
    assert re.search(said, refused(decided, "verify"))


def test_accepted_windows_may_be_cut_anew(tmp_path: Path) -> None:
    """With longer windows, the next one that starts on the new calendar is decided next."""
    path, early = configuration(tmp_path), "until: 1970-01-01T05:00"
    edited(path, (DAY, early))
    command = ("run", path, "--replay", events(tmp_path))
    tocsin(*command, "--accept-drops")  # the events lie in the hour after
    edited(path, ("'1' HOUR", "'4' HOUR"), (early, DAY))
    accepted = tocsin("ledger", path, "apply")
    assert "in force from 1970-01-01 08:00 UTC" in accepted.stdout
    shown = tocsin(*command, code=0)
    assert "4 decided now" in " ".join(shown.stdout.split())
    verify(path)


# --- verify with checkpoints


def test_verify_takes_the_checkpoints_that_it_ended_with(tmp_path: Path) -> None:
    """Now and after more windows, one or several."""
    path = configuration(tmp_path)
    run = ("run", path, "--replay", events(tmp_path))
    edited(path, (DAY, NOON))
    tocsin(*run)
    noted = verify(path)
    edited(path, (NOON, DAY))
    tocsin(*run)
    later = verify(path, "--checkpoint", noted)
    assert later != noted
    both = ("--checkpoint", noted, "--checkpoint", later, "--checkpoint", later)
    assert verify(path, *both) == later


def test_verify_since_a_noted_link_says_what_it_did_not_read(decided: str) -> None:
    """It ends with checkpoints like any other, and does not pass for a whole one."""
    noted = verify(decided)
    told = tocsin("ledger", decided, "verify", "--since", noted, code=0).stdout
    number = noted.partition(":")[0]
    said = f"read since entry {number} only; what came before was not compared"
    assert told.splitlines() == ["ok", said, f"checkpoint {noted}"]


def test_two_checkpoints_that_contradict_each_other_are_bad_input(decided: str) -> None:
    """One entry has one hash."""
    same = ("--checkpoint", "3:" + "0" * 32, "--checkpoint", "3:" + "1" * 32)
    assert "give different hashes" in refused(decided, "verify", *same)


# --- archive


def test_archiving_changes_nothing_that_is_shown(tmp_path: Path, decided: str) -> None:
    """Entries go; status, verification and a second run stay; the checkpoint is told."""
    before, folder = status_of(decided), tmp_path / "archive"
    command = ("ledger", decided, "archive", folder)
    told = tocsin(*command, "--before", "1970-01-01T12:00").stdout.splitlines()
    (name,) = (path.name for path in folder.iterdir())
    many = name.split("-")[2]
    noted = verify(decided)
    assert told == [
        f"{many} entries moved to {name}, before 1970-01-01 12:00 UTC",
        f"checkpoint {noted}",
    ]
    assert " entries moved to entries-" in tocsin(*command).stdout
    assert tocsin(*command).stdout.startswith("0 entries moved, before ")
    assert len(list(folder.iterdir())) == 2
    assert status_of(decided) == before
    noted = verify(decided)
    assert verify(decided, "--checkpoint", noted) == noted
    again = tocsin("run", decided, "--replay", events(tmp_path))
    assert "24 decided by an earlier run" in " ".join(again.stdout.split())
    kinds = [row["record"] for row in json_lines(tocsin("ledger", decided, "export"))]
    assert "ended" not in kinds
    assert kinds[:2] == ["archived", "snapshot"]


def test_verify_follows_archives(tmp_path: Path, decided: str) -> None:
    """From the first entry on, with checkpoints that lie in them; an edited file is named."""
    early, folder = verify(decided), tmp_path / "archive"
    command = ("ledger", decided, "archive", folder)
    told = tocsin(*command, "--before", "1970-01-01T12:00").stdout.split()
    tocsin(*command)
    files = ("--archive", folder)
    verify(decided, *files)
    verify(decided, *files, "--checkpoint", early)
    middle = f"5:{early.partition(':')[2]}"
    wrong = refused(decided, "verify", *files, "--checkpoint", middle)
    assert "entry 5 is not the one that was noted" in wrong
    refused(decided, "verify", *files, "--since", early)
    path = folder / told[4].rstrip(",")
    path.write_bytes(path.read_bytes()[:-9])
    assert refused(decided, "verify", *files).startswith(f"{path.name} is not a readable archive")
    verify(decided)


def test_what_was_published_is_compared(tmp_path: Path, decided: str) -> None:
    """What a replay printed, now and from an archive; an alarm that was dropped is named."""
    saved, folder = tmp_path / "published.jsonl", tmp_path / "archive"
    printed = tocsin("run", decided, "--replay", events(tmp_path), "--json").stdout
    saved.write_text(printed)
    command = ("verify", "--published", saved)
    for more in ((), ("--archive", folder)):
        if more:
            tocsin("ledger", decided, "archive", folder, code=0)
        compared = tocsin("ledger", decided, *command, *more).stdout
        assert compared.startswith("ok\ncrowd: decisions 1 to 24 compared\ncheckpoint ")
    assert "24 decision(s) not covered" in tocsin("ledger", decided, *command).stdout
    saved.write_text(re.sub(r'\{"alarm_id".*\n', "", printed))
    for given, text in ((more, "is missing"), ((), "its alarms are not those of its record")):
        told = refused(decided, *command, *given)
        assert "number 6" in told
        assert text in told
    saved.write_text("{}\n")
    assert f"{saved}:1: not a decision and not an alarm" in refused(decided, *command)
    refused(decided, *command, "--topics")
    assert "--published FILE.jsonl" in refused(decided, "verify", "--topics")


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
    moved = tocsin("ledger", decided, "archive", folder, "--before", "1970-01-02")
    assert moved.stdout.splitlines()[0].endswith(", before 1970-01-01 12:00 UTC")
    assert len(archived_until(decided)) == 12
    assert archived_until(decided)[-1] == "1970-01-01T12:00:00.000Z"


def test_the_current_period_is_kept_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a period, what began before today's (in the budget's time zone) goes."""
    path = configuration(tmp_path, unit="user", epsilon_max="40", more="timing: {max_age: 1h}")
    edited(path, ("period: lifetime", "period: 1d"))
    monkeypatch.setattr("stream.cli.ledger.wall_clock_ms", lambda: 10 * 24 * HOUR_MS + 15 * HOUR_MS)
    tocsin("run", path, "--replay", events(tmp_path))
    before = status_of(path)
    told = tocsin("ledger", path, "archive", tmp_path / "archive").stdout
    assert told.splitlines()[0].endswith(", before 1970-01-11 00:00 UTC")
    assert len(archived_until(path)) == 24
    assert status_of(path) == before


def test_losses_of_an_alarm_that_never_ran_say_so(decided: str) -> None:
    """It is in the configuration and not yet in the ledger."""
    edited(decided, ("alarms:\n", f"alarms:\n{GONE}"))
    assert "no decision of alarm 'gone' yet\n  hint:" in refused(decided, "losses", "gone")


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
    tocsin("ledger", path, "archive", tmp_path / "archive")
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
    edited(path, (DAY, NOON), ("alarms:\n", f"alarms:\n{GONE}"))
    tocsin("run", path, "--replay", events(folder), code=0)
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
    edited(path, (NOON, DAY), (GONE, ""))
    return path


def test_retiring_asks_first_and_gives_reservations_back(tmp_path: Path) -> None:
    """Anything but yes leaves the alarm as it was; removed, it does not come back."""
    path = with_an_orphan(tmp_path)
    unknown = refused(path, "remove-alarm", "crow", "--yes")
    assert "alarms that can be removed: gone" in unknown
    for answer, code, left in (("n\n", 1, 2), ("", 1, 2), ("y\n", 0, 1)):
        asked = CliRunner().invoke(main, ["ledger", path, "remove-alarm", "gone"], input=answer)
        assert asked.exit_code == code
        assert "remove 'gone' from budget 'feed:badges' for good?" in asked.stderr
        assert status_of(path)[1]["reservations"] == left
    verify(path)
    replay = ("run", path, "--replay", events(tmp_path))
    tocsin(*replay, code=0)
    edited(path, ("alarms:\n", f"alarms:\n{GONE}"))
    assert "'gone' was removed" in tocsin(*replay, code=2).stderr


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
        result = tocsin(*command, code=2)
        assert result.stdout == ""
        assert "'feed:badges'" in result.stderr
        assert "hint:" in result.stderr
    edited(decided, ("feeds:", 'kafka: {bootstrap: "127.0.0.1:1"}\nfeeds:'))
    told = refused(decided, "reconcile")
    assert "the scope of alarm 'crowd' changed from 'feed:badges' to 'user'" in told
    edited(decided, ("privacy_unit: user", "privacy_unit: event"), (", period: 1d", ""))
    assert [line["budget"] for line in status_of(decided) if "spent" in line] == ["feed:badges"]
