"""What ``check``, ``plan``, ``lock`` and ``test`` share: which files, and their diagnostics."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from accountant.errors import BudgetError, ConfigError
from stream.cli.shared import BAD_INPUT, FILE, complain, objected, say_warned, say_where
from stream.config.loading import examine
from stream.planning.checks import often_false

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from stream.config.loading import Report
    from stream.model.alarms import Alarms
    from stream.planning.checks import Objection

__all__ = ["FILES", "Examined", "examined", "placed"]

FILES: Final = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=FILE,
)
"""Files to look at."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One file, and what there is to say of it.

    Args:
        file: as the user named it.
        alarms: the configuration; ``None`` where it has an error.
        objected: why it is not to be run as it is.
        diagnostics: all that is found, at its place in the file, by level: ``warning``, ``note``
            and ``error``, the objections last.
    """

    file: str
    alarms: Alarms | None
    objected: Sequence[Objection]
    diagnostics: Mapping[str, Sequence[ConfigError]]

    @property
    def errors(self) -> int:
        """For how many errors it cannot be used; objections are not among them."""
        return len(self.diagnostics["error"]) - len(self.objected)

    @property
    def exit_code(self) -> int:
        """0, 2 where it cannot be used, or 3 where it is not to be run as it is."""
        if self.errors:
            return BAD_INPUT
        return BudgetError.exit_code if self.objected else 0

    def say(self, *, warnings: bool = False, as_json: bool = False) -> None:
        """Write every diagnostic, as :func:`complain` does.

        Args:
            warnings: each of them; else how many there are.
            as_json: as there; the section of the documentation is left out.
        """
        for level, errors in self.diagnostics.items():
            for error in errors if warnings or level != "warning" else ():
                complain(error, kind=level, as_json=as_json)
        if not warnings:
            say_warned(self.file, len(self.diagnostics["warning"]))
        if self.exit_code and not as_json:
            say_where(ConfigError("", file=self.file) if self.errors else BudgetError(""))


def examined(path: Path, *, locked: bool = False) -> Examined:
    """Examine a file.

    Args:
        path: of the file.
        locked: whether it is an error that the file leaves something to a lock that does not say.
    """
    report = examine(path, environ=os.environ)
    alarms = report.alarms
    refused = () if alarms is None else objected(path, alarms)
    warned = () if alarms is None else often_false(alarms)
    errors, notes = report.errors, report.notes
    if locked:
        errors += report.open
    else:
        notes += report.open
    diagnostics = {
        "warning": [*report.warnings, *placed(report, warned)],
        "note": notes,
        "error": [*errors, *placed(report, refused)],
    }
    return Examined(str(path), alarms, refused, diagnostics)


def placed(report: Report, objected: Iterable[Objection]) -> list[ConfigError]:
    """Return objections at the places of their alarms in the file."""
    if (document := report.document) is None:
        return []
    return [
        document.place(("alarms", one.alarm), key=True).error(
            f"{one.alarm}: {one.message}", one.hint
        )
        for one in objected
    ]
