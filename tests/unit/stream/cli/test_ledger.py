"""``tocsin ledger FILE ...``: what each command prints, changes and refuses.

That every change of a ledger, an archive or a published record is named: ``tests/contracts`` and
``tests/unit/stream/custody``.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.records import Request
from stream.build import open_ledger
from stream.cli.main import main
from stream.config.loading import load
from stream.custody.changes import orphans
from stream.replay.replay import Replay
from stream.windows.instants import iso_utc
from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin
from tests.support.files import edit
from tests.support.published import decisions_in

DAY = "until: 1970-01-02"
NOON = "until: 1970-01-01T12:00"
BEFORE_NOON = ("--before", "1970-01-01T12:00")
GONE = """\
  gone:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 9
    max_fnr: 0.05
    tolerance: 1
"""


@pytest.fixture(scope="module")
def day_of(tmp_path_factory):
    """A function that returns the folder of a decided day, by budget unit; run once each."""

    @cache
    def run(unit):
        folder = tmp_path_factory.mktemp(unit)
        path = configuration(folder, unit=unit, epsilon_max="40")
        tocsin("run", path, "--replay", events(folder), code=0)
        return folder

    return run


@pytest.fixture
def decided(day_of, tmp_path):
    """A configuration under unit ``event`` whose day has been decided; the test's own copy."""
    return copytree(day_of("event"), tmp_path, dirs_exist_ok=True) / "alarms.yaml"


@pytest.fixture
def archive(tmp_path):
    """The folder of archived entries."""
    return tmp_path / "archive"


def run(path, *more):
    """Replay the day."""
    return tocsin("run", path, "--replay", events(Path(path).parent), *more)


def status_of(path):
    """Return the status as JSON, one object a record, without the ends of its chains."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    return [{**line, "checkpoint": None} for line in lines]


def verify(path, *words):
    """Find a ledger sound, and return the checkpoint that this ends with."""
    told = tocsin("ledger", path, "verify", *words, code=0).stdout
    assert told.startswith("ok\n")
    return told.rstrip().rpartition("checkpoint ")[2]


def archived(path, *words):
    """Archive, and return the lines that are printed."""
    folder = Path(path).parent / "archive"
    return tocsin("ledger", path, "archive", folder, *words, code=0).stdout.splitlines()


def refused(path, *words):
    """Return why a command on a ledger ends with 2; it prints nothing else."""
    result = tocsin("ledger", path, *words, code=2)
    assert result.stdout == ""
    return result.stderr


def test_verify_finds_a_ledger_that_was_tampered_with(tmp_path, decided):
    """What was changed behind Tocsin's back is named, with exit code 2."""
    change = "payload = CAST(REPLACE(CAST(payload AS TEXT), 'units\":', 'units\":1') AS BLOB)"
    with closing(sqlite3.connect(tmp_path / ".tocsin" / "alarms.db")) as database, database:
        database.execute(f"UPDATE tocsin_entries SET {change}")  # noqa: S608
    said = r"entry \d+ of the ledger is not what was stored"
    assert re.search(said, refused(decided, "verify"))


def test_accepted_windows_may_be_cut_anew(tmp_path):
    """With longer windows, the next one that starts on the new calendar is decided next."""
    path, early = configuration(tmp_path), "until: 1970-01-01T05:00"
    edit(path, DAY, early)
    run(path, "--accept-drops")  # the events lie in the hour after
    edit(path, "'1' HOUR", "'4' HOUR")
    edit(path, early, DAY)
    accepted = tocsin("ledger", path, "apply")
    assert "in force from 1970-01-01 08:00 UTC" in accepted.stdout
    assert "4 decided now" in " ".join(run(path).stdout.split())
    verify(path)


def test_a_change_waits_for_what_has_not_left(tmp_path):
    """It would leave with the numbers of a configuration that did not decide it."""
    path = configuration(tmp_path)
    alarms = load(Path(path), environ={})
    with open_ledger(alarms) as ledger:  # decided, and nothing of it is taken
        next(Replay(alarms, ledger, {"badges": [Path(events(tmp_path))]}).run())
    edit(path, "tolerance: 1", "tolerance: 5")
    assert "decision(s) of alarm 'crowd' are not published" in refused(path, "apply")
    edit(path, "tolerance: 5", "tolerance: 1")
    run(path)
    edit(path, "tolerance: 1", "tolerance: 5")
    assert "applied" in tocsin("ledger", path, "apply", code=0).stdout


