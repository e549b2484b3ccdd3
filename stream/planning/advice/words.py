"""Advice as a person reads it: what to write, why, and what else it would cost or take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from accountant.units import PrivacyUnit, from_loss_units
from stream.config.alarms.tolerances import tolerance_text
from stream.model.numbers import decimal
from stream.planning.advice.needs import beyond_cap
from stream.planning.advice.search import MOST_ALARMS, mechanisms_tried
from stream.planning.advice.ways import ways
from stream.planning.fitting import Fitting
from stream.planning.stretching import duration_text
from stream.planning.usefulness import MOST_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from rich.console import RenderableType

    from stream.planning.advice.advice import Advice
    from stream.planning.advice.candidates import Candidate
    from stream.planning.advice.case import Case
    from stream.planning.advice.needs import Need

__all__ = ["advice_shown", "family", "given_up", "to_write"]


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
            shown += [Text(line) for line in _sacrifices(one)]
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


def given_up(found: Candidate) -> str:
    """Return what an alarm that is had this way does not do, in words; "" where it is nothing.

    Args:
        found: one way to have it.
    """
    aim, parts = found.query.aim, []
    if found.runs:
        parts.append(f"silent once its {aim.alarms} alarms of a period are spent")
    if found.cap:
        parts.append(beyond_cap(found).removeprefix("so that "))
    if found.early:
        parts.append("a step that is denied takes the rest of its window with it")
    if found.paned:
        parts.append("an event that comes late for its pane counts in no window")
        if found.case.windows:
            parts.append("windows slide: none begins with the clock alone")
    return "; ".join(parts)


def family(case: Case) -> str:
    """Return over what was searched."""
    tried = dict.fromkeys(each.name for way in ways(case) for each in mechanisms_tried(way))
    names = ", ".join(tried)
    fixed = "" if "tolerance" in case.query.open else " as written"
    widest = "the widest useful tolerance below what is usual" if not fixed else "the tolerance"
    rates = f"max_fpr from 1e-9 to {float(MOST_RATE):g} in three digits"
    text = f"searched: {names}; {widest}{fixed}; {rates}"
    if any(each.run is not None for each in mechanisms_tried(case)):
        most = MOST_ALARMS if "alarms_per_period" in case.query.open else case.query.aim.alarms
        text += f"; runs of up to {most} alarms"
    for way in ways(case):
        text += f"; {way.windows}" if way.windows else ""
    return f"{text}; then windows, hours, caps and the rest, one at a time"


def _lines(one: Advice, case: Case) -> Iterator[str]:
    usual = {decimal(each) for each in _usual(case)}
    where = usual.pop() if len(usual) == 1 else "the table's value"
    late = one.query.max_delay_ms
    delay = "" if late is None else f", max_delay {duration_text(late)}"
    yield (
        f"wanted: false_rings {case.wanted.text} where {where} is usual, max_fnr"
        f" {decimal(one.query.aim.max_fnr)}{delay}, for {_decimals(case.room_units)}"
        f" {_whose(case)}"
    )
    if one.written is not None:
        rings, span = one.written.rings, case.wanted.span
        if rings is None:
            yield "as written: how often it rings cannot be computed"
        else:
            kept = "kept" if one.written.quiet else "NOT kept"
            yield f"as written: {rings:.3g} false rings a {span}: {kept}"
        if not one.written.prompt:
            waits = duration_text(one.written.query.delay_ms)
            yield f"as written: an alarm may leave {waits} after its threshold was passed: NOT kept"
        yield from (f"as written it is poor: {each}" for each in one.written.poor)


def _whose(case: Case) -> str:
    return "an event" if case.budget.unit is PrivacyUnit.EVENT else "a period"


def _usual(case: Case) -> list[Fraction]:
    return [int(each) * case.per_unit for each in set(case.usual.tolist())]


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
    if best.case.windows:
        yield f"    in sql: {best.case.windows}"
    if best.cap:
        yield f"    in budget, contribution: windows_per_period: {best.cap}"
    alone = [each for each in one.alternatives if not each.runs and each.quiet and not each.cap]
    in_runs = [each for each in one.alternatives if each.runs and each.keeps]
    least, runs = (
        min(each, key=lambda found: found.units, default=None) for each in (alone, in_runs)
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
    if best.cap:
        yield (
            "why: nothing fits without a cap over the period; look first whom it leaves out:"
            " `tocsin count FILE --replay DATA`"
        )
        return
    if best.case.windows:
        yield "why: the cheapest that leaves in time"
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
        yield f"  {change.text} ({_name(each)}, {_decimals(each.worst_units)} {_whose(each.case)})"


def _table(one: Advice, case: Case) -> RenderableType:
    rows = [] if one.written is None else [one.written]
    rows += [each for each in one.alternatives if each is not one.written]
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption=_caption(one.alternatives),
        caption_justify="left",
    )
    table.add_column("mechanism", no_wrap=True)
    span = f"rings\nper\n{case.wanted.span}"
    per = "per\nevent" if case.budget.unit is PrivacyUnit.EVENT else "per\nperiod"
    headings = ["toler-\nance", "max_fpr", "epsilon", per, "missed", span]
    headings += ["delay"] * _by_delay(one)
    for heading in (*headings, "lacks"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in rows:
        row = _row(each, "as written" if each is one.written else "", delay=_by_delay(one))
        table.add_row(*row, style="bold" if each is one.best else "")
    return Fitting(table)


def _by_delay(one: Advice) -> bool:
    return one.query.max_delay_ms is not None


def _caption(found: Sequence[Candidate]) -> str:
    """Return what the names of the table's rows mean."""
    said = []
    if any(each.runs for each in found):
        said += ["x5: in runs of 5 alarms", "missed: at the threshold, asked last"]
    if any(each.cap for each in found):
        said.append("c6: who is in more than 6 windows of a period counts in 6")
    if any(each.early for each in found):
        said.append("e12: a window is looked at 12 times")
    if any(each.case.windows and not each.early for each in found):
        said.append("h12: a window slides in 12 steps")
    return "; ".join(said)


