"""What is simulated: a file as it is written, and with some of its alarms changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from operators.registry import ALL, OFFERED
from stream.config.alarms.tolerances import aim_with, highest_tolerance, tolerance_text
from stream.simulation.plays import operator_tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["BASELINES", "KNOWN", "Variant", "variants_of"]

BASELINES: Final = tuple(name for name in ALL if name not in OFFERED)
"""Mechanisms that do not keep ``max_fnr``; tried only by name."""
KNOWN: Final = tuple(name for name, one in ALL.items() if one.bands is None and one.panes is None)
"""Mechanisms that may be tried instead of an alarm's own."""


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The file with one change.

    Args:
        alarms: all that are simulated, the changed ones among them.
        tried: names of those that could be changed; of the file as written, of all that are shown.
        refused: why others could not, by name.
    """

    alarms: Alarms
    tried: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


def variants_of(
    alarms: Alarms,
    names: Sequence[str],
    mechanisms: Sequence[str] = (),
    factors: Sequence[Fraction] = (),
    rates: Sequence[Fraction] = (),
) -> list[Variant]:
    """Return the file as written, then with every change; equal ones once.

    Args:
        alarms: all that are simulated.
        names: those that are changed and shown.
        mechanisms: instead of their own.
        factors: multiples of their tolerances.
        rates: values of max_fnr.
    """
    found = [Variant(alarms, tuple(names))]
    seen = {name: {_settings(alarms.by_name[name])} for name in names}
    grid = product(mechanisms or (None,), factors or (Fraction(1),), rates or (None,))
    for change in grid:
        queries, tried, refused = dict(alarms.by_name), [], {}
        for name in names:
            try:
                alarm = _changed(alarms.by_name[name], *change)
            except ConfigError as error:
                refused[name] = error.message
                continue
            if _settings(alarm) not in seen[name]:
                seen[name].add(_settings(alarm))
                queries[name] = alarm
                tried.append(name)
        if tried or refused:
            found.append(Variant(replace(alarms, by_name=queries), tuple(tried), refused))
    return found


def _changed(alarm: Alarm, named: str | None, factor: Fraction, max_fnr: Fraction | None) -> Alarm:
    """Return an alarm with another mechanism, other tolerances or another rate.

    Raises:
        ConfigError: it cannot be had like that.
    """
    mechanism = named or alarm.mechanism
    tolerances = tuple(round(each * factor) for each in alarm.aim.tolerances)
    aim = aim_with(alarm, tolerances, mechanism)
    changed = replace(alarm, mechanism=mechanism, aim=replace(aim, max_fnr=max_fnr or aim.max_fnr))
    limits = (highest_tolerance(alarm, name) for name in alarm.condition.formula.atoms)
    asked = zip(tolerances, limits, alarm.aim.tolerances, strict=True)
    why = ""
    if _settings(changed) == _settings(alarm):
        return alarm
    if alarm.panes:
        why = "panes are simulated as written, others may share them"
    elif alarm.hold_ms and "hold" not in ALL[mechanism].keys:
        why = f"{mechanism} asks all groups of a window, and holds none"
    elif any(tolerance > max(limit, own) for tolerance, limit, own in asked):
        why = "larger than the threshold, an empty group might fire"
    else:
        try:
            operator_tried(changed)
        except ConfigError as error:
            why = error.message
    if why:
        raise ConfigError(f"{mechanism} at tolerance {tolerance_text(alarm, tolerances)}: {why}")
    return changed


def _settings(alarm: Alarm) -> tuple[object, ...]:
    return alarm.mechanism, alarm.aim