def test_verify_takes_the_checkpoint_that_it_ended_with(tmp_path):
    """Now and after more windows.

    Since a noted one, it says what it did not read, and does not pass for a whole one.
    """
    path = configuration(tmp_path)
    edit(path, DAY, NOON)
    run(path)
    noted = verify(path)
    edit(path, NOON, DAY)
    run(path)
    later = verify(path, "--checkpoint", noted)
    assert later != noted
    assert verify(path, "--checkpoint", later) == later
    told = tocsin("ledger", path, "verify", "--since", noted, code=0).stdout
    number = noted.partition(":")[0]
    said = f"read since entry {number} only; what came before was not compared"
    assert told.splitlines() == ["ok", said, f"checkpoint {later}"]


def test_archiving_changes_nothing_that_is_shown(decided, archive):
    """Entries go; status, verification and a second run stay; the checkpoint is told."""
    before = status_of(decided)
    told = archived(decided, *BEFORE_NOON)
    (name,) = (path.name for path in archive.iterdir())
    moved = f"{name.split('-')[2]} entries moved to {name}, before 1970-01-01 12:00 UTC"
    assert told == [moved, f"checkpoint {verify(decided)}"]
    assert " entries moved to entries-" in archived(decided)[0]
    assert archived(decided)[0].startswith("0 entries moved, before ")
    assert len(list(archive.iterdir())) == 2
    assert status_of(decided) == before
    verify(decided, "--checkpoint", verify(decided))
    assert "24 decided by an earlier run" in " ".join(run(decided).stdout.split())
    kinds = [row["record"] for row in json_lines(tocsin("ledger", decided, "export"))]
    assert "ended" not in kinds
    assert kinds[:2] == ["archived", "snapshot"]


def test_verify_follows_archives(decided, archive):
    """From the first entry on, with checkpoints that lie in them; an edited file is named."""
    early = verify(decided)
    archived(decided, *BEFORE_NOON)
    archived(decided)
    files = ("--archive", archive)
    verify(decided, *files, "--checkpoint", early)
    refused(decided, "verify", *files, "--since", early)
    path = min(archive.iterdir())
    path.write_bytes(path.read_bytes()[:-9])
    assert refused(decided, "verify", *files).startswith(f"{path.name} is not a readable archive")
    verify(decided)


def test_what_was_published_is_compared(tmp_path, decided):
    """What a replay printed; what is missing from it is named, also once it is archived."""
    saved, printed = tmp_path / "published.jsonl", run(decided, "--json").stdout
    command = ("verify", "--published", saved)
    for covered in (True, False):
        saved.write_text(printed)
        told = tocsin("ledger", decided, *command, code=0).stdout
        assert told.startswith("ok\ncrowd: decisions 1 to 24 compared\n")
        assert ("24 decision(s) not covered" in told) is not covered
        saved.write_text(re.sub(r'\{"alarm_id".*\n', "", printed))
        said = "is missing" if covered else "its alarms are not those of its record"
        assert said in refused(decided, *command)
        archived(decided)
    saved.write_text("{}\n")
    assert f"{saved}:1: not a decision and not an alarm" in refused(decided, *command)
    for topics in ((*command, "--topics"), ("verify", "--topics")):
        assert "--published" in refused(decided, *topics)


def archived_until(path):
    """Return when the windows end that lie in an archive, in order."""
    with open_ledger(load(Path(path), environ={})) as ledger:
        moved = decisions_in(ledger, Path(path).parent / "archive")
        return [iso_utc(one.key.end_ms) for one in moved]


def test_windows_that_may_still_be_decided_stay_out_of_archives(decided, monkeypatch):
    """Whatever ``--before`` says, no window younger than ``max_age`` and its grace goes."""
    (query,) = load(decided, environ={}).by_name.values()
    now_ms = query.max_age_ms + query.grace_ms + 12 * HOUR_MS
    monkeypatch.setattr("stream.cli.ledger.wall_clock_ms", lambda: now_ms)
    assert archived(decided, "--before", "1970-01-02")[0].endswith(", before 1970-01-01 12:00 UTC")
    moved = archived_until(decided)
    assert (len(moved), moved[-1]) == (12, "1970-01-01T12:00:00.000Z")


def test_the_current_period_is_kept_by_default(tmp_path, monkeypatch):
    """Under a period, what began before today's (in the budget's time zone) goes."""
    path = configuration(tmp_path, unit="user", epsilon_max="40", more="timing: {max_age: 1h}")
    edit(path, "period: lifetime", "period: 1d")
    monkeypatch.setattr("stream.cli.ledger.wall_clock_ms", lambda: (10 * 24 + 15) * HOUR_MS)
    run(path)
    before = status_of(path)
    assert archived(path)[0].endswith(", before 1970-01-11 00:00 UTC")
    assert len(archived_until(path)) == 24
    assert status_of(path) == before


