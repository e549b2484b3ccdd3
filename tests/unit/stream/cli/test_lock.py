"""``tocsin lock``: what is open is resolved once, and stays until what it follows from changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml

from stream.config.loading import examine
from stream.config.lock import Lock, Locked
from stream.planning.locking import changes
from tests.support.wishes import WANTED, File, invoke

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


def lock_of(path: Path) -> str:
    """Return what the lock of a file holds."""
    return path.with_suffix(".lock").read_text()


def locked(file: File, folder: Path) -> Path:
    """Write a file, and its lock."""
    path = file.write(folder)
    result = invoke("lock", path)
    assert result.exit_code == 0, result.output
    return path


def test_what_is_open_is_resolved_once(tmp_path: Path) -> None:
    """Written, it is checked, and written again it is the same bytes."""
    path = _FILE.write(tmp_path)
    made = invoke("lock", path)
    assert (made.exit_code, made.stdout.splitlines()[0]) == (0, "crowded: resolved")
    held = lock_of(path)
    again = invoke("lock", path)
    assert (again.exit_code, again.stdout) == (0, f"{path.with_suffix('.lock')}: 1 alarm\n")
    assert lock_of(path) == held
    assert invoke("check", path).exit_code == 0
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
    refused = invoke(*command.split(), path, *more)
    assert refused.exit_code == 2
    assert f"from rooms.lock, which {'is stale' if stale else 'has none'}" in refused.stderr
    assert f"run `tocsin lock {path}`" in refused.stderr
    assert not (tmp_path / ".tocsin").exists()


def test_what_makes_an_entry_stale_and_what_does_not(tmp_path: Path) -> None:
    """Comments, another alarm's baseline and the version do not; whatever it follows from does."""
    file = replace(_FILE, epsilon_max="20", more=_TWIN.format(baseline=16))
    path = locked(file, tmp_path)
    for same in (
        replace(file, more=f"# a remark\n{_TWIN.format(baseline=16)}"),
        replace(file, keys={**file.keys, "lifecycle": {"for": 1}}),
    ):
        same.write(tmp_path)
        assert invoke("check", path).exit_code == 0
    replace(file, more=_TWIN.format(baseline=15)).write(tmp_path)
    stale = invoke("check", path)
    assert (stale.exit_code, stale.stderr.count("which is stale")) == (2, 1)
    assert "`twin`" in stale.stderr
    file.write(tmp_path)
    path.with_suffix(".lock").write_text(lock_of(path).replace("by: 0.", "by: 9."))
    assert invoke("check", path).exit_code == 0
    for other in (
        replace(file, threshold=21),
        replace(file, rooms=9),
        replace(file, epsilon_max="19"),
        replace(file, budget="privacy_unit: user, period: 2d"),
        *(
            replace(file, keys={**file.keys, **changed})
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
        assert invoke("check", path).exit_code == 2, other


def test_only_what_is_stale_changes_and_every_change_is_said(tmp_path: Path) -> None:
    """An entry that holds is kept, to the byte, whoever wrote it."""
    file = replace(_FILE, epsilon_max="20", more=_TWIN.format(baseline=16))
    path = locked(file, tmp_path)
    path.with_suffix(".lock").write_text(lock_of(path).replace("by: 0.1.0", "by: 0.0.9"))
    before = yaml.safe_load(lock_of(path))["alarms"]
    replace(file, more=_TWIN.format(baseline=8)).write(tmp_path)
    said = invoke("lock", path)
    after = yaml.safe_load(lock_of(path))["alarms"]
    assert said.exit_code == 0
    assert after["crowded"] == before["crowded"]
    assert after["twin"]["by"] == "0.1.0"
    old, new = (each["twin"]["keys"]["tolerance"] for each in (before, after))
    assert f"twin: tolerance {old} -> {new}" in said.stdout
    renewed = invoke("lock", path, "crowded")
    assert renewed.exit_code == 0
    assert yaml.safe_load(lock_of(path))["alarms"]["crowded"]["by"] == "0.1.0"


def test_where_kept_entries_leave_no_room_all_are_solved_again(tmp_path: Path) -> None:
    """One took what there was; two get what both have room for."""
    path = locked(replace(_FILE, epsilon_max="4"), tmp_path)
    replace(_FILE, epsilon_max="4", more=_TWIN.format(baseline=16)).write(tmp_path)
    said = invoke("lock", path)
    assert said.exit_code == 0, said.output
    assert "crowded: " in said.stdout
    assert "twin: resolved" in said.stdout
    assert invoke("check", path).exit_code == 0


def test_what_cannot_be_had_changes_no_lock(tmp_path: Path) -> None:
    """It ends with 3 and says what it would take; what was there stays."""
    path = locked(_FILE, tmp_path)
    held = lock_of(path)
    replace(_FILE, epsilon_max="0.5").write(tmp_path)
    refused = invoke("lock", path)
    assert refused.exit_code == 3
    assert 'it would meet them with epsilon_max: "' in refused.stderr
    assert lock_of(path) == held


def test_a_file_that_leaves_nothing_open_needs_no_lock(tmp_path: Path) -> None:
    """None is written, and one that is there is no harm."""
    path = File({"max_fnr": "0.05", "tolerance": "6"}, rooms=8, epsilon_max="99").write(tmp_path)
    said = invoke("lock", path)
    assert (said.exit_code, said.stdout) == (0, f"{path} leaves nothing open\n")
    assert not path.with_suffix(".lock").exists()


@pytest.mark.parametrize(
    "held", ["", "version: '2'\nalarms: {}\n", "alarms: [1]\n", "version: '1'\nalarms: {a: 1}\n"]
)
def test_what_is_no_lock_is_refused(held: str, tmp_path: Path) -> None:
    """A file of another version is not guessed at."""
    path = _FILE.write(tmp_path)
    path.with_suffix(".lock").write_text(held)
    for command in ("lock", "check"):
        refused = invoke(command, path)
        assert refused.exit_code == 2
        assert "is not a lock of this version of Tocsin" in refused.stderr


def test_a_key_that_a_lock_should_not_hold_is_as_if_it_did_not_say(tmp_path: Path) -> None:
    """Whoever edits it by hand is told to have it written."""
    path = locked(_FILE, tmp_path)
    path.with_suffix(".lock").write_text(lock_of(path).replace("tolerance:", "tolerances:"))
    refused = invoke("check", path)
    assert refused.exit_code == 2
    assert f"run `tocsin lock {path}`" in refused.stderr


def test_the_same_keys_in_another_order_are_no_change(tmp_path: Path) -> None:
    """A file's keys are sorted; what was just found has them as they were found."""
    own = ({"max_alarms": "10", "max_fpr": "0.1"}, {"max_fpr": "0.1", "max_alarms": "10"})
    entry = {"from": "", "by": "", "figures": {}}
    locks = [
        Lock(
            tmp_path / "a.lock",
            "a.yaml",
            {"crowd": Locked(**entry, keys={"mechanism": {"svt": one}})},
        )
        for one in own
    ]
    assert not list(changes(*locks))
