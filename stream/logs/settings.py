"""How a process writes its lines: from which level on, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Form", "Level", "LogSettings"]


class Level(StrEnum):
    """How much a line matters, least first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Its place, 0 for the least."""
        return list(Level).index(self)


class Form(StrEnum):
    """What a line looks like."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How a worker writes its lines.

    Args:
        level: the least that is written.
        form: of every line.
    """

    level: Level = Level.INFO
    form: Form = Form.TEXT