def test_losses_of_an_alarm_that_never_ran_say_so(decided):
    """It is in the configuration and not yet in the ledger."""
    edit(decided, "alarms:\n", f"alarms:\n{GONE}")
    assert "no decision of alarm 'gone' yet\n  hint:" in refused(decided, "losses", "gone")


@pytest.mark.parametrize("unit", ["event", "user"])
@pytest.mark.parametrize("at", [(), ("--at", "1970-01-01T05:30")])
def test_losses_after_archiving_are_not_taken_for_all(day_of, tmp_path, unit, at):
    """Where entries are gone, what is left is neither exact nor complete, and the table says so."""
    path = copytree(day_of(unit), tmp_path, dirs_exist_ok=True) / "alarms.yaml"
    command = ("ledger", path, "losses", "crowd", *at)

    def whole():
        lines = json_lines(tocsin(*command, "--json"))
        return float(lines[0]["epsilon"]) > 1, {(one["exact"], one["complete"]) for one in lines}

    assert whole() == (True, {(True, True)})
    archived(path)
    assert whole()[1] == {(False, False)}
    shown = " ".join(tocsin(*command).stdout.split())
    assert "what is left" in shown
    assert "may have lost more" in shown


@pytest.fixture
def orphaned(tmp_path):
    """A configuration that lacks an alarm which holds a reservation of its ledger."""
    path = configuration(tmp_path)
    edit(path, DAY, NOON)
    edit(path, "alarms:\n", f"alarms:\n{GONE}")
    run(path)
    alarms = load(Path(path), environ={})
    cost = UniformCost(2 * 10**12, 2)
    with open_ledger(alarms) as ledger:
        requests = [
            Request(Charge(WindowKey(13 * HOUR_MS, name, 12 * HOUR_MS), cost, 1), query.fingerprint)
            for name, query in alarms.by_name.items()
        ]
        ledger.admit("feed:badges", sorted(requests, key=lambda one: one.charge.key))
    edit(path, NOON, DAY)
    edit(path, GONE, "")
    return path


def test_retiring_asks_first_and_gives_reservations_back(orphaned):
    """Anything but yes leaves the alarm as it was; removed, it does not come back."""
    unknown = refused(orphaned, "remove-alarm", "crow", "--yes")
    assert "alarms that can be removed: gone" in unknown
    for answer, code, left in (("n\n", 1, 2), ("", 1, 2), ("y\n", 0, 1)):
        asked = CliRunner().invoke(main, ["ledger", orphaned, "remove-alarm", "gone"], input=answer)
        assert asked.exit_code == code
        assert "remove 'gone' from budget 'feed:badges' for good?" in asked.stderr
        assert status_of(orphaned)[1]["reservations"] == left
    verify(orphaned)
    assert run(orphaned).exit_code == 0
    edit(orphaned, "alarms:\n", f"alarms:\n{GONE}")
    again = run(orphaned)
    assert (again.exit_code, "'gone' was removed" in again.stderr) == (2, True)


def test_alarms_on_other_budgets_are_no_orphans(orphaned):
    """Only alarms that draw on a budget of this configuration can make its windows wait."""
    alarms = load(Path(orphaned), environ={})
    with open_ledger(alarms) as ledger:
        status = ledger.reports.status()
    assert orphans(alarms, status) == ["gone"]
    elsewhere = {name: replace(q, scope="feed:doors") for name, q in status.queries.items()}
    assert orphans(alarms, replace(status, queries=elsewhere)) == []


def test_a_changed_unit_is_refused(decided):
    """The alarms would move to another budget: exit code 2 and a hint."""
    user, period = ("privacy_unit: event", "privacy_unit: user"), ('"40"', '"40", period: 1d')
    edit(decided, *user)
    edit(decided, *period)
    for result in (run(decided), tocsin("ledger", decided, "apply")):
        assert (result.exit_code, result.stdout) == (2, "")
        assert "'feed:badges'" in result.stderr
        assert "hint:" in result.stderr
    edit(decided, "feeds:", 'kafka: {bootstrap: "127.0.0.1:1"}\nfeeds:')
    told = refused(decided, "reconcile")
    assert "the scope of alarm 'crowd' changed from 'feed:badges' to 'user'" in told
    edit(decided, *user[::-1])
    edit(decided, *period[::-1])
    assert [line["budget"] for line in status_of(decided) if "spent" in line] == ["feed:badges"]
