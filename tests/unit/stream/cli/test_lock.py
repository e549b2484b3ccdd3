"""``tocsin lock``: what is open is resolved once, and stays until what it follows from changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from stream.config.loading import examine
from stream.config.lock import Lock, Locked
from stream.planning.locking import changes
from tests.support.commands import tocsin
from tests.support.wishes import WANTED, File

if TYPE_CHECKING:
    from pathlib import Path

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
_BOTH = replace(_FILE, epsilon_max="20", more=_TWIN.format(baseline=16))


def lock_of(path: Path) -> str:
    """Return what the lock of a file holds."""
    return path.with_suffix(".lock").read_text()


def entry(path: Path, name: str) -> Any:
    """Return what the lock of a file holds of an alarm."""
    return yaml.safe_load(lock_of(path))["alarms"][name]


def edited(path: Path, old: str, new: str) -> None:
    """Change the lock of a file by hand."""
    path.with_suffix(".lock").write_text(lock_of(path).replace(old, new))


def locked(file: File, folder: Path) -> Path:
    """Write a file, and its lock."""
    path = file.write(folder)
    tocsin("lock", path, code=0)
    return path


def test_what_is_open_is_resolved_once(tmp_path: Path) -> None:
    """Written, it is checked, and written again it is the same bytes."""
    path = _FILE.write(tmp_path)
    assert tocsin("lock", path, code=0).stdout.startswith("crowded: resolved\n")
    held = lock_of(path)
    again = tocsin("lock", path, code=0)
    assert again.stdout == f"{path.with_suffix('.lock')}: 1 alarm\n"
    assert lock_of(path) == held
    tocsin("check", path, code=0)
    alarms = examine(path, environ={}).alarms
    assert alarms is not None
    assert not alarms.open
    assert alarms.by_name["crowded"].mechanism == "svt"


@pytest.mark.parametrize("command", ["check", "run", "topics check", "simulate"])
@pytest.mark.parametrize("stale", [False, True])
def test_nothing_runs_by_a_lock_that_is_missing_or_stale(
    command: str, tmp_path: Path, *, stale: bool
) -> None:
    """It ends in what to type."""
    path = locked(_FILE, tmp_path) if stale else _FILE.write(tmp_path)
    if stale:
        replace(_FILE, threshold=21).write(tmp_path)
    events = tmp_path / "events.jsonl"
    events.touch()
    more = ["--replay", events] if command in {"run", "simulate"} else []
    refused = tocsin(*command.split(), path, *more, code=2)
    assert f"from rooms.lock, which {'is stale' if stale else 'has none'}" in refused.stderr
    assert f"run `tocsin lock {path}`" in refused.stderr
    assert not (tmp_path / ".tocsin").exists()


def test_what_makes_an_entry_stale_and_what_does_not(tmp_path: Path) -> None:
    """Comments, another alarm's baseline and the version do not; whatever it follows from does."""
    path = locked(_BOTH, tmp_path)
    for same in (
        replace(_BOTH, more=f"# a remark\n{_TWIN.format(baseline=16)}"),
        replace(_BOTH, keys={**_BOTH.keys, "lifecycle": {"for": 1}}),
    ):
        same.write(tmp_path)
        tocsin("check", path, code=0)
    replace(_BOTH, more=_TWIN.format(baseline=15)).write(tmp_path)
    stale = tocsin("check", path, code=2).stderr
    assert stale.count("which is stale") == 1
    assert "`twin`" in stale
    _BOTH.write(tmp_path)
    edited(path, "by: 0.", "by: 9.")
    tocsin("check", path, code=0)
    for other in (
        replace(_BOTH, threshold=21),
        replace(_BOTH, rooms=9),
        replace(_BOTH, epsilon_max="19"),
        replace(_BOTH, budget="privacy_unit: user, period: 2d"),
        *(
            replace(_BOTH, keys={**_BOTH.keys, **changed})
            for changed in (
                {"baseline": "9"},
                {"false_alarms": "2 per day"},
                {"max_fnr": "0.04"},
                {"max_delay": "2h"},
                {"episodes": "2"},
                {"mechanism": "auto", "tolerance": "5"},
            )
        ),
    ):
        other.write(tmp_path)
        tocsin("check", path, code=2)


