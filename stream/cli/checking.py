"""What ``check`` and ``plan`` share: several files, standard input, findings and verdicts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from accountant.errors import BudgetError, ConfigError
from stream.cli.shared import (
    BAD_INPUT,
    complain,
    diagnostic_json,
    echo_json,
    say_warned,
    say_where,
)
from stream.config.loading import examine
from stream.planning.checks import objections, often_false

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.config.loading import Report
    from stream.planning.checks import Objection

__all__ = ["FILES", "Examined", "examined", "placed", "worst"]

FILES: Final = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
"""Type of the FILE arguments: ``-`` is standard input, and relative paths in it start here."""

_STANDARD: Final = "-"
_DOES_NOT_FIT: Final = BudgetError.exit_code


@dataclass(frozen=True, slots=True)
class Examined:
    """One file, and what there is to say of it.

    Args:
        file: as the user named it.
        report: what checking found.
        objected: why it is not to be run as it is, at its places in the file; by kind.
    """

    file: str
    report: Report
    objected: tuple[tuple[Objection, ConfigError], ...]

    @property
    def exit_code(self) -> int:
        """0, 2 where it cannot be used, or 3 where it is not to be run as it is."""
        if self.report.alarms is None or self.report.errors:
            return BAD_INPUT
        return _DOES_NOT_FIT if self.objected else 0

    def say(self, *, warnings: bool = False, as_json: bool = False) -> None:
        """Write every finding: as sentences on standard error, or as lines on standard output.

        Args:
            warnings: each of them; else how many there are.
            as_json: as lines.
        """
        for level, error in self._diagnostics():
            if as_json:
                echo_json(diagnostic_json(error, level))
            elif warnings or level != "warning":
                complain(error, kind=level)
        if not (warnings or as_json):
            say_warned(self.file, len(self.report.warnings))
        if self.exit_code and not as_json:
            bad = self.exit_code == BAD_INPUT
            say_where(ConfigError("", file=self.file) if bad else BudgetError(""))

    def verdict(self) -> dict[str, object]:
        """Return one object about the whole file."""
        words = {0: "ok", BAD_INPUT: "bad", _DOES_NOT_FIT: "refused"}
        return {
            "record": "verdict",
            "file": self.file,
            "verdict": words[self.exit_code],
            "exit_code": self.exit_code,
            "errors": len(self.report.errors),
            "warnings": len(self.report.warnings),
            "refused": [
                {"alarm": one.alarm, "kind": one.kind.value, "message": one.message}
                for one, _ in self.objected
            ],
        }

    def _diagnostics(self) -> Iterator[tuple[str, ConfigError]]:
        report = self.report
        for level, errors in (
            ("warning", report.warnings),
            ("note", (*report.notes, *report.open)),
            ("error", report.errors),
            ("error", tuple(error for _, error in self.objected)),
        ):
            for error in errors:
                yield level, error


def examined(path: Path, *, locked: bool = False) -> Examined:
    """Examine a file, or standard input where its name is ``-``.

    Args:
        path: of the file.
        locked: whether it is an error that the file leaves something to a lock that does not say.
    """
    given = click.get_binary_stream("stdin").read() if str(path) == _STANDARD else None
    report = examine(path, environ=os.environ, given=given)
    if locked and report.open:
        report = replace(report, errors=(*report.errors, *report.open), open=())
    objected = () if report.alarms is None else objections(report.alarms)
    if report.alarms is not None:
        warned = placed(report, often_false(report.alarms))
        report = replace(report, warnings=(*report.warnings, *warned))
    return Examined(str(path), report, tuple(zip(objected, placed(report, objected), strict=True)))


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


def worst(files: list[Examined]) -> int:
    """Return the exit code of several files: a bad one says more than one that does not fit."""
    codes = {one.exit_code for one in files}
    return next((code for code in (BAD_INPUT, _DOES_NOT_FIT) if code in codes), 0)
