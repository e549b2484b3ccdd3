"""What checking a configuration collects: errors, warnings and notes, each at its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.errors import ConfigError
    from stream.config.yamlfile import Document, Loc

__all__ = ["Findings"]


@dataclass(frozen=True, slots=True)
class Findings:
    """One configuration file under examination.

    Args:
        document: the file.
        folder: what its relative paths start from.
        errors: why it cannot be used.
        warnings: what its author may not have meant.
        notes: what was chosen in its author's place, and why.
        open: why it can be checked and planned, but not be run.
    """

    document: Document
    folder: Path
    errors: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)
    notes: list[ConfigError] = field(default_factory=list)
    open: list[ConfigError] = field(default_factory=list)

    def wrong(
        self,
        loc: Loc,
        message: str,
        hint: str = "",
        *,
        key: bool = False,
        offset: int | None = None,
    ) -> None:
        """Note an error at a value (see ``Document.error``)."""
        self.errors.append(self.document.error(loc, message, hint, key=key, offset=offset))

    def warn(self, loc: Loc, message: str, hint: str = "", *, offset: int | None = None) -> None:
        """Note a warning at a value."""
        self.warnings.append(self.document.error(loc, message, hint, offset=offset))

    def note(self, loc: Loc, message: str) -> None:
        """Note what was chosen at a value."""
        self.notes.append(self.document.error(loc, message))

    def leave_open(self, loc: Loc, message: str, hint: str) -> None:
        """Note at a key that something is left to be found."""
        self.open.append(self.document.error(loc, message, hint, key=True))
