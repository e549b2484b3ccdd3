"""What every command shares: reading the configuration, errors as text, JSON lines.

Deliberate errors end a command with their exit code and their text on standard error, without a
traceback. Standard output holds results only.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accountant.errors import BudgetError, ConfigError, LedgerError, TocsinError
from stream.config.loading import examine
from stream.model.references import feeds_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.budget.plan import BudgetPlan
    from stream.model.alarms import Alarms

__all__ = [
    "BAD_INPUT",
    "CONFIG",
    "complain",
    "complaining",
    "echo_json",
    "load_alarms",
    "paths_by_feed",
    "refuse_hopeless",
    "require_ledger_file",
]

BAD_INPUT = 2
"""Exit code of a command that found what it complains about."""
CONFIG = click.Path(path_type=Path, dir_okay=False)
"""Type of the FILE argument; whether it can be read is said by the configuration's own errors."""

_SQLITE = "sqlite:///"


@contextmanager
def complaining(ctx: click.Context) -> Iterator[None]:
    """End the command with the text and the exit code of a deliberate error.

    Raises:
        click.exceptions.Exit: with that exit code.
    """
    try:
        yield
    except TocsinError as error:
        complain(error)
        ctx.exit(error.exit_code)


def complain(error: TocsinError, *, kind: str = "error") -> None:
    """Write an error or a warning to standard error."""
    placed = isinstance(error, ConfigError) and error.file
    click.echo(str(error) if placed and kind == "error" else f"{kind}: {error}", err=True)


def echo_json(record: Mapping[str, Any]) -> None:
    """Write one JSON object as one line."""
    click.echo(json.dumps(record, separators=(",", ":"), ensure_ascii=False))


def load_alarms(file: Path, *, quiet: bool = False, notes: bool = False) -> Alarms:
    """Return a checked configuration; its warnings go to standard error.

    Args:
        file: as the user named it.
        quiet: leave the warnings out.
        notes: say what was chosen in the author's place, too, and take alarms that are only wanted:
            for commands that run none.

    Raises:
        ConfigError: it cannot be used; every error but the last is written before.
    """
    report = examine(file, environ=os.environ)
    if not quiet:
        for warning in report.warnings:
            complain(warning, kind="warning")
    if notes:
        for note in (*report.notes, *report.open):
            complain(note, kind="note")
    if report.alarms is None:
        for error in report.errors[:-1]:
            complain(error)
        raise report.errors[-1]
    if report.open and not notes:
        raise report.open[0]
    return report.alarms


def paths_by_feed(alarms: Alarms, given: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files of each feed from ``PATH`` and ``FEED=PATH``.

    Raises:
        ConfigError: a path names no feed where there are several, or no file.
    """
    feeds = [feed.name for feed in feeds_in_use(alarms)] or list(alarms.feeds)
    found: dict[str, list[Path]] = {}
    for text in given:
        name, separator, path = text.partition("=")
        if not separator or name not in alarms.feeds:
            if len(feeds) > 1:
                raise ConfigError(
                    f"{text!r} does not say which feed it holds",
                    hint=f"write FEED=PATH, FEED being one of {', '.join(feeds)}",
                )
            name, path = feeds[0], text
        if not Path(path).is_file():
            raise ConfigError(f"{path}: no such file", hint="check the path")
        found.setdefault(name, []).append(Path(path))
    return found


def refuse_hopeless(plan: BudgetPlan) -> None:
    """Refuse to start where a budget does not hold one window of every alarm on it.

    Raises:
        BudgetError: naming the budget and what to change.
    """
    for scope in plan.scopes:
        alone = [alarm.query for alarm in scope.alarms if alarm.windows_fit == 0]
        if not alone and scope.windows_fit != 0:
            continue
        which = f"of {', '.join(map(repr, alone))}" if alone else "of every alarm together"
        raise BudgetError(
            f"budget {scope.terms.scope!r} does not hold one window {which}",
            hint=scope.suggestion or "raise epsilon_max, max_fnr or the tolerance",
        )


def require_ledger_file(alarms: Alarms) -> None:
    """Refuse to look at a SQLite ledger that does not exist, instead of making an empty one.

    Raises:
        LedgerError: there is no such file.
    """
    url = alarms.settings.ledger_url
    if url.startswith(_SQLITE) and not Path(url.removeprefix(_SQLITE)).exists():
        raise LedgerError(
            f"there is no ledger at {url.removeprefix(_SQLITE)}",
            hint="`tocsin run` makes it; check `ledger` in the configuration",
        )
