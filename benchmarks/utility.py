"""What shared panes, early alarms and caps over a period buy on data: ``make bench-utility``.

For every scene a budget stands fixed, and each way to have the alarm takes the least tolerance that
`tocsin plan` carries. The events are then counted by the readers of a replay, and what the alarm
does of them follows from its mechanism's law: rings where the condition does not hold, misses where
it does, how late they come. Runs alone are drawn. Truth is what is counted without a cap over the
period, so that whom a cap leaves out is missed.

The data are named by ``--data`` or ``TOCSIN_DATA``; scenes without any are left out.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import from_loss_units
from benchmarks.papers.pages import number, table
from benchmarks.report import machine
from benchmarks.utility_rings import Counted, Rings, chances, delay, drawn, early, last_looks
from benchmarks.utility_scenes import SCENES, Scene, Way
from stream.config.loading import examine
from stream.decisions.mechanisms import run_of
from stream.model.alarms import each_for_itself
from stream.planning.budget import budget_plan
from stream.planning.search import smallest
from stream.planning.solver.solver import solve
from stream.replay.exact import count_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.model.alarms import Alarms

__all__ = [
    "REPORT",
    "Found",
    "best_of",
    "carried",
    "chosen",
    "lines",
    "main",
    "measured",
]

ROOT: Final = Path(__file__).resolve().parents[1]
REPORT: Final = Path(__file__).with_name("reports") / "utility.md"
DRAWS: Final = 100
_HOW: Final = """\
`python -m benchmarks.utility --write` (`make bench-utility DATA=folder`): for a budget that
stands fixed, the least tolerance that `tocsin plan` carries with each way (`max_fnr: 0.05`, a
third of the threshold at most), and what the alarm then does of real events. *(new)* are shared
panes, early alarms and caps over a period. Rings and misses follow from the mechanisms' laws at
the exact counts, those of `svt` from draws. Truth is what is counted without a cap over the
period: whom it leaves out is missed. *Minutes to alarm* are from the instant at which the
threshold is passed to the end of the window, or step, that rings, `grace` and `publish_delay`
aside, below zero where the tolerance lets it ring before. *Windows decided*: all but those that
come after a spent run. The last column is the share of windows that the budget carries at the
tolerance of the best way, that of least tolerance (or delay) among those that miss no more than
5%. The solver reads no data: it offers a cap and does not pick it, as nothing in
a configuration tells how long people stay.
"""
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Found:
    """What one way to have an alarm does.

    Args:
        way: which one.
        tolerance: the least that the budget carries; ``None`` where none of use is.
        epsilon: of a cell, or of a run, at that tolerance.
        false: rings a day where the condition does not hold.
        far: those of them where the count is twice the tolerance below its threshold, or more.
        missed: share of the cells that do not ring where the condition holds.
        delay: minutes from passing the threshold to the end of the window, or of the step, that
            rings, mean over those that ring; grace and ``publish_delay`` come on top.
        decided: share of the windows that are decided at that tolerance.
        at_choice: share of them that the budget carries at the tolerance of the best way.
    """

    way: Way
    tolerance: int | None
    epsilon: float = float("nan")
    false: float = float("nan")
    far: float = float("nan")
    missed: float = float("nan")
    delay: float = float("nan")
    decided: float = 0.0
    at_choice: float = float("nan")


def measured(scene: Scene, folder: Path, *, draws: int = DRAWS) -> list[Found]:
    """Return what every way of a scene does of its data, in order.

    Args:
        scene: what is asked, of which data.
        folder: holds its events, as ``scene.prepare`` leaves them, and takes its configurations.
        draws: of every period with runs.
    """
    found = []
    for way in scene.ways:
        tolerance = _least(scene, way, folder)
        none = tolerance is None
        found.append(
            Found(way, None) if none else _measured(scene, way, tolerance or 0, folder, draws)
        )
    best = _at_choice(scene, found)
    if best is None or best.tolerance is None:
        return found
    return [
        replace(one, at_choice=carried(scene, one.way, best.tolerance, folder)) for one in found
    ]


def best_of(found: Sequence[Found], *, before: bool = False) -> Found | None:
    """Return the way of least tolerance that misses no more than is wanted; ``None`` without one.

    Args:
        found: of one scene. Of equal ones the first.
        before: only among the ways that were there before.
    """
    most = float(Scene.max_fnr)
    usable = [one for one in found if one.tolerance is not None and not one.missed > most]
    old = [one for one in usable if not (before and one.way.new)]
    return min(old, key=lambda one: one.tolerance or 0, default=None)


def _soonest_of(found: Sequence[Found]) -> Found | None:
    """Return the way of least delay, of alike ones that of least tolerance; ``None`` without one.

    Args:
        found: of one scene.
    """
    usable = [one for one in found if one.tolerance is not None and one.delay == one.delay]
    return min(usable, key=lambda one: (round(one.delay), one.tolerance or 0), default=None)


def _alarms(scene: Scene, way: Way, tolerance: int, folder: Path) -> Alarms | None:
    """Return the configuration of a way with a tolerance; ``None`` where there is none such."""
    text = scene.text(way, tolerance)
    return examine(folder / "alarms.yaml", environ={}, given=text.encode()).alarms


def _least(scene: Scene, way: Way, folder: Path) -> int | None:
    """Return the least tolerance that the budget carries, a third of the threshold at most."""

    def fits(tolerance: int) -> bool:
        alarms = _alarms(scene, way, tolerance, folder)
        return alarms is not None and all(one.fits for one in budget_plan(alarms).scopes)

    return smallest(fits, -1, scene.threshold // 3)


def carried(scene: Scene, way: Way, tolerance: int, folder: Path) -> float:
    """Return the share of an alarm's windows that the budget carries at a tolerance.

    Args:
        scene: what is asked.
        way: to have it.
        tolerance: in units of the aggregate.
        folder: where its configuration stands.
    """
    alarms = _alarms(scene, way, tolerance, folder)
    if alarms is None:
        return 0.0
    (plan,) = budget_plan(alarms).scopes
    wall, worst = plan.terms.epsilon_max_units, plan.worst_units
    if worst is None:
        return 0.0
    # What is paid for: windows, or what is granted as a whole, runs and panes.
    cells = max(1, max(plan.alarms, key=lambda one: one.epsilon).cells or 1)
    return min(1.0, wall * cells // worst / cells)


def _count(scene: Scene, way: Way, folder: Path) -> Counted:
    """Count the windows of a way, whatever decides them."""
    alarms = _alarms(scene, way, scene.threshold // 3, folder)
    if alarms is None:
        raise RuntimeError(f"{scene.name}: the configuration of {way.name} has an error")
    alarms = each_for_itself(alarms)
    (query,) = alarms.queries.values()
    windows = list(count_windows(alarms, {scene.feed: [scene.events(folder)]}))
    indexes = [query.calendar.first_starting_at(each.key.start_ms) for each in windows]
    spans = np.array([query.calendar.counted(each) for each in indexes], np.int64)
    counts = np.stack([each.statistics[0] for each in windows])
    return Counted(spans[:, 0], spans[:, 1], counts)


def _measured(scene: Scene, way: Way, tolerance: int, folder: Path, draws: int) -> Found:
    alarms = _alarms(scene, way, tolerance, folder)
    if alarms is None:
        raise RuntimeError("a tolerance that fits was read before")
    (query,) = alarms.queries.values()
    (name,) = query.condition.formula.atoms
    due_from = query.condition.atoms[name].thresholds
    whole = _count(scene, replace(way, cap=None), folder)
    seen = whole if way.cap is None else _count(scene, way, folder)
    decided, periods = 1.0, alarms.budget.periods
    if way.early:
        rings, whole = early(query, seen), last_looks(query, whole)
    elif run_of(query) is None:
        rings = Rings.at_ends(chances(query, seen.counts), seen)
    elif periods is None or periods.calendar is None:
        raise RuntimeError("runs of the scenes end with their periods")
    else:
        shares, decided = drawn(query, seen, periods.calendar, draws)
        rings = Rings.at_ends(shares, seen)
    due = whole.counts >= due_from
    quiet = np.where(due, 0.0, rings.chances)
    far = np.where(whole.counts < due_from - 2 * tolerance, quiet, 0.0)
    days = (whole.ends_ms[-1] - whole.starts_ms[0]) / _DAY_MS
    return Found(
        way=way,
        tolerance=tolerance,
        epsilon=float(max(one.epsilon for one in budget_plan(alarms).scopes[0].alarms)),
        false=float(quiet.sum() / days),
        far=float(far.sum() / days),
        missed=float((1 - rings.chances)[due].mean()) if due.any() else float("nan"),
        delay=delay(query, whole, rings, scene.rows(folder), distinct=scene.distinct),
        decided=decided,
    )


def chosen(scene: Scene, folder: Path) -> str:
    """Return what the solver picks for a scene's wish, in words.

    Args:
        scene: what is asked.
        folder: where its configuration stands.
    """
    alarms = examine(folder / "alarms.yaml", environ={}, given=scene.wish().encode()).alarms
    if alarms is None:
        raise RuntimeError(f"{scene.name}: the wish has an error")
    (one,) = solve(alarms)
    if one.found is None:
        needed = ", ".join(change.text for change in one.changes)
        return f"nothing keeps all of it; it would take one of {needed}"
    written = ", ".join(f"{key}: {value}" for key, value in one.found.keys.items())
    return f"`{written}`, for {float(from_loss_units(one.found.worst_units or 0)):.3f}"


def lines(scene: Scene, found: Sequence[Found], choice: str) -> Iterator[str]:
    """Yield the part of the report on one scene.

    Args:
        scene: what was asked.
        found: what every way does.
        choice: what the solver picks, in words.
    """
    yield f"## {scene.title}"
    yield ""
    yield scene.about
    yield ""
    compared = _at_choice(scene, found)
    at_tolerance = "-" if compared is None else f"at tolerance {compared.tolerance}"
    head = (
        *("way", "least tolerance", "epsilon", "false rings a day", "beyond the tolerance"),
        *("missed", "minutes to alarm", "windows decided", at_tolerance),
    )
    yield from table(head, map(_row, found))
    yield ""
    yield f"For the wish ({scene.wished}) the solver picks {choice}."
    yield ""
    yield " ".join(_verdict(scene, found))
    yield ""


def _row(one: Found) -> tuple[str, ...]:
    name = f"{one.way.name}{' (new)' if one.way.new else ''}"
    if one.tolerance is None:
        return (name, "none of use", *["-"] * 7)
    return (
        name,
        str(one.tolerance),
        f"{one.epsilon:.3f}",
        *map(number, (one.false, one.far, one.missed)),
        number(one.delay),
        f"{one.decided:.0%}",
        f"{one.at_choice:.0%}",
    )


def _at_choice(scene: Scene, found: Sequence[Found]) -> Found | None:
    """Return the way that the others are held against."""
    return _soonest_of(found) if scene.soon else best_of(found)


def _verdict(scene: Scene, found: Sequence[Found]) -> Iterator[str]:
    """Yield sentences: whether the new ways help a scene, and at what price."""
    best, before = _at_choice(scene, found), best_of(found, before=True)
    if best is None:
        yield "**It does not help**: no way of use fits."
    elif before is None:
        yield f"**It helps**: without {best.way.name} nothing of use fits and keeps its misses."
    elif scene.soon:
        yield f"**It helps**: {best.way.name} rings {_late(best)},"
        yield f"{before.way.name} {_late(before)};"
        yield f"their tolerances are {best.tolerance} and {before.tolerance}."
    elif best.way.new and (best.tolerance or 0) < (before.tolerance or 0):
        yield f"**It helps**: the tolerance falls from {before.tolerance} ({before.way.name})"
        yield f"to {best.tolerance} ({best.way.name})."
    else:
        yield f"**It does not help**: {before.way.name} has the least tolerance,"
        yield f"{before.tolerance}."
    most = float(Scene.max_fnr)
    for one in found:
        if one.missed > most:
            yield (
                f"{one.way.name} misses {one.missed:.0%} of what is due: it is out of the"
                " comparison."
            )


def _late(one: Found) -> str:
    if one.delay < 0:
        return f"{-one.delay:.0f} minutes before the threshold is passed, within its tolerance"
    return f"{one.delay:.0f} minutes after it"


def main() -> None:
    """Measure every scene whose data are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"of {', '.join(SCENES)}; all")
    parser.add_argument("--data", type=Path, default=os.environ.get("TOCSIN_DATA"), metavar="PATH")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    text, absent = [f"# What the newer ways buy\n\n{machine()}\n\n{_HOW}"], []
    for name in options.scenes or SCENES:
        scene = SCENES[name]
        with TemporaryDirectory(prefix="tocsin-utility-") as scratch:
            folder = Path(scratch)
            if not scene.prepare(options.data, folder):
                absent.append(name)
                continue
            found = measured(scene, folder, draws=options.draws)
            part = "\n".join(lines(scene, found, chosen(scene, folder)))
            print(part)
            text.append(part)
    if absent:
        text.append(f"Left out, as their data were not there: {', '.join(absent)}.\n")
    if options.write:
        REPORT.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