def test_only_what_is_stale_changes_and_every_change_is_said(tmp_path: Path) -> None:
    """An entry that holds is kept, to the byte, whoever wrote it."""
    path = locked(_BOTH, tmp_path)
    edited(path, "by: 0.1.0", "by: 0.0.9")
    crowded, twin = entry(path, "crowded"), entry(path, "twin")
    replace(_BOTH, more=_TWIN.format(baseline=8)).write(tmp_path)
    said = tocsin("lock", path, code=0)
    assert entry(path, "crowded") == crowded
    assert entry(path, "twin")["by"] == "0.1.0"
    old, new = (each["keys"]["tolerance"] for each in (twin, entry(path, "twin")))
    assert f"twin: tolerance {old} -> {new}" in said.stdout
    tocsin("lock", path, "crowded", code=0)
    assert entry(path, "crowded")["by"] == "0.1.0"


def test_where_kept_entries_leave_no_room_all_are_solved_again(tmp_path: Path) -> None:
    """One took what there was; two get what both have room for."""
    path = locked(replace(_FILE, epsilon_max="4"), tmp_path)
    replace(_FILE, epsilon_max="4", more=_TWIN.format(baseline=16)).write(tmp_path)
    said = tocsin("lock", path, code=0).stdout
    assert "crowded: " in said
    assert "twin: resolved" in said
    tocsin("check", path, code=0)


def test_what_cannot_be_had_changes_no_lock(tmp_path: Path) -> None:
    """It ends with 3 and says what it would take; what was there stays."""
    path = locked(_FILE, tmp_path)
    held = lock_of(path)
    replace(_FILE, epsilon_max="0.5").write(tmp_path)
    refused = tocsin("lock", path, code=3)
    assert 'it would meet them with epsilon_max: "' in refused.stderr
    assert lock_of(path) == held


def test_a_file_that_leaves_nothing_open_needs_no_lock(tmp_path: Path) -> None:
    """None is written, and one that is there is no harm."""
    path = File({"max_fnr": "0.05", "tolerance": "6"}, rooms=8, epsilon_max="99").write(tmp_path)
    assert tocsin("lock", path, code=0).stdout == f"{path} leaves nothing open\n"
    assert not path.with_suffix(".lock").exists()


@pytest.mark.parametrize(
    "held", ["", "version: '2'\nalarms: {}\n", "alarms: [1]\n", "version: '1'\nalarms: {a: 1}\n"]
)
def test_what_is_no_lock_is_refused(held: str, tmp_path: Path) -> None:
    """A file of another version is not guessed at."""
    path = _FILE.write(tmp_path)
    path.with_suffix(".lock").write_text(held)
    for command in ("lock", "check"):
        refused = tocsin(command, path, code=2)
        assert "is not a lock of this version of Tocsin" in refused.stderr


def test_a_key_that_a_lock_should_not_hold_is_as_if_it_did_not_say(tmp_path: Path) -> None:
    """Whoever edits it by hand is told to have it written."""
    path = locked(_FILE, tmp_path)
    edited(path, "tolerance:", "tolerances:")
    assert f"run `tocsin lock {path}`" in tocsin("check", path, code=2).stderr


def test_the_same_keys_in_another_order_are_no_change(tmp_path: Path) -> None:
    """A file's keys are sorted; what was just found has them as they were found."""
    own = ({"max_alarms": "10", "max_fpr": "0.1"}, {"max_fpr": "0.1", "max_alarms": "10"})
    entries = (
        Locked(**{"from": "", "by": "", "figures": {}}, keys={"mechanism": {"svt": one}})
        for one in own
    )
    locks = [Lock(tmp_path / "a.lock", "a.yaml", {"crowd": one}) for one in entries]
    assert not list(changes(*locks))
