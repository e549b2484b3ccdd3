"""``tocsin test``: unit tests of alarms."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from accountant.errors import ConfigError, TocsinError
from stream.cli.checking import FILES
from stream.cli.inputs import refuse_strange, refuse_twice
from stream.cli.options import JSON_LINES
from stream.cli.shared import BAD_INPUT, complain, diagnostic_json, echo_json, leave
from stream.cli.surveying import say_read
from stream.cli.verdicts import lines_of, summary, verdict_json
from stream.config.cases.reading import read_cases
from stream.simulation.cases.judging import judged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream.config.cases.cases import Case
    from stream.simulation.cases.laws import WindowLaw

__all__ = ["FAILED", "test"]

FAILED: Final = 1
"""Exit code where a test came out otherwise than it was expected."""


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option("--verbose", "-v", is_flag=True, help="Show what came out of tests that pass, too.")
@JSON_LINES
def test(files: tuple[Path, ...], *, verbose: bool, as_json: bool) -> None:
    """Try alarms on made-up counts or events: do they fire as expected?

    FILE names a configuration, what goes into its alarms, and how likely they are to fire. No
    ledger is opened and nothing is spent. What is shown holds exact counts of what went in: make
    it up. Ends with 1 where a test fails.
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
        click.echo(summary(tests, failed, errors))
    leave(BAD_INPUT if errors else FAILED if failed else 0)


def _outcomes(path: Path, *, verbose: bool, as_json: bool) -> Iterator[str]:
    """Try a file, or standard input where its name is ``-``; say and yield what comes of it."""
    given = click.get_binary_stream("stdin").read() if str(path) == "-" else None
    read = read_cases(path, environ=os.environ, given=given)
    laws: dict[str, WindowLaw] = {}
    for error in read.errors:
        _complain(error, as_json=as_json)
        yield "error"
    for case in read.cases:
        try:
            _refuse_strange(case)
            verdict = judged(case, laws)
        except TocsinError as error:
            _complain(_placed(error, case), as_json=as_json)
            yield "error"
            continue
        if as_json:
            echo_json(verdict_json(verdict))
        else:
            for line in lines_of(verdict, verbose=verbose):
                click.echo(line)
            if not verdict.passed:
                say_read(verdict.read)
        yield "passed" if verdict.passed else "failed"


def _refuse_strange(case: Case) -> None:
    """Refuse files of events that cannot be read at all, or are given twice."""
    for paths in case.paths.values():
        for path in paths:
            refuse_strange(path)
    refuse_twice(case.paths)


def _placed(error: TocsinError, case: Case) -> TocsinError:
    """Return an error at the test that it is about, where it has no position of its own."""
    if isinstance(error, ConfigError) and error.line:
        return error
    return case.place.error(error.message, error.hint)


def _complain(error: TocsinError, *, as_json: bool) -> None:
    if as_json:
        echo_json(diagnostic_json(error, "error"))
    else:
        complain(error)
