"""Caps over a period on recorded events: whom they drop, by the hour, and what is missed by that.

Counts under a cap are those of a run of the file with that cap; what is dropped is counted again
here, person by person. Broken twins: a cap in log order, one that is never used up, and truth told
by what the cap lets in.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stream.config.loading import load
from stream.counting.usage import Usage
from stream.planning.tradeoffs.caps import cap_choices, with_cap
from stream.simulation.caps.counting import counted_under_caps
from stream.simulation.caps.trying import tried_under_caps
from stream.simulation.history import count_history
from tests.support.commands import tocsin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from stream.counting.bounding import Contributions
    from stream.model.alarms import Alarms
    from stream.simulation.caps.counting import CappedCounts

HOURS: Final = 6
DAYS: Final = 2
CONFIG = """\
timezone: Europe/Berlin
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [hall, lab]}}, ts: timestamp}}
    history: {{from: "2025-03-03T00:00:00+01:00", until: "2025-03-05T00:00:00+01:00"}}
budget: {{unit: user, epsilon_max: "99", period: 1d{contribution}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 20
    active: "Mon-Sun 08:00-14:00"
    max_fnr: 0.05
    tolerance: 4
"""


def loaded(folder: Path, contribution: str = "") -> Alarms:
    """Return an alarm of six windows a day."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.format(contribution=contribution), encoding="utf-8")
    return load(path, environ={})


def people() -> list[tuple[str, int, int, int]]:
    """Return who was there: sixty people, each from some hour on, with one to three events."""
    random = np.random.default_rng(4)
    found = []
    for person in range(60):
        begins = int(random.integers(HOURS))
        for day in range(DAYS):
            there = [hour for hour in range(begins, HOURS) if random.random() < 0.9]
            found += [(f"p{person}", day, hour, int(random.integers(1, 4))) for hour in there]
    return found


def written(folder: Path) -> Path:
    """Write the events of all these people, by the local clock."""
    lines = [
        json.dumps(
            {
                "person": person,
                "room": "hall",
                "ts": f"2025-03-0{3 + day}T{8 + hour:02d}:{at:02d}:00+01:00",
            }
        )
        for person, day, hour, events in people()
        for at in range(events)
    ]
    path = folder / "events.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def dropped_by_hand(cap: int) -> tuple[Counter[int], Counter[int]]:
    """Return the events of every local hour, and those of people beyond their first windows."""
    taken: Counter[int] = Counter()
    dropped: Counter[int] = Counter()
    used: defaultdict[tuple[str, int], int] = defaultdict(int)
    for person, day, hour, events in sorted(people(), key=lambda each: each[2]):
        taken[8 + hour] += events
        used[person, day] += 1
        if used[person, day] > cap:
            dropped[8 + hour] += events
    return taken, dropped


def under_caps(folder: Path, **options: Any) -> tuple[Alarms, CappedCounts]:
    """Return what is counted under every cap."""
    alarms = loaded(folder)
    files = {"badges": [written(folder)]}
    (one,) = counted_under_caps(alarms, files, cap_choices(alarms), **options)
    return alarms, one


def as_by_hand(one: CappedCounts) -> bool:
    """Tell whether every cap drops what it should, hour by hour."""
    return all(
        (left.taken, +left.dropped) == dropped_by_hand(cap) for cap, left in one.left_out.items()
    )


def test_every_cap_drops_the_events_beyond_the_first_windows(tmp_path: Path) -> None:
    """Hour by hour of the local clock, on both days: windows that people are in, in their order."""
    _, one = under_caps(tmp_path)
    assert set(one.left_out) == {1, 2, 3, 4}
    assert as_by_hand(one)
    shares = [one.left_out[cap].share or 0 for cap in (1, 2, 3, 4)]
    assert shares == sorted(shares, reverse=True)
    assert one.left_out[1].share_at(8) == 0
    assert one.left_out[1].share_at(3) is None


def test_counts_are_those_of_a_file_with_that_cap(tmp_path: Path) -> None:
    """And what is there in truth is what a file without one counts."""
    _, one = under_caps(tmp_path)
    files = {"badges": [tmp_path / "events.jsonl"]}
    for cap in (None, 1, 3):
        contribution = "" if cap is None else f", contribution: {{windows_per_period: {cap}}}"
        own = count_history(loaded(tmp_path, contribution), files)["crowd"]
        mine = one.uncapped if cap is None else one.capped[cap]
        assert np.array_equal(own.stacked(0, own.windows), mine.stacked(0, mine.windows))
        assert np.array_equal(own.starts_ms, mine.starts_ms)


def test_a_cap_that_is_never_used_up_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin forgets in every window what was used up before."""
    plain = Usage.take

    def forgetful(self: Usage, rows: Contributions) -> Contributions:
        self.forget_before(1 << 62)
        return plain(self, rows)

    monkeypatch.setattr(Usage, "take", forgetful)
    assert not as_by_hand(under_caps(tmp_path)[1])


def test_people_who_are_left_out_are_missed(tmp_path: Path) -> None:
    """By what is there without the cap: with a cap of one, who came early is missed at noon."""
    alarms, one = under_caps(tmp_path)
    (found,) = tried_under_caps(alarms, [one], 40)
    trials = {trial.choice.cap: trial for trial in found.trials}
    truth = one.uncapped.stacked(0, one.uncapped.windows)[:, 0] > 20
    for trial in trials.values():
        for judged in (trial.present, trial.bought):
            assert judged is not None
            assert judged.rates[0].of == 40 * truth.sum()
    assert (trials[None].present.rates[0].value or 0) < 0.05
    assert (trials[1].present.rates[0].value or 0) > 0.8
    blind = replace(one, uncapped=one.capped[1])  # the broken twin: nobody is missed by its counts
    (wrong,) = tried_under_caps(alarms, [blind], 40)
    assert wrong.trials[0].present.rates[0].of < trials[1].present.rates[0].of


def test_the_tolerance_that_is_bought_is_tried_as_well(tmp_path: Path) -> None:
    """Each at its own price; without a cap it is the present one."""
    alarms, one = under_caps(tmp_path)
    (found,) = tried_under_caps(alarms, [one], 2)
    tolerances = [trial.bought.aim.tolerances[0] for trial in found.trials if trial.bought]
    assert tolerances == sorted(tolerances)
    assert tolerances[-1] == 4
    assert {trial.present.aim.tolerances for trial in found.trials} == {(4,)}


def test_a_limit_counts_the_first_windows(tmp_path: Path) -> None:
    """Under every cap the same."""
    _, one = under_caps(tmp_path, limit=4)
    assert {each.windows for each in (one.uncapped, *one.capped.values())} == {4}


def simulated(folder: Path, *options: str) -> Mapping[str, Any]:
    """Run the command and return the alarm's JSON, and what was shown."""
    out = folder / "out.json"
    ended = tocsin(
        "simulate", str(folder / "alarms.yaml"), "--replay", str(written(folder)), "--runs", "3",
        "--workers", "1", "--mechanisms", "tslm", "--tolerance-factors", "1",
        "--json", str(out), *options,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    (alarm,) = json.loads(out.read_text("utf-8"))["alarms"]
    return {**alarm, "shown": " ".join(ended.output.split())}


def test_the_command_says_it_all_where_it_is_asked_to(tmp_path: Path) -> None:
    """Tables and JSON; without the option nothing of it, and no further pass."""
    loaded(tmp_path)
    one = simulated(tmp_path, "--caps")
    assert [each["windows_per_period"] for each in one["caps"]] == [1, 2, 3, 4, None]
    first, last = one["caps"][0], one["caps"][-1]
    taken, dropped = dropped_by_hand(1)
    assert first["by_hour"] == [
        {"hour": hour, "events": taken[hour], "events_dropped": dropped[hour]}
        for hour in sorted(taken)
    ]
    assert (first["events"], first["events_dropped"]) == (taken.total(), dropped.total())
    assert first["present"]["epsilon_period"] < last["present"]["epsilon_period"]
    assert last["events"] is None
    assert "crowd: windows_per_period, of 6 windows" in one["shown"]
    assert "by the local hour" in one["shown"]
    assert "caps" not in simulated(tmp_path, "--force")


def test_where_no_cap_is_taken_none_is_tried(tmp_path: Path) -> None:
    """Under unit event, say: an error with what to leave out."""
    loaded(tmp_path)
    path = tmp_path / "alarms.yaml"
    path.write_text(
        path.read_text().replace("unit: user", "unit: event").replace(", period: 1d", "")
    )
    ended = tocsin(
        "simulate", str(path), "--replay", str(written(tmp_path)), "--runs", "1", "--workers", "1",
        "--mechanisms", "tslm", "--caps",
    )  # fmt: skip
    assert ended.exit_code == 2
    assert "leave --caps out" in ended.output


def test_another_cap_is_written_without_touching_the_others(tmp_path: Path) -> None:
    """Caps within a window stay."""
    alarms = loaded(tmp_path, ", contribution: {predicates_per_window: 2, events_per_cell: 3}")
    contribution = with_cap(alarms, 5).budget.contribution
    assert (contribution.windows_per_period, contribution.events_per_cell) == (5, 3)
    assert with_cap(with_cap(alarms, 5), None) == alarms
