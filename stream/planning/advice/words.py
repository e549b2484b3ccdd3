"""Advice as a person reads it: what to write, why, and what else it would cost or take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from accountant.units import from_loss_units
from stream.config.alarms.tolerances import tolerance_text
from stream.model.numbers import decimal
from stream.planning.advice.search import MOST_ALARMS, mechanisms_tried
from stream.planning.usefulness import MOST_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from rich.console import RenderableType

    from stream.planning.advice.advice import Advice
    from stream.planning.advice.case import Case
    from stream.planning.advice.needs import Need
    from stream.planning.advice.search import Candidate

__all__ = ["advice_shown", "family", "to_write"]


def advice_shown(advice: Sequence[Advice]) -> list[RenderableType]:
    """Return what is said of every alarm that says how many false rings are borne.

    Args:
        advice: on every such alarm.
    """
    shown: list[RenderableType] = []
    for one in advice:
        shown += [Text(f"advice on {one.query.id}", style="bold")]
        if isinstance(one.case, str):
            shown.append(Text(f"nothing can be said: {one.case}"))
            continue
        shown += [Text(line) for line in _lines(one, one.case)]
        if one.query.open or one.best is not None or one.needs:
            shown.append(_table(one, one.case))
        shown += [Text(line) for line in _outcome(one, one.case)]
    return shown


def to_write(found: Candidate) -> dict[str, str]:
    """Return the keys of an alarm and what to write, for what was found."""
    aim = found.query.aim
    written = {
        "mechanism": found.mechanism,
        "tolerance": tolerance_text(found.query, aim.tolerances),
        "max_fnr": decimal(aim.max_fnr),
    }
    if aim.max_fpr is not None:
        written["max_fpr"] = decimal(aim.max_fpr)
    if found.runs:
        written["alarms_per_period"] = str(aim.alarms)
    return written


def family(case: Case) -> str:
    """Return over what was searched."""
    names = ", ".join(each.name for each in mechanisms_tried(case))
    fixed = "" if "tolerance" in case.query.open else " as written"
    widest = "the widest useful tolerance below what is usual" if not fixed else "the tolerance"
    rates = f"max_fpr from 1e-9 to {float(MOST_RATE):g} in three digits"
    text = f"searched: {names}; {widest}{fixed}; {rates}"
    if any(each.run is not None for each in mechanisms_tried(case)):
        most = MOST_ALARMS if "alarms_per_period" in case.query.open else case.query.aim.alarms
        text += f"; runs of up to {most} alarms"
    return f"{text}; then windows, hours, caps and the rest, one at a time"


def _lines(one: Advice, case: Case) -> Iterator[str]:
    usual = {decimal(each) for each in _usual(case)}
    where = usual.pop() if len(usual) == 1 else "the table's value"
    yield (
        f"wanted: false_rings {case.wanted.text} where {where} is usual, max_fnr"
        f" {decimal(one.query.aim.max_fnr)}, for {_decimals(case.room_units)} a period"
    )
    if one.written is not None:
        rings, span = one.written.rings, case.wanted.span
        if rings is None:
            yield "as written: how often it rings cannot be computed"
        else:
            kept = "kept" if one.written.quiet else "NOT kept"
            yield f"as written: {rings:.3g} false rings a {span}: {kept}"
        yield from (f"as written it is poor: {each}" for each in one.written.poor)


def _usual(case: Case) -> list[Fraction]:
    (name,) = case.query.condition.formula.atoms
    unit = case.query.aggregates[case.query.condition.atoms[name].statistic].per_unit
    return [int(each) * unit for each in set(case.usual.tolist())]


def _outcome(one: Advice, case: Case) -> Iterator[str]:
    if one.best is not None:
        yield from _best_lines(one, one.best)
        if one.options:
            yield "with one thing changed, all of it would be kept by:"
            yield from _changes(one.options)
    elif one.query.open or one.needs:
        yield "nothing useful keeps all of this"
        if one.poor is not None:
            yield f"poor: {_written(one.poor)}: {'; '.join(one.poor.poor)}"
        if case.distance <= 0:
            yield "what is usual is enough to ring: only a threshold beyond it leaves an alarm"
        elif one.needs:
            yield "it would take one of:"
            yield from _changes(one.needs)
        else:
            yield "no change of one thing alone is enough"
    if one.query.open or one.best is not None or one.needs:
        yield family(case)


def _best_lines(one: Advice, best: Candidate) -> Iterator[str]:
    yield f"best: {_name(best)}; write"
    yield from (f"    {key}: {value}" for key, value in to_write(best).items())
    alone = [each for each in one.alternatives if not each.runs and each.quiet]
    least = min(alone, key=lambda each: each.units, default=None)
    runs = min(
        (each for each in one.alternatives if each.runs and each.keeps),
        key=lambda each: each.units,
        default=None,
    )
    if best.runs:
        if least is not None:
            yield (
                f"why: a run is charged once; window by window {least.mechanism}, the cheapest,"
                f" takes {_decimals(least.worst_units)} a period"
            )
        yield (
            f"{best.query.aim.alarms} alarms a period are the most that fit, of which quiet cells"
            " may use some; a run that is spent is silent until the period ends"
        )
        if best.query.aim.max_fnr < one.query.aim.max_fnr:
            yield (
                f"max_fnr {decimal(best.query.aim.max_fnr)} of a question, so that a cell at its"
                f" threshold that is asked last of all is missed with {best.missed:.3g}"
            )
        return
    yield "why: the cheapest that decides every window by itself"
    if runs is not None and (runs.worst_units or 0) < (best.worst_units or 0):
        yield (
            f"{_name(runs)} would do it for {_decimals(runs.worst_units)} a period, but is silent"
            " once its alarms are spent"
        )


def _changes(changes: Sequence[Need]) -> Iterator[str]:
    for change in changes:
        each = change.candidate
        yield f"  {change.text} ({_name(each)}, {_decimals(each.worst_units)} a period)"


def _table(one: Advice, case: Case) -> RenderableType:
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption="x5: in runs of 5 alarms; missed: at the threshold, asked last",
        caption_justify="left",
    )
    table.add_column("mechanism", no_wrap=True)
    span = f"rings\nper\n{case.wanted.span}"
    for heading in ("toler-\nance", "max_fpr", "epsilon", "per\nperiod", "missed", span, "lacks"):
        table.add_column(heading, justify="right", no_wrap=True)
    if one.written is not None:
        table.add_row(*_row(one.written, "as written"))
    for each in one.alternatives:
        if each is not one.written:
            table.add_row(*_row(each), style="bold" if each is one.best else "")
    return table


def _row(one: Candidate, name: str = "") -> list[str]:
    fpr = one.query.aim.max_fpr
    kept = (("budget", one.fits), ("rings", one.quiet), ("misses", one.sure))
    lacks = [what for what, keeps in kept if not keeps] + ["poor"] * bool(one.poor)
    return [
        name or _name(one),
        tolerance_text(one.query, one.query.aim.tolerances),
        "" if fpr is None else f"{float(fpr):.2g}",
        _decimals(one.units),
        _decimals(one.worst_units),
        f"{one.missed:.2g}",
        "?" if one.rings is None else f"{one.rings:.{2 if one.rings < 10 else 3}g}",
        "\n".join(lacks) or "-",
    ]


def _name(one: Candidate) -> str:
    return f"{one.mechanism} x{one.query.aim.alarms}" if one.runs else one.mechanism


def _written(one: Candidate) -> str:
    return ", ".join(f"{key}: {value}" for key, value in to_write(one).items())


def _decimals(units: int | None) -> str:
    return "no end" if units is None else f"{float(from_loss_units(units)):.3f}"