def _row(one: Candidate, name: str = "", *, delay: bool = False) -> list[str]:
    fpr = one.query.aim.max_fpr
    kept = (
        *(("budget", one.fits), ("rings", one.quiet)),
        *(("misses", one.sure), ("delay", one.prompt)),
    )
    lacks = [what for what, keeps in kept if not keeps] + ["poor"] * bool(one.poor)
    return [
        name or _name(one),
        tolerance_text(one.query, one.query.aim.tolerances),
        "" if fpr is None else f"{float(fpr):.2g}",
        _decimals(one.units),
        _decimals(one.worst_units),
        f"{one.missed:.2g}",
        "?" if one.rings is None else f"{one.rings:.{2 if one.rings < 10 else 3}g}",
        *([duration_text(one.query.delay_ms)] * delay),
        "\n".join(lacks) or "-",
    ]


def _sacrifices(one: Advice) -> Iterator[str]:
    """Yield what the ways of a table give up, and where else than in the alarm they are written."""
    names: dict[str, list[str]] = {}
    for each in one.alternatives:
        if (lost := given_up(each)) and not each.runs:  # of runs it is said where they are best
            names.setdefault(f"{_besides(each)}: {lost}", []).append(_name(each))
    for lost, alike in names.items():
        yield f"{', '.join(alike)}{lost}"


def _besides(one: Candidate) -> str:
    found = [one.case.windows] if one.case.windows else []
    found += [f"windows_per_period: {one.cap}"] if one.cap else []
    return f" ({', '.join(found)})" if found else ""


def _name(one: Candidate) -> str:
    calendar = one.query.calendar
    if one.runs:
        return f"{one.mechanism} x{one.query.aim.alarms}"
    if one.cap:
        return f"{one.mechanism} c{one.cap}"
    if one.early:
        return f"{one.mechanism} e{one.query.aim.looks}"
    return f"{one.mechanism} h{calendar.overlap}" if one.case.windows else one.mechanism


def _written(one: Candidate) -> str:
    return ", ".join(f"{key}: {value}" for key, value in to_write(one).items())


def _decimals(units: int | None) -> str:
    return "no end" if units is None else f"{float(from_loss_units(units)):.3f}"
