"""``tocsin lock``: what is open is resolved once, and stays until what it follows from changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from stream.config.loading import examine
from stream.config.lock import Lock, Locked
from stream.planning.locking import changes
from tests.support.commands import tocsin
from tests.support.files import edit
from tests.support.wishes import WANTED, File

_FILE = File(WANTED, rooms=8)
_TWIN = """\
  twin:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 40
    active: "Mon-Sun 07:00-22:00"
    max_fnr: 0.05
    baseline: {baseline}
    false_alarms: 1 per day
"""
_WRITTEN = _TWIN.partition("    baseline")[0] + "    mechanism: svt\n    tolerance: 13\n"
_DOORS = "  doors: {topic: d, time: ts, unit: person, fields: {person: string, ts: timestamp}}\n"
_DEAR = """\
  dear:
    sql: SELECT 1 FROM doors GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 40
    max_fnr: 0.05
    tolerance: 0
"""
_BOTH = replace(_FILE, epsilon_max="20", more=_TWIN.format(baseline=16))


def lock_of(path):
    """Return what the lock of a file holds."""
    return path.with_suffix(".lock").read_text()


def entries(path):
    """Return what the lock of a file holds of its alarms."""
    return yaml.safe_load(lock_of(path))["alarms"]


def edited(path, old, new):
    """Change the lock of a file by hand."""
    path.with_suffix(".lock").write_text(lock_of(path).replace(old, new))


def locked(file, folder):
    """Write a file, and its lock."""
    path = file.write(folder)
    tocsin("lock", path, code=0)
    return path


def test_what_is_open_is_resolved_once(tmp_path):
    """Written, it is checked, and written again it is the same bytes."""
    path = _FILE.write(tmp_path)
    planned = tocsin("plan", path, code=0).stdout
    assert tocsin("lock", path, code=0).stdout.startswith("crowded: resolved\n")
    held = lock_of(path)
    assert tocsin("plan", path).stdout == planned
    again = tocsin("lock", path, code=0)
    assert again.stdout == f"{path.with_suffix('.lock')}: 1 alarm\n"
    assert lock_of(path) == held
    tocsin("check", path, code=0)
    alarms = examine(path, environ={}).alarms
    assert not alarms.open
    assert alarms.by_name["crowded"].mechanism == "svt"


@pytest.mark.parametrize("command", ["check", "run", "topics check", "simulate"])
@pytest.mark.parametrize("stale", [False, True])
def test_nothing_runs_by_a_lock_that_is_missing_or_stale(command, tmp_path, stale):
    """It ends in what to type."""
    path = locked(_FILE, tmp_path) if stale else _FILE.write(tmp_path)
    if stale:
        replace(_FILE, threshold=21).write(tmp_path)
    events = tmp_path / "events.jsonl"
    events.touch()
    more = ["--replay", events] if command in {"run", "simulate"} else []
    refused = tocsin(*command.split(), path, *more, code=2)
    assert "from rooms.lock, which has none or is stale" in refused.stderr
    assert f"run `tocsin lock {path}`" in refused.stderr
    assert not (tmp_path / ".tocsin").exists()


def keyed(**keys):
    """Return the file of two alarms with some keys of the first one written otherwise."""
    return replace(_BOTH, keys={**_BOTH.keys, **keys})


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The file of two alarms with its lock; a test writes the file anew."""
    return locked(_BOTH, tmp_path_factory.mktemp("both"))


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (replace(_BOTH, more=f"# a remark\n{_TWIN.format(baseline=16)}"), 0),
        (keyed(lifecycle={"for": 1}), 0),
        (replace(_BOTH, threshold=21), 2),
        (replace(_BOTH, rooms=9), 2),
        (replace(_BOTH, epsilon_max="19"), 2),
        (replace(_BOTH, budget="privacy_unit: user, period: 2d"), 2),
        (keyed(baseline="9"), 2),
        (keyed(false_alarms="2 per day"), 2),
        (keyed(max_fnr="0.04"), 2),
        (keyed(max_delay="2h"), 2),
        (keyed(episodes="2"), 2),
        (keyed(mechanism="auto", tolerance="5"), 2),
    ],
)
def test_what_makes_an_entry_stale_and_what_does_not(both, file, code):
    """A remark and a lifecycle do not; whatever it follows from does."""
    file.write(both.parent)
    tocsin("check", both, code=code)


def test_another_alarms_baseline_and_the_version_make_nothing_stale(both):
    """Of two alarms, one is; whatever version wrote an entry, it holds."""
    replace(_BOTH, more=_TWIN.format(baseline=15)).write(both.parent)
    stale = tocsin("check", both, code=2).stderr
    assert stale.count("is stale") == 1
    assert "`twin`" in stale
    _BOTH.write(both.parent)
    edited(both, "by: 0.", "by: 9.")
    tocsin("check", both, code=0)


