"""Severity levels of an alarm: each is read as an alarm of its own, with its own threshold.

HAVING leaves the threshold to the key ``severity`` with the word SEVERITY. The first level is then
the alarm that all else is about; the others are how far beyond it their thresholds lie, and what
they promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from operators.conditions.condition import Severity
from operators.descriptors import SEVERITY_HINT
from operators.registry import mechanism_of
from stream.config.alarms.reduction import COUNTS, Function, Tree
from stream.config.alarms.wanted import WRITTEN_HINT, is_searched
from stream.config.sql.bands import reference_of
from stream.config.sql.nodes import SqlProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream.config.alarms.bands import ReadAlarm
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery
    from stream.config.yamlfile import Loc

__all__ = ["Level", "levels_of", "read_levels"]

_SHAPE: Final = "write HAVING COUNT(*) > SEVERITY and severity: {warning: 80, critical: 100}"
_ADDED_UP: Final = COUNTS | {Function.SUM}


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


def levels_of(
    model: AlarmModel,
    parsed: ParsedQuery,
    open_: tuple[str, ...],
    findings: Findings,
) -> list[Level]:
    """Return the levels of an alarm, of one without them itself; none where something is wrong.

    Args:
        model: the alarm's keys.
        parsed: its SQL.
        open_: keys that are left to be found.
        findings: receives errors.
    """
    asked = parsed.having.leaf
    words = [each for each in parsed.having.leaves() if each.threshold.of_severity]
    if model.severity is None and not words:
        return [Level("", model, parsed, findings)]
    before = len(findings.errors)
    for key, message, hint in _refused(model, parsed, open_):
        offset = words[0].threshold.offset if words else None
        findings.wrong(key, message, hint, offset=offset if key == "sql" else None)
    if model.severity is None or asked is None or len(findings.errors) > before:
        return []
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
            threshold = reference_of(written.threshold, parsed.reader, "the threshold")
        except SqlProblem as problem:
            at.wrong("threshold", problem.message, problem.hint or _SHAPE)
            continue
        if threshold.of_severity:
            at.wrong("threshold", "SEVERITY is what levels stand for", _SHAPE)
        threshold = replace(threshold, offset=asked.threshold.offset)
        update = {key: value for key, value in own.items() if value is not None}
        having = Tree(replace(asked, threshold=threshold))
        level = replace(parsed, having=having)
        where = at if levels else findings
        levels.append(Level(name, model.model_copy(update=update), level, where))
    return [] if len(findings.errors) > before else levels


def read_levels(
    levels: Sequence[Level],
    read: Callable[[Level], ReadAlarm | None],
    findings: Findings,
) -> ReadAlarm | None:
    """Return an alarm with its levels, if any; ``None`` where something is wrong.

    Args:
        levels: at least one.
        read: reads one of them.
        findings: receives errors of levels that do not go together.
    """
    every: list[ReadAlarm] = []
    for level in levels:
        found = read(level)
        if found is None:
            return None
        every.append(found)
    first = every[0]
    if len(every) == 1:
        return first
    aim = replace(first.aim, severities=_severities(levels, every))
    try:
        mechanism_of(levels[0].model.mechanism.name).price(first.condition, aim)
    except ConfigError as error:
        findings.wrong("severity", error.message, error.hint)
        return None
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


def _refused(
    model: AlarmModel, parsed: ParsedQuery, open_: tuple[str, ...]
) -> Iterator[tuple[str | Loc, str, str]]:
    """Yield key, what is wrong and a hint."""
    leaves = list(parsed.having.leaves())
    if model.severity is None:
        yield "sql", "SEVERITY has no levels", _SHAPE
        return
    if not any(each.threshold.of_severity for each in leaves):
        yield "severity", "severity is for a threshold SEVERITY, and HAVING has none", _SHAPE
        return
    if len(model.severity) < 2:
        hint = "write its threshold into HAVING instead of SEVERITY, and remove severity"
        yield "severity", "one severity level is an alarm without levels", hint
    if len(leaves) > 1:
        message = f"severity levels are of one comparison; this HAVING comes to {len(leaves)}"
        yield "sql", message, _SHAPE
    function = leaves[0].measure.function
    if function not in _ADDED_UP:
        message = f"{function.value} has another statistic for every threshold: levels of it share"
        yield "sql", f"{message} no noise", "write COUNT or SUM, or one alarm for each level"
    for key, holds, message, hint in (
        (
            "mechanism",
            mechanism_of(model.mechanism.name).severities is None,
            f"{model.mechanism.name} has no severity levels",
            SEVERITY_HINT,
        ),
        (
            "sql",
            parsed.cumulative,
            "early alarms have no severity levels",
            "write TUMBLE instead of CUMULATE",
        ),
        (
            "sql",
            bool(parsed.members),
            "a quantifier over groups has no severity levels",
            "write an alarm for each level",
        ),
        (
            "hold",
            model.hold is not None,
            "a held warning would not be asked whether it is critical",
            "leave out hold, or write an alarm for each level",
        ),
        (
            model.mechanism.at("bounded_error"),
            model.mechanism.bounded_error != "fnr",
            "severity levels bound misses",
            "leave bounded_error out",
        ),
        (
            "severity",
            is_searched(model, open_),
            "severity levels leave nothing to be found by plan",
            WRITTEN_HINT,
        ),
    ):
        if holds:
            yield key, message, hint
