"""Severity levels of an alarm: each is read as an alarm of its own, with its own threshold.

HAVING leaves the threshold to the key ``severity`` with the word SEVERITY. The first level is then
the alarm that all else is about; the others are how far beyond it their thresholds lie, and what
they promise.
"""

from __future__ import annotations

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
        at = findings.under("severity", name)
        how, fpr = model.mechanism, written.max_fpr
        own = {
            "max_fnr": written.max_fnr,
            "tolerance": None if written.tolerance is None else {"": written.tolerance},
            "mechanism": None if fpr is None else how.model_copy(update={"max_fpr": fpr}),
        }
        try:
            with at.placing("threshold", LEVELS_HINT):
                threshold = parsed.reader.read_number(written.threshold, "the threshold")
        except Refused:
            continue
        if threshold.of_severity:
            at.wrong("threshold", "a level cannot have the threshold SEVERITY", LEVELS_HINT)
        threshold = replace(threshold, offset=asked.threshold.offset)
        update = {key: value for key, value in own.items() if value is not None}
        having = Tree(replace(asked, threshold=threshold))
        level = replace(parsed, having=having)
        where = at if levels else findings
        levels.append(Level(name, model.model_copy(update=update), level, where))
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
    if len(every) == 1:
        return first
    aim = replace(first.aim, severities=_severities(levels, every))
    with findings.placing("severity"):
        mechanism_of(levels[0].model.mechanism.name).price(first.condition, aim)
    return replace(first, aim=aim)


def _severities(levels: Sequence[Level], read: Sequence[ReadAlarm]) -> tuple[Severity, ...]:
    """Return what an alarm is planned for.

    Args:
        levels: as :func:`levels_of` returns them.
        read: what each of them counts, tests and promises.
    """
    (name,) = read[0].condition.formula.atoms
    sign = 1 if name in read[0].condition.formula.literals else -1
    first, base = read[0].aim, read[0].condition.atoms[name].thresholds
    found = []
    for level, each in zip(levels, read, strict=True):
        own, distances = each.aim, sign * (each.condition.atoms[name].thresholds - base)
        # What is as for the first level moves with it, where plans try other tolerances and rates.
        fnr = None if own.max_fnr == first.max_fnr else own.max_fnr
        fpr = None if own.max_fpr == first.max_fpr else own.max_fpr or own.max_fnr
        tolerance = None if own.tolerances == first.tolerances else own.tolerances[0]
        found.append(Severity(level.name, distances, fnr, fpr, tolerance))
    return tuple(found)
