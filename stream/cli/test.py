"""``tocsin test``: unit tests of alarms."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from accountant.errors import ConfigError, TocsinError
from stream.cli.gate import FILES
from stream.cli.given import refuse_strange, refuse_twice
from stream.cli.options import JSON_LINES
from stream.cli.shared import BAD_INPUT, FILE, complain, echo_json, finding_json
from stream.cli.surveying import say_read
from stream.cli.verdicts import junit, lines_of, summary, verdict_json
from stream.config.cases.reading import read_cases
from stream.simulation.cases.judging import judged
from stream.simulation.outputs import check_output, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.cases.cases import Case
    from stream.simulation.cases.judging import Verdict
    from stream.simulation.cases.laws import WindowLaw

__all__ = ["FAILED", "test"]

FAILED: Final = 1
"""Exit code where a test came out otherwise than it was expected."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One file of tests, tried.

    Args:
        file: as the user named it.
        verdicts: of the tests that could be tried.
        errors: why others could not.
    """

    file: str
    verdicts: tuple[Verdict, ...]
    errors: tuple[TocsinError, ...]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option("--verbose", "-v", is_flag=True, help="Show what came out of tests that pass, too.")
@JSON_LINES
@click.option(
    "--junit",
    "report",
    type=FILE,
    metavar="PATH",
    help="Write a report in JUnit's XML, too.",
)
@click.option("--force", is_flag=True, help="Replace the report if it exists.")
def test(
    files: tuple[Path, ...], *, verbose: bool, as_json: bool, report: Path | None, force: bool
) -> None:
    """Try alarms on made-up counts or events: do they ring as expected?

    FILE names a configuration, what goes into its alarms, and how likely they are to ring. No
    ledger is opened and nothing is spent. What is shown holds exact counts of what went in: make
    it up. Ends with 1 where a test fails.
    """
    if report is not None:
        check_output(report, force=force)
    several, found = len(files) > 1, []
    for path in files:
        tried = _tried(path, several=several, verbose=verbose, as_json=as_json)
        found.append(tried)
    verdicts = [verdict for tried in found for verdict in tried.verdicts]
    errors = sum(len(tried.errors) for tried in found)
    failed = sum(not verdict.passed for verdict in verdicts)
    if report is not None:
        text = junit((tried.file, tried.verdicts, tried.errors) for tried in found)
        write_private(report, text, force=force)
    if as_json:
        echo_json({"record": "summary", "tests": len(verdicts), "failed": failed, "errors": errors})
    else:
        click.echo(summary(len(verdicts), failed, errors))
    click.get_current_context().exit(BAD_INPUT if errors else FAILED if failed else 0)


def _tried(path: Path, *, several: bool, verbose: bool, as_json: bool) -> Tried:
    """Try a file, or standard input where its name is ``-``, and say what comes of it."""
    given = click.get_binary_stream("stdin").read() if str(path) == "-" else None
    read = read_cases(path, environ=os.environ, given=given)
    verdicts: list[Verdict] = []
    errors: list[TocsinError] = []
    laws: dict[str, WindowLaw] = {}
    if several and not as_json:
        click.echo(f"{path}:")
    for error in read.errors:
        _complain(error, as_json=as_json)
    for case in read.cases:
        try:
            _refuse_strange(case)
            verdict = judged(case, laws)
        except TocsinError as error:
            errors.append(_placed(error, case))
            _complain(errors[-1], as_json=as_json)
            continue
        verdicts.append(verdict)
        if as_json:
            echo_json(verdict_json(verdict))
            continue
        for line in lines_of(verdict, verbose=verbose):
            click.echo(line)
        if not verdict.passed:
            say_read(verdict.read)
    return Tried(str(path), tuple(verdicts), (*read.errors, *errors))


def _refuse_strange(case: Case) -> None:
    """Refuse files of events that cannot be read at all, or are given twice."""
    for paths in case.paths.values():
        for path in paths:
            refuse_strange(path)
    refuse_twice(case.paths)


def _placed(error: TocsinError, case: Case) -> TocsinError:
    """Return an error at the test that it is about, where it has no place of its own."""
    if isinstance(error, ConfigError) and error.line:
        return error
    return case.place.error(error.message, error.hint)


def _complain(error: TocsinError, *, as_json: bool) -> None:
    if as_json:
        echo_json(finding_json(error, "error"))
    else:
        complain(error)