def test_only_what_is_stale_changes_and_every_change_is_said(tmp_path):
    """An entry that holds is kept, to the byte, whoever wrote it."""
    path = locked(_BOTH, tmp_path)
    edited(path, "by: 0.1.0", "by: 0.0.9")
    before = entries(path)
    replace(_BOTH, more=_TWIN.format(baseline=8)).write(tmp_path)
    said = tocsin("lock", path, code=0).stdout
    after = entries(path)
    assert after["crowded"] == before["crowded"]
    assert after["twin"]["by"] == "0.1.0"
    old, new = (each["twin"]["keys"]["tolerance"] for each in (before, after))
    assert f"twin: tolerance {old} -> {new}" in said
    tocsin("lock", path, "crowded", code=0)
    assert entries(path)["crowded"]["by"] == "0.1.0"


@pytest.mark.parametrize("twin", [_TWIN.format(baseline=16), _WRITTEN])
def test_where_kept_entries_leave_no_room_all_are_solved_again(tmp_path, twin):
    """One took what there was; two get what both have room for."""
    path = locked(replace(_FILE, epsilon_max="4"), tmp_path)
    replace(_FILE, epsilon_max="4", more=twin).write(tmp_path)
    assert f"resolved anew: tocsin lock {path}\n" in tocsin("plan", path, code=3).stdout
    assert f"run `tocsin lock {path}`" in tocsin("check", path).stderr
    said = tocsin("lock", path, code=0).stdout
    assert "resolved anew" not in tocsin("plan", path, code=0).stdout
    assert "crowded: " in said
    assert ("twin: resolved" in said) is (twin != _WRITTEN)
    tocsin("check", path, code=0)


def test_an_entry_that_solving_again_would_gain_nothing_stays(tmp_path):
    """What does not fit is an alarm of another feed, and of its budget."""
    file = replace(_FILE, budget="privacy_unit: event", epsilon_max="2")
    path = locked(file, tmp_path)
    edited(path, "by: 0.1.0", "by: 0.0.9")
    held = lock_of(path)
    replace(file, more=_DEAR).write(tmp_path)
    edit(path, "budget:", f"{_DOORS}budget:")
    tocsin("lock", path, code=0)
    assert lock_of(path) == held
    planned = tocsin("plan", path).stdout
    assert "does not fit" in planned
    assert "resolved anew" not in planned


def test_what_cannot_be_had_changes_no_lock(tmp_path):
    """It ends with 3 and says what it would take; what was there stays."""
    path = locked(_FILE, tmp_path)
    held = lock_of(path)
    replace(_FILE, epsilon_max="0.5").write(tmp_path)
    refused = tocsin("lock", path, code=3)
    assert 'it would meet them with epsilon_max: "' in refused.stderr
    assert lock_of(path) == held


def test_a_file_that_leaves_nothing_open_needs_no_lock(tmp_path):
    """None is written, and one that is there is no harm."""
    path = File({"max_fnr": "0.05", "tolerance": "6"}, rooms=8, epsilon_max="99").write(tmp_path)
    assert tocsin("lock", path, code=0).stdout == f"{path} leaves nothing open\n"
    assert not path.with_suffix(".lock").exists()


@pytest.mark.parametrize(
    "held",
    [
        "",
        "version: '2'\nalarms: {}\n",
        "alarms: [1]\n",
        "version: '1'\nalarms: {a: 1}\n",
        "[" * 3000,
        '"\\U99999999"',
    ],
)
def test_what_is_no_lock_is_refused(held, tmp_path):
    """A file of another version is not guessed at."""
    path = _FILE.write(tmp_path)
    path.with_suffix(".lock").write_text(held)
    for command in ("lock", "check"):
        refused = tocsin(command, path, code=2)
        assert "is not a lock of this version of Tocsin" in refused.stderr


def test_a_key_that_a_lock_should_not_hold_is_as_if_it_did_not_say(tmp_path):
    """Whoever edits it by hand is told to have it written."""
    path = locked(_FILE, tmp_path)
    edited(path, "tolerance:", "tolerances:")
    assert f"run `tocsin lock {path}`" in tocsin("check", path, code=2).stderr


def test_the_same_keys_in_another_order_are_no_change(tmp_path):
    """A file's keys are sorted; what was just found has them as they were found."""

    def lock(**keys):
        entry = {"from": "", "by": "", "figures": {}, "keys": {"mechanism": {"svt": keys}}}
        return Lock(tmp_path / "a.lock", "a.yaml", {"crowd": Locked(**entry)})

    one, other = lock(max_alarms="10", max_fpr="0.1"), lock(max_fpr="0.1", max_alarms="10")
    assert not list(changes(one, other))
