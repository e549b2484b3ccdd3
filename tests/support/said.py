"""A log that can be read back."""

from __future__ import annotations

import io
import json
from typing import Any

from stream.logs.lines import Log
from stream.logs.settings import Form, Level, LogSettings


class Said:
    """A log of JSON lines, and what was said on it.

    Args:
        level: of the log.
        form: of its lines, where they are to be read as text.
    """

    def __init__(self, level: Level = Level.INFO, form: Form = Form.JSON) -> None:
        self._stream = io.StringIO()
        self.log = Log(self._stream, LogSettings(level, form))

    @property
    def text(self) -> str:
        """All of it."""
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What each line says, without the time."""
        found = [json.loads(line) for line in self.text.splitlines()]
        return [{name: line[name] for name in line if name != "timestamp"} for line in found]

    @property
    def events(self) -> list[str]:
        """The sentence of each line."""
        return [line["event"] for line in self.lines]
