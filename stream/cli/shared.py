"""What every command shares: reading the configuration, errors as text, JSON lines.

Deliberate errors end a command with their exit code and their text on standard error, without a
traceback. Standard output holds results only.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from accountant.errors import ArgumentError, BudgetError, ConfigError, LedgerError, TocsinError
from stream.config.loading import examine
from stream.logs.clients import redirect
from stream.logs.lines import Log
from stream.planning.checks import Objections, objections
from stream.planning.locking import fits_anew
from stream.planning.shown import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accountant.budget.plan import BudgetPlan
    from accountant.ledger.ledger import Ledger
    from stream.logs.settings import LogSettings
    from stream.model.alarms import Alarms
    from stream.planning.checks import Objection

__all__ = [
    "BAD_INPUT",
    "FILE",
    "agreed",
    "chosen_alarms",
    "complain",
    "complaining",
    "echo_json",
    "echo_lines",
    "leave",
    "leave_as_worst",
    "load_alarms",
    "log_of",
    "note",
    "objected",
    "open_existing_ledger",
    "refuse_errors",
    "refuse_found",
    "refuse_objected",
    "say",
    "say_awaited",
    "say_warned",
    "say_where",
    "write_text",
]

BAD_INPUT = 2
"""Exit code of a command that found what it complains about."""
FILE = click.Path(path_type=Path, dir_okay=False)
"""Type of what names a file; whether a configuration can be read is said by its own errors."""

_SQLITE = "sqlite:///"


@contextmanager
def complaining(ctx: click.Context) -> Iterator[None]:
    """End the command with the text and the exit code of a deliberate error.

    Raises:
        click.exceptions.Exit: with that exit code.
    """
    try:
        yield
    except ArgumentError:  # nobody typed it: a mistake in Tocsin, named by its place
        raise
    except TocsinError as error:
        complain(error)
        say_where(error)
        ctx.exit(error.exit_code)


def complain(error: TocsinError, *, kind: str = "error", as_json: bool = False) -> None:
    """Write an error or a warning: to standard error, or as one object to standard output."""
    place = error if isinstance(error, ConfigError) else ConfigError("")
    if as_json:
        echo_json(
            {
                "record": "finding",
                "file": place.file,
                "line": place.line,
                "column": place.column,
                "level": kind,
                "message": error.message,
                "hint": error.hint,
            }
        )
        return
    placed = place.file and kind == "error"
    say(str(error) if placed else f"{kind}: {error}")


def say_where(error: TocsinError) -> None:
    """Name the section of the documentation about an error, on standard error."""
    typed = isinstance(error, ConfigError) and not error.file  # an argument, not a file
    if error.see and not typed:
        say(f"  see: {error.see}")


def say(text: str) -> None:
    """Write a line to standard error."""
    click.echo(text, err=True)


def note(text: str) -> None:
    """Write what somebody should know, and need do nothing about, to standard error."""
    say(f"note: {text}")


def agreed(question: str, *, yes: bool, default: bool = False) -> None:
    """Ask, unless it was answered by an option.

    Raises:
        click.Abort: the answer is no.
    """
    if not yes:
        click.confirm(question, abort=True, default=default, err=True)


def refuse_found(problems: Sequence[str]) -> None:
    """End the command where it found problems; they are written to standard error."""
    for problem in problems:
        say(problem)
    if problems:
        leave(BAD_INPUT)


def leave(code: int) -> NoReturn:
    """End the command with an exit code."""
    click.get_current_context().exit(code)


def leave_as_worst(codes: Iterable[int]) -> NoReturn:
    """End the command with the exit code of several files: bad input before what does not fit."""
    leave(min(filter(None, codes), default=0))


def log_of(settings: LogSettings) -> Log:
    """Return the log of a process that has no end; what its clients say goes there, too."""
    log = Log(sys.stderr, settings)
    redirect(log)
    return log


def echo_json(record: Mapping[str, Any]) -> None:
    """Write one JSON object as one line."""
    click.echo(json.dumps(record, separators=(",", ":"), ensure_ascii=False))


def echo_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output."""
    for line in lines:
        click.echo(line)


