"""``tocsin test``: unit tests of alarms."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from accountant.errors import ConfigError, TocsinError
from stream.cli.checking import FILES
from stream.cli.inputs import refuse_unreadable
from stream.cli.options import JSON_LINES
from stream.cli.shared import BAD_INPUT, complain, echo_json, echo_lines, leave
from stream.cli.surveying import say_read
from stream.config.cases.reading import read_cases
from stream.planning.shown import many
from stream.simulation.cases.judging import judged
from stream.windows.instants import iso_utc
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream.config.cases.cases import Case
    from stream.simulation.cases.judging import Check, Verdict
    from stream.simulation.cases.laws import Bounds, WindowLaw

__all__ = ["FAILED", "test"]

FAILED: Final = 1
"""Exit code where a test came out otherwise than it was expected."""
_WORDS: Final = {
    "counts": "counts",
    "dropped_by_bounds": "left out",
    "dropped": "dropped",
    "complete": "holds",
}


@click.command()
@FILES
@click.option("--verbose", "-v", is_flag=True, help="Show what came out of tests that pass, too.")
@JSON_LINES
def test(files: tuple[Path, ...], *, verbose: bool, as_json: bool) -> None:
    """Try alarms on made-up counts or events: do they fire as expected?

    FILE names a configuration, what goes into its alarms, and how likely they are to fire. No
    ledger is opened and nothing is spent. The output shows exact counts: use made-up data only.
    Ends with 1 where a test fails.
    """
    tried: Counter[str] = Counter()
    for path in files:
        if len(files) > 1 and not as_json:
            click.echo(f"{path}:")
        tried.update(_outcomes(path, verbose=verbose, as_json=as_json))
    failed, errors = tried["failed"], tried["error"]
    tests = failed + tried["passed"]
    if as_json:
        echo_json({"record": "summary", "tests": tests, "failed": failed, "errors": errors})
    else:
        more = f", and {many(errors, 'error')}" if errors else ""
        click.echo(f"{many(tests, 'test')}, {failed} failed{more}")
    leave(BAD_INPUT if errors else FAILED if failed else 0)


def _outcomes(path: Path, *, verbose: bool, as_json: bool) -> Iterator[str]:
    """Try the tests of a file; say and yield what comes of each."""
    read = read_cases(path, environ=os.environ)
    laws: dict[str, WindowLaw] = {}
    for error in read.errors:
        complain(error, as_json=as_json)
        yield "error"
    for case in read.cases:
        try:
            refuse_unreadable(case.paths)
            verdict = judged(case, laws)
        except TocsinError as error:
            complain(_placed(error, case), as_json=as_json)
            yield "error"
            continue
        if as_json:
            echo_json(_verdict_json(verdict))
        else:
            echo_lines(_lines_of(verdict, verbose=verbose))
            if not verdict.passed:
                say_read(verdict.read)
        yield "passed" if verdict.passed else "failed"


def _placed(error: TocsinError, case: Case) -> TocsinError:
    """Return an error at the test that it is about, where it has no position of its own."""
    if isinstance(error, ConfigError) and error.line:
        return error
    return case.place.error(error.message, error.hint)


def _lines_of(verdict: Verdict, *, verbose: bool) -> Iterator[str]:
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


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
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


def _chance_text(chance: float) -> str:
    """Return a probability as people read it: near 1, by its distance from 1."""
    rest = 1 - chance
    return f"1 - {rest:.4g}" if 0 < rest < 1e-3 else f"{chance:.4g}"


def _told(check: Check, verdict: Verdict) -> str:
    """Return one check as a sentence."""
    subject = check.about
    if check.start_ms is not None:
        when = clock_text(check.start_ms, verdict.case.alarms.timezone)
        subject = f"{subject} at {when}" if subject else f"the window at {when}"
    if check.bounds is None:
        return f"{subject}: {_WORDS[check.what]} {check.found}, expected {check.expected}"
    return f"{subject}: {_fires(check.bounds)}, expected {check.expected}"


def _fires(bounds: Bounds) -> str:
    least, most = map(_chance_text, (bounds.least, bounds.most))
    if bounds.draws is not None:
        return f"fired in {bounds.fired} of {bounds.draws} draws (an estimate: {least} to {most})"
    between = least if least == most else f"{least} to {most}"
    return f"fires with probability {between}"
