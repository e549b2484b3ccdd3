"""What the newer ways buy can be measured: the report's laws are those of the mechanisms."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import utility, utility_rings, utility_scenes
from benchmarks.utility_rings import Counted, Rings
from benchmarks.utility_scenes import SCENES, Way
from stream.config.loading import examine

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY = (date(2022, 1, 15), date(2022, 1, 16))
MORNING_MS = 1_642_204_800_000


def rides(_: Path | None) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Return a day with one ride every ten minutes, and one every minute from noon to one."""
    quiet = MORNING_MS + np.arange(0, 24 * HOUR_MS, 10 * MINUTE_MS)
    noon = MORNING_MS + 12 * HOUR_MS + np.arange(0, HOUR_MS, MINUTE_MS)
    times = np.sort(np.concatenate([quiet, noon]))
    return times, ["a"] * len(times), [str(number) for number in range(len(times))]


EARLY = replace(
    SCENES["taxi-early"],
    read=rides,
    cells=("a",),
    history=DAY,
    ways=(Way("tslm", "tslm"), Way("svt", "svt", utility_scenes.STEPS, new=True)),
)


def test_early_alarms_are_sooner_and_the_report_says_so(tmp_path: Path) -> None:
    """The hour in which it is busy passes 30 after half of it; the window ends half an hour on."""
    assert EARLY.prepare(None, tmp_path)
    found = utility.measured(EARLY, tmp_path)
    late, soon = found
    # 66 rides, of which six share a minute with another: the 31st comes after 27 or 28 minutes.
    assert late.delay == pytest.approx(32, abs=1)
    assert soon.delay < 10
    assert late.missed <= 0.05
    assert soon.missed <= 0.05
    assert late.tolerance is not None
    assert soon.tolerance is not None
    assert late.tolerance < soon.tolerance
    assert "**It helps**: svt rings" in "\n".join(utility.lines(EARLY, found, "it"))


def test_the_least_tolerance_is_what_the_plan_carries(tmp_path: Path) -> None:
    """One less is refused, for windows that slide and for the panes that they share."""
    panes = Way("panes", "panes", new=True)
    scene = replace(SCENES["taxi-sliding"], read=rides, cells=("a",), history=DAY, ways=(panes,))
    assert scene.prepare(None, tmp_path)
    (found,) = utility.measured(scene, tmp_path)
    assert found.tolerance is not None
    assert (found.decided, found.at_choice) == (1.0, 1.0)
    carried = [utility.carried(scene, panes, found.tolerance - less, tmp_path) for less in (0, 1)]
    assert carried == [1.0, 0.0]
    text = "\n".join(utility.lines(scene, found=[found], choice="it"))
    assert "without panes nothing of use fits" in text


def test_whom_a_cap_leaves_out_is_missed(tmp_path: Path) -> None:
    """Everybody comes every day: with a cap of two days a week Wednesday looks empty."""
    days = 1_294_012_800_000 + np.arange(5) * 24 * HOUR_MS  # Monday 2011-01-03
    people = [f"p{number}" for number in range(70)] * 5
    read = (np.repeat(days + 9 * HOUR_MS, 70), ["United Kingdom"] * 350, people)
    ways = (Way("tslm", "tslm"), Way("capped", "tslm", cap=2, new=True))
    scene = replace(
        SCENES["shop"],
        read=lambda _: read,
        history=(date(2011, 1, 3), date(2011, 1, 8)),
        ways=ways,
    )
    assert scene.prepare(None, tmp_path)
    whole, capped = utility.measured(scene, tmp_path)
    assert whole.missed < 0.05
    assert capped.missed == pytest.approx(0.6, abs=0.02)
    assert (capped.tolerance or 0) < (whole.tolerance or 0)
    assert utility.best_of([whole, capped]) == whole
    text = "\n".join(utility.lines(scene, [whole, capped], "it"))
    assert "**It does not help**: tslm has the least tolerance" in text
    assert "capped misses 60% of what is due" in text
    assert "svt" in utility.chosen(scene, tmp_path)


def test_a_run_that_is_spent_decides_no_more(tmp_path: Path) -> None:
    """Five windows far above the threshold and two alarms: two fifths are decided."""
    way = Way("svt", "svt", keys={"max_alarms": "2"})
    text = SCENES["shop"].text(way, 10)
    alarms = examine(tmp_path / "alarms.yaml", environ={}, given=text.encode()).alarms
    assert alarms is not None
    assert alarms.budget.periods is not None
    assert alarms.budget.periods.calendar is not None
    (query,) = alarms.queries.values()
    starts = 1_294_012_800_000 + np.arange(5) * 24 * HOUR_MS
    seen = Counted(starts, starts + 24 * HOUR_MS, np.full((5, 1), 100_000))
    rung, decided = utility_rings.drawn(query, seen, alarms.budget.periods.calendar, 3)
    assert rung.ravel().tolist() == [1, 1, 0, 0, 0]
    assert decided == pytest.approx(0.4)


def test_delays_begin_where_the_threshold_is_passed(tmp_path: Path) -> None:
    """People count once, and a sliding count may pass it before its window begins."""
    alarms = examine(
        tmp_path / "alarms.yaml",
        environ={},
        given=SCENES["badges"].text(Way("svt", "svt"), 10).encode(),
    ).alarms
    assert alarms is not None
    (query,) = alarms.queries.values()
    ends = np.array([MORNING_MS + HOUR_MS])
    counts = np.zeros((1, len(query.domain)), np.int64)
    counts[0, 0] = 41
    whole = Counted(ends - HOUR_MS, ends, counts)
    people = np.repeat(np.arange(41), 2)  # everybody twice in a row, every half minute
    times = MORNING_MS + np.arange(82) * 30_000
    rows = (times, np.zeros(82, np.int64), people)
    rings = Rings.at_ends((counts > 0).astype(np.float64), whole)
    late = utility_rings.delay(query, whole, rings, rows, distinct=True)
    assert late == pytest.approx(60 - 40)
    twice = utility_rings.delay(query, whole, rings, rows, distinct=False)
    assert twice == pytest.approx(60 - 20)


def test_data_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    """Only those of the examples are in every checkout."""
    there = {name for name, scene in SCENES.items() if scene.title.startswith("The ")}
    assert there == {"office", "shop"}
    for name in SCENES.keys() - there:
        assert not SCENES[name].prepare(None, tmp_path)
        assert not SCENES[name].prepare(tmp_path, tmp_path)


def test_the_report_shows_every_scene() -> None:
    """What is committed was measured on all of them."""
    text = utility.REPORT.read_text(encoding="utf-8")
    assert all(f"## {scene.title}\n" in text for scene in SCENES.values())
    assert "Left out" not in text
