"""Severity levels of an alarm: each is read as an alarm of its own, with its own threshold.

HAVING leaves the threshold to the key ``severity`` with the word SEVERITY. The first level is then
the alarm that all else is about; the others are how far beyond it their thresholds lie, and what
they promise.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from operators.conditions.condition import Severity
from operators.registry import mechanism_of
from stream.config.alarms.excluded import LEVELS_HINT
from stream.config.alarms.reduction import Tree
from stream.config.findings import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.config.alarms.bands import ReadAlarm
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery

__all__ = ["Level", "levels_of", "read_levels"]


@dataclass(frozen=True, slots=True)
class Level:
    """One level as an alarm of its own.

    Args:
        name: of the level; "" of an alarm without levels.
        model: its keys.
        parsed: its SQL, with the level's threshold.
        findings: receives what is wrong with it.
    """

    name: str
    model: AlarmModel
    parsed: ParsedQuery
    findings: Findings


def levels_of(model: AlarmModel, parsed: ParsedQuery, findings: Findings) -> list[Level]:
    """Return the levels of an alarm, of one without them itself.

    Args:
        model: the alarm's keys.
        parsed: its SQL.
        findings: receives errors.

    Raises:
        Refused: something is wrong.
    """
    asked = parsed.having.leaf
    if model.severity is None or asked is None:
        return [Level("", model, parsed, findings)]
    levels: list[Level] = []
    for name, written in model.severity.items():
        at, how, tolerance = findings.under("severity", name), model.mechanism, written.tolerance
        own = {
            "max_fnr": written.max_fnr or model.max_fnr,
            "tolerance": model.tolerance if tolerance is None else {"": tolerance},
            "mechanism": how.model_copy(update={"max_fpr": written.max_fpr or how.max_fpr}),
        }
        with suppress(Refused), at.placing("threshold", LEVELS_HINT):
            threshold = parsed.reader.read_number(written.threshold, "the threshold")
            threshold = replace(threshold, offset=asked.threshold.offset)
            level = replace(parsed, having=Tree(replace(asked, threshold=threshold)))
            where = at if levels else findings
            levels.append(Level(name, model.model_copy(update=own), level, where))
    if findings.errors:
        raise Refused
    return levels


def read_levels(
    levels: Sequence[Level],
    read: Callable[[Level], ReadAlarm],
    findings: Findings,
) -> ReadAlarm:
    """Return an alarm with its levels, if any.

    Args:
        levels: at least one.
        read: reads one of them.
        findings: receives errors of levels that do not go together.

    Raises:
        Refused: something is wrong.
    """
    every = [read(level) for level in levels]
    first = every[0]
    if not levels[0].name:
        return first
    (name,) = first.condition.formula.atoms
    sign = 1 if name in first.condition.formula.literals else -1
    base, severities = first.condition.atoms[name].thresholds, []
    for level, each in zip(levels, every, strict=True):
        own, distances = each.aim, sign * (each.condition.atoms[name].thresholds - base)
        # What is as for the first level moves with it, where plans try other tolerances and rates.
        fnr = None if own.max_fnr == first.aim.max_fnr else own.max_fnr
        fpr = None if own.max_fpr == first.aim.max_fpr else own.max_fpr or own.max_fnr
        tolerance = None if own.tolerances == first.aim.tolerances else own.tolerances[0]
        severities.append(Severity(level.name, distances, fnr, fpr, tolerance))
    aim = replace(first.aim, severities=tuple(severities))
    with findings.placing("severity"):
        mechanism_of(levels[0].model.mechanism.name).price(first.condition, aim)
    return replace(first, aim=aim)
