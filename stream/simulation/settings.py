"""Which mechanisms, tolerances and miss rates of an alarm are tried out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.registry import ALL, DEFAULT, OFFERED
from stream.config.alarms.tolerances import aim_with, highest_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from operators.conditions.condition import Aim
    from stream.model.queries import Query

__all__ = [
    "AS_WRITTEN",
    "BASELINES",
    "FACTORS",
    "IN_RUNS",
    "TRIED",
    "Setting",
    "Untried",
    "settings_of",
]

FACTORS: Final = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Multiples of the configured tolerances that are tried by default."""
TRIED: Final = tuple(name for name, one in OFFERED.items() if one.by_window)
"""Mechanisms that are tried by default."""
IN_RUNS: Final = tuple(name for name, one in OFFERED.items() if one.run is not None)
"""Mechanisms whose windows share runs."""
AS_WRITTEN: Final = (*IN_RUNS, *(name for name, one in OFFERED.items() if one.panes is not None))
"""Mechanisms whose windows share something; tried as an alarm is written, and not otherwise."""
BASELINES: Final = tuple(name for name in ALL if name not in OFFERED)
"""Mechanisms that do not keep ``max_fnr``; tried only by name, never recommended."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run an alarm.

    Args:
        alarm: its name.
        mechanism: operator name.
        factor: what the configured tolerances were multiplied by, before rounding.
        aim: what is asked of the mechanism.
        configured: whether this is what the configuration says.
    """

    alarm: str
    mechanism: str
    factor: Fraction
    aim: Aim
    configured: bool

    @property
    def baseline(self) -> bool:
        """Whether the mechanism promises less than was asked for."""
        return self.mechanism in BASELINES

    @property
    def in_runs(self) -> bool:
        """Whether windows are decided in runs."""
        return self.aim.looks == 1 and self.mechanism in IN_RUNS

    @property
    def over_panes(self) -> bool:
        """Whether windows are decided from noisy panes that they share."""
        return ALL[self.mechanism].panes is not None

    def at_end(self, query: Query) -> bool:
        """Whether the end of a window alone is decided, where the alarm looks at every step."""
        return self.aim.looks < query.aim.looks


@dataclass(frozen=True, slots=True)
class Untried:
    """A setting that was left out.

    Args:
        setting: which one.
        reason: why, in one sentence; configuration only.
    """

    setting: Setting
    reason: str


def settings_of(
    query: Query,
    *,
    mechanisms: Sequence[str] | None = None,
    factors: Sequence[Fraction] = FACTORS,
    rates: Sequence[Fraction] | None = None,
) -> tuple[list[Setting], list[Untried]]:
    """Return what is tried out for an alarm.

    Args:
        query: the alarm.
        mechanisms: names; by default every one that keeps the promise. Whether one can answer the
            condition shows when it is planned.
        factors: multiples of the configured tolerances, each rounded to a whole number.
        rates: values of max_fnr; the configured one by default.

    Returns:
        Settings without repetitions, and what is not worth planning.
    """
    chosen: dict[tuple[str, Aim], Setting] = {}
    refused: list[Untried] = []
    for setting in _candidates(query, mechanisms or _tried(query), factors, rates):
        key = (setting.mechanism, setting.aim)
        if key in chosen:
            continue
        if setting.over_panes and not query.panes:
            reason = "panes are tried where an alarm is written with them: others may share them"
            refused.append(Untried(setting, reason))
            continue
        if query.hold_ms and "hold" not in ALL[setting.mechanism].keys:
            refused.append(Untried(setting, "it asks all predicates of a window, and holds none"))
            continue
        names = query.condition.formula.atoms
        beyond = any(
            tolerance > max(highest_tolerance(query, name), configured)
            for name, tolerance, configured in zip(
                names, setting.aim.tolerances, query.aim.tolerances, strict=True
            )
        )
        if beyond:
            reason = "the tolerance is larger than the threshold: an empty cell might ring"
            refused.append(Untried(setting, reason))
        else:
            chosen[key] = setting
    return list(chosen.values()), refused


def _tried(query: Query) -> tuple[str, ...]:
    """Return what is tried of an alarm by default: its own mechanism is always among them."""
    if query.aim.looks > 1:
        return tuple(name for name, one in OFFERED.items() if one.early is not None)
    return (query.mechanism, *TRIED) if query.mechanism not in TRIED else TRIED


def _candidates(
    query: Query,
    mechanisms: Sequence[str],
    factors: Sequence[Fraction],
    rates: Sequence[Fraction] | None,
) -> Iterator[Setting]:
    once = query.aim.looks == 1
    for mechanism in dict.fromkeys(mechanisms):
        shared = once and mechanism in AS_WRITTEN
        for rate in dict.fromkeys((rates if not shared else None) or (query.aim.max_fnr,)):
            for factor in dict.fromkeys(factors if not shared else (Fraction(1),)):
                tolerances = tuple(round(each * factor) for each in query.aim.tolerances)
                aim = replace(aim_with(query, tolerances, mechanism), max_fnr=rate)
                if ALL[mechanism].panes is None:  # whatever shares them, this does not
                    aim = replace(aim, panes=1, pane_units=0)
                configured = mechanism == query.mechanism and aim == query.aim
                yield Setting(query.id, mechanism, factor, aim, configured)
    if not once and DEFAULT.name in mechanisms:
        aim = replace(query.aim, looks=1)
        yield Setting(query.id, DEFAULT.name, Fraction(1), aim, configured=False)
