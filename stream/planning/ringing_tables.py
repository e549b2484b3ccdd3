"""What alarms are worth as tables and sentences for a person, and as JSON lines for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from stream.model.numbers import decimal
from stream.planning.fitting import Fitting
from stream.planning.ringing import PERCENTS, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from stream.planning.false_rings import FalseRings
    from stream.planning.ringing import Curve, Ringing
    from stream.planning.worth import Worth

__all__ = ["headings", "rate_text", "ringing_lines", "ringing_tables", "threshold_text"]

_LEAST: Final = 0.001
_NOTHING: Final = 1e-9


def ringing_tables(worths: Sequence[Worth]) -> list[RenderableType]:
    """Return how likely alarms ring at which counts, and how often for nothing.

    Args:
        worths: of all alarms.
    """
    shown: list[RenderableType] = []
    known = [one.ringing for one in worths if one.ringing is not None]
    for scored in (False, True):
        rows = [one for one in known if (one.steps is not None) is scored]
        shown += [_curves_table(rows)] if rows else []
    bases: dict[str, list[str]] = {}
    for one in known:
        bases.setdefault(one.basis, []).append(one.query)
    bases.pop("every predicate", None)
    shown += [Text(f"{', '.join(named)}: {basis}") for basis, named in bases.items()]
    shown += [Text(f"{one.query.id}: not computed: {one.why_not}") for one in worths if one.why_not]
    told = [(one.query.id, one.false) for one in worths if one.false is not None]
    if told:
        shown.append(_false_table(told))
    return shown


def ringing_lines(worths: Sequence[Worth]) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object an alarm.

    Args:
        worths: of all alarms.
    """
    for one in worths:
        ringing = one.ringing
        yield {
            "record": "ringing",
            "alarm": one.query.id,
            "basis": None if ringing is None else ringing.basis,
            "not_computed": one.why_not,
            "relative": False if ringing is None else ringing.relative,
            "curves": [] if ringing is None else [*_curve_lines(ringing)],
            "usual": None if one.false is None else _false_line(one.false),
        }


def threshold_text(curve: Curve) -> str:
    """Return a threshold, or a band's half-width and what it lies around, in words."""
    if curve.reference:
        return f"{decimal(curve.reference)} ± {decimal(curve.threshold)}"
    return decimal(curve.threshold)


def rate_text(number: float) -> str:
    """Return how often something is expected, to three digits where it is small."""
    if 0 < number < _LEAST:
        return f"< {_LEAST:g}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def headings(ringing: Ringing) -> tuple[str, ...]:
    """Return where a curve is looked at, in words; k are the steps of a score."""
    if ringing.steps is None:
        return tuple(f"{percent}%" for percent in PERCENTS)
    return tuple(f"{float(part):g} k" if part else "0" for part in SCORES)


def _curves_table(every: Sequence[Ringing]) -> Fitting:
    rows, scored = [], every[0].steps is not None
    for one in every:
        for curve in one.curves:
            pairs = zip(curve.counts, curve.chances, strict=True)
            cells = (f"{decimal(count)}:\n{chance:.2f}" for count, chance in pairs)
            named = f"{one.query} {curve.severity}".rstrip()
            rows.append((named, str(one.steps) if scored else threshold_text(curve), *cells))
    where, first = "at so many per cent of the threshold", "threshold"
    caption = "the count, and how likely a predicate with it rings"
    if scored:
        where, first = "by the score of the condition", "steps k"
        caption = (
            "the score, and how likely a predicate with it rings: 0 where the condition just holds,"
            " -k where it is false with every tolerance granted"
        )
    title, right = f"probability to ring, {where}", (first, *headings(every[0]))
    return Fitting.of(title, ("alarm",), right, rows, caption)


def _false_table(told: Iterable[tuple[str, FalseRings]]) -> Fitting:
    rows = [
        (
            name,
            f"{false.least:g}"
            if false.least == false.most
            else f"{false.least:g} to\n{false.most:g}",
            f"{false.chance:.3f}",
            f"{false.windows}",
            rate_text(false.day),
            rate_text(false.week),
            "" if false.varying is None else rate_text(false.varying / 7),
        )
        for name, false in told
    ]
    return Fitting.of(
        "false rings where all is as usual",
        ("alarm",),
        ("usual", "rings\nwith", "windows\na week", "a day", "a week", "a day if\nvarying"),
        rows,
        "varying: counts as independent arrivals make them (Poisson)",
    )


def _curve_lines(ringing: Ringing) -> Iterator[dict[str, object]]:
    for curve in ringing.curves:
        if ringing.steps is not None:
            scores = zip(curve.counts, curve.chances, strict=True)
            points = [{"score": int(score), "chance": _told(chance)} for score, chance in scores]
            yield {"steps": ringing.steps, "points": points}
            continue
        counts = zip(PERCENTS, curve.counts, curve.chances, strict=True)
        yield {
            **({"severity": curve.severity} if curve.severity else {}),
            "threshold": float(curve.threshold),
            "reference": float(curve.reference),
            "points": [
                {"percent": percent, "count": float(count), "chance": _told(chance)}
                for percent, count, chance in counts
            ],
        }


def _false_line(false: FalseRings) -> dict[str, object]:
    return {
        "least": false.least,
        "most": false.most,
        "chance": _told(false.chance),
        "windows_a_week": false.windows,
        "false_rings_a_day": _told(false.day),
        "false_rings_a_week": _told(false.week),
        "varying_a_day": None if false.varying is None else _told(false.varying / 7),
        "varying_a_week": None if false.varying is None else _told(false.varying),
    }


def _told(number: float) -> float:
    """Round to six digits: the last ones of a float are the machine's own."""
    return float(f"{number:.6g}") if number > _NOTHING else 0.0
