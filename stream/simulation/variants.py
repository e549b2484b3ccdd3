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

    from stream.model.alarms import Alarms
    from stream.model.queries import Query

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
    seen = {name: {_settings(alarms.queries[name])} for name in names}
    grid = product(mechanisms or (None,), factors or (Fraction(1),), rates or (None,))
    for change in grid:
        queries, tried, refused = dict(alarms.queries), [], {}
        for name in names:
            try:
                query = _changed(alarms.queries[name], *change)
            except ConfigError as error:
                refused[name] = error.message
                continue
            if _settings(query) not in seen[name]:
                seen[name].add(_settings(query))
                queries[name] = query
                tried.append(name)
        if tried or refused:
            found.append(Variant(replace(alarms, queries=queries), tuple(tried), refused))
    return found


def _changed(query: Query, named: str | None, factor: Fraction, max_fnr: Fraction | None) -> Query:
    """Return an alarm with another mechanism, other tolerances or another rate.

    Raises:
        ConfigError: it cannot be had like that.
    """
    mechanism = named or query.mechanism
    tolerances = tuple(round(each * factor) for each in query.aim.tolerances)
    aim = aim_with(query, tolerances, mechanism)
    changed = replace(query, mechanism=mechanism, aim=replace(aim, max_fnr=max_fnr or aim.max_fnr))
    limits = (highest_tolerance(query, name) for name in query.condition.formula.atoms)
    asked = zip(tolerances, limits, query.aim.tolerances, strict=True)
    why = ""
    if _settings(changed) == _settings(query):
        return query
    if query.panes:
        why = "panes are simulated as written, others may share them"
    elif query.hold_ms and "hold" not in ALL[mechanism].keys:
        why = f"{mechanism} asks all groups of a window, and holds none"
    elif any(tolerance > max(limit, own) for tolerance, limit, own in asked):
        why = "larger than the threshold, an empty group might fire"
    else:
        try:
            operator_tried(changed)
        except ConfigError as error:
            why = error.message
    if why:
        raise ConfigError(f"{mechanism} at tolerance {tolerance_text(query, tolerances)}: {why}")
    return changed


def _settings(query: Query) -> tuple[object, ...]:
    return query.mechanism, query.aim
