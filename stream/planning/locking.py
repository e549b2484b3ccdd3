"""What ``tocsin lock`` writes: every open alarm as it was resolved, with what it costs and does.

A lock never changes by itself. An entry that still follows from its alarm is kept as it is, by
whatever version of Tocsin it was written; others are solved anew beside it, and only where they do
not fit then is everything solved again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from accountant.units import PrivacyUnit, from_loss_units
from stream.config.loading import examine
from stream.config.lock import Locked, digest_of, read_lock
from stream.model.numbers import decimal
from stream.planning.budget import budget_plan
from stream.planning.shown import many, varying_text
from stream.planning.solver.solver import as_solved, solve
from stream.planning.utility import utility_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from stream.config.loading import Report
    from stream.config.lock import Lock
    from stream.model.alarms import Alarms
    from stream.planning.solver.candidates import Candidate
    from stream.planning.solver.solver import Solved

__all__ = ["Resolved", "changes", "fits_anew", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What came of resolving a configuration.

    Args:
        report: of the configuration, with all entries that were kept.
        solved: every alarm that was solved anew.
        before: the lock as it was.
        after: as it is to be; as it was where an alarm cannot be had.
    """

    report: Report
    solved: tuple[Solved, ...]
    before: Lock
    after: Lock

    @property
    def unmet(self) -> tuple[Solved, ...]:
        """The alarms whose requirements cannot be met."""
        return tuple(one for one in self.solved if one.found is None)


def resolve(path: Path, again: Collection[str] = (), *, everything: bool = False) -> Resolved:
    """Resolve what a configuration leaves open.

    Args:
        path: of the configuration.
        again: alarms that are solved although their entries are not stale.
        everything: solve all.

    Raises:
        ConfigError: the lock that is there is not YAML.
    """
    before = read_lock(path)
    kept = {name: one for name, one in before.entries.items() if name not in again}
    found = _resolved(path, {} if everything else kept, before)
    if everything or not kept or _fits(found):
        return found
    anew = _resolved(path, {}, before)
    return anew if found.unmet or _fits(anew) else found


def fits_anew(path: Path) -> bool:
    """Whether a file that does not fit would, were all that its lock holds resolved anew.

    Args:
        path: of the configuration.
    """
    before = read_lock(path)
    return bool(before.entries) and _fits(_resolved(path, {}, before))


def _fits(found: Resolved) -> bool:
    alarms = found.report.alarms
    return not found.unmet and (alarms is None or budget_plan(as_solved(alarms, found.solved)).fits)


def changes(before: Lock, after: Lock) -> Iterator[str]:
    """Yield what differs between two locks, as ``fire-code: tolerance 9 -> 8``."""
    for name in dict.fromkeys((*before.entries, *after.entries)):
        old, new = (lock.entries.get(name) for lock in (before, after))
        if old is None or new is None:
            yield f"{name}: {'resolved' if old is None else 'no longer open'}"
            continue
        for key in dict.fromkeys((*old.keys, *new.keys)):
            texts = [_said(entry.keys.get(key)) for entry in (old, new)]
            if texts[0] != texts[1]:
                yield f"{name}: {key} {texts[0]} -> {texts[1]}"


def _resolved(path: Path, kept: Mapping[str, Locked], before: Lock) -> Resolved:
    report = examine(path, environ=os.environ, lock=replace(before, entries=kept))
    alarms = report.alarms
    solved = () if alarms is None else tuple(one for one in solve(alarms) if one.alarm.open)
    if alarms is None or any(one.found is None for one in solved):
        return Resolved(report, solved, before, before)
    new = {one.alarm.id: one.found for one in solved if one.found is not None}
    entries = {
        name: kept[name] if name not in new else _entry(new[name], alarms)
        for name in sorted({*new, *(name for name in alarms.by_name if name in kept)})
    }
    return Resolved(report, solved, before, replace(before, entries=entries))


def _entry(found: Candidate, alarms: Alarms) -> Locked:
    """Return the entry of an alarm: what to write, and what it costs and does then."""
    asked = alarms.open[found.alarm.id]
    return Locked.model_validate(
        {
            "from": digest_of(asked, alarms.budget),
            "by": version("tocsin"),
            "keys": found.keys,
            "figures": _figures(found),
        }
    )


def _figures(found: Candidate) -> dict[str, str]:
    budget, tolerated = found.case.budget, found.case.false_alarms
    whom = "an event" if budget.unit is PrivacyUnit.EVENT else "a person and period"
    cost = float(from_loss_units(found.worst_units or 0))
    figures = {
        "costs": f"{cost:.4f} of epsilon_max {decimal(budget.epsilon_max)}, {whom}",
        "missed": f"{found.missed:.4g} of true alarms at most",
    }
    if tolerated is not None and found.false is not None:
        figures["false_alarms"] = f"{found.false:.3g} per {tolerated.span} at the baseline"
        utility = utility_of(found.alarm, budget)
        if utility.false is not None:
            figures["false_alarms"] += varying_text(utility.false.fired_varying)
    figures["episodes"] = "all"
    if found.episodes is not None:
        figures["episodes"] = (
            f"{found.episodes} in a period; after {many(found.alarm.aim.alarms, 'alarm')} it does"
            " not fire until the next one"
        )
    return figures


def _said(value: Any) -> str:
    """Return a value of an entry on one line, its keys in the order of the file."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_said(each)}" for key, each in sorted(value.items())) + "}"
    return "-" if value is None else " ".join(str(value).split())