def load_alarms(file: Path, *, quiet: bool = False) -> Alarms:
    """Return a checked configuration; that it has warnings is said on standard error.

    Args:
        file: as the user named it.
        quiet: leave that out.

    Raises:
        ConfigError: it cannot be used; every error but the last is written before.
    """
    report = examine(file, environ=os.environ)
    if not quiet:
        say_warned(str(file), len(report.warnings))
    if report.alarms is None:
        refuse_errors(report.errors)
    if report.open:
        raise report.open[0]
    return report.alarms


def refuse_errors(errors: Sequence[ConfigError]) -> NoReturn:
    """Refuse a configuration for its errors.

    Raises:
        ConfigError: the last of them; the others are written to standard error.
    """
    for error in errors[:-1]:
        complain(error)
    raise errors[-1]


def say_warned(file: str, warnings: int) -> None:
    """Say that a configuration has warnings, and which command shows them."""
    if warnings:
        note(f"{many(warnings, 'warning')}, shown by: tocsin check {file}")


def say_awaited(alarms: Alarms) -> None:
    """Say which Kafka is waited for: its clients try for half a minute without a word."""
    if alarms.kafka is not None:
        say(f"connecting to Kafka at {alarms.kafka.bootstrap}")


def chosen_alarms(alarms: Alarms, names: Sequence[str]) -> Alarms:
    """Return the configuration with the alarms of some names only; with all where none is given.

    Raises:
        ConfigError: there is none of a name.
    """
    for name in names:
        if name not in alarms.by_name:
            raise ConfigError(
                f"there is no alarm {name!r}", hint=f"write one of: {', '.join(alarms.by_name)}"
            )
    chosen = {name: q for name, q in alarms.by_name.items() if not names or name in names}
    return replace(alarms, by_name=chosen)


def objected(file: Path, alarms: Alarms, plan: BudgetPlan | None = None) -> tuple[Objection, ...]:
    """Return what is objected to, and where it is enough to lock the file again, that first.

    Args:
        file: that the alarms are from.
        alarms: the configuration.
        plan: its budgets; planned here when left out.
    """
    found = objections(alarms, plan)
    if Objections.OVERRUN not in {one.kind for one in found} or not fits_anew(file):
        return found
    hint = f"run `tocsin lock {file}`: all that its lock holds is resolved anew, and fits"
    return tuple(
        replace(one, hint=hint) if one.kind is Objections.OVERRUN else one for one in found
    )


def refuse_objected(file: Path, alarms: Alarms, plan: BudgetPlan) -> None:
    """Refuse to start what ``check`` objects to.

    Raises:
        BudgetError: naming an alarm, why, and what to change.
    """
    found = objected(file, alarms, plan)
    if found:
        first, more = found[0], len(found) - 1
        others = f" (and {more} more, as `tocsin check` shows)" if more else ""
        raise BudgetError(f"{first.alarm!r}: {first.message}{others}", hint=first.hint)


def open_existing_ledger(alarms: Alarms) -> Ledger:
    """Open the ledger of a configuration; a SQLite file that is not there is not made.

    Raises:
        DependencyError: the database cannot be reached.
        LedgerError: there is no such file, or its schema is newer than this version.
    """
    url = alarms.settings.ledger_url
    if url.startswith(_SQLITE) and not os.path.exists(url.removeprefix(_SQLITE)):  # noqa: PTH110  # never raises
        raise LedgerError(
            f"there is no ledger at {url.removeprefix(_SQLITE)}",
            hint="`tocsin run` creates it; check `ledger` in the configuration",
        )
    from stream.build import open_ledger  # noqa: PLC0415  # most commands need no database

    return open_ledger(alarms)


def write_text(path: Path, text: str) -> None:
    """Write a file that others may read, whole or not at all; its folder is made.

    Raises:
        ConfigError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}",
            hint="check permissions and free disk space",
        ) from error
