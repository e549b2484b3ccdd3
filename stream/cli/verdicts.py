"""What came of tests: as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from stream.windows.instants import iso_utc
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.cases.ranges import Range
    from stream.simulation.cases.judging import Check, Verdict
    from stream.simulation.cases.laws import Bounds

__all__ = ["chance_text", "lines_of", "summary", "verdict_json"]

_DIGITS: Final = (4, 6, 9, 12, 17)
_WORDS: Final = {
    "counts": "counts",
    "dropped_by_bounds": "left out",
    "dropped": "dropped",
    "complete": "holds",
}


def lines_of(verdict: Verdict, *, verbose: bool) -> Iterator[str]:
    """Yield a line for a test, and under it what is not as expected.

    Args:
        verdict: what came of it.
        verbose: whether to print what is as expected, too.
    """
    shown = [check for check in verdict.checks if verbose or not check.passed]
    yield f"{'ok  ' if verdict.passed else 'FAIL'}  {verdict.case.name}"
    for check in shown:
        place = f"{check.place.file}:{check.place.line}:{check.place.column}"
        yield f"        {place}: {_told(check, verdict)}"
    if verdict.basis and any(check.bounds is not None for check in shown):
        yield f"        (probabilities are {verdict.basis})"


def summary(tests: int, failed: int, errors: int) -> str:
    """Return how many tests there were, and how they came out."""
    text = f"{tests} test{'' if tests == 1 else 's'}, {failed} failed"
    return text + (f", and {errors} error{'' if errors == 1 else 's'}" if errors else "")


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return what came of a test as one object."""
    case = verdict.case
    return {
        "record": "test",
        "file": case.place.file,
        "line": case.place.line,
        "name": case.name,
        "alarm": case.alarm.id,
        "passed": verdict.passed,
        "basis": verdict.basis,
        "checks": [
            {
                "what": check.what,
                "about": check.about,
                "window_start": None if check.start_ms is None else iso_utc(check.start_ms),
                "line": check.place.line,
                "column": check.place.column,
                "expected": check.expected,
                "found": None if check.bounds is not None else check.found,
                **{name: getattr(check.bounds, name, None) for name in ("least", "most", "draws")},
                "passed": check.passed,
            }
            for check in verdict.checks
        ],
    }


def chance_text(chance: float, digits: int = _DIGITS[0]) -> str:
    """Return a probability as people read it: near 1, by its distance from 1."""
    rest = 1 - chance
    return f"1 - {rest:.{digits}g}" if 0 < rest < 1e-3 else f"{chance:.{digits}g}"


def _told(check: Check, verdict: Verdict) -> str:
    """Return one check as a sentence."""
    subject = check.about
    if check.start_ms is not None:
        when = clock_text(check.start_ms, verdict.case.alarms.timezone)
        subject = f"{subject} at {when}" if subject else f"the window at {when}"
    if check.bounds is None:
        return f"{subject}: {_WORDS[check.what]} {check.found}, expected {check.expected}"
    return f"{subject}: {_fires(check.bounds, check.range)}, expected {check.expected}"


def _fires(bounds: Bounds, taken: Range | None) -> str:
    least, most = (_beside(chance, taken) for chance in (bounds.least, bounds.most))
    if bounds.draws is not None:
        return f"fired in {bounds.fired} of {bounds.draws} draws (an estimate: {least} to {most})"
    between = least if least == most else f"{least} to {most}"
    return f"fires with probability {between}"


def _beside(chance: float, taken: Range | None) -> str:
    """Return a probability in so many digits that they lie on its own side of what is taken."""
    for digits in _DIGITS:
        text = chance_text(chance, digits)
        first, minus, rest = text.partition(" - ")
        shown = float(first) - float(rest) if minus else float(first)
        if taken is None or taken.holds(shown) is taken.holds(chance):
            return text
    return str(chance)
