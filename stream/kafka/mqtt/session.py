"""Which session with the MQTT broker is the MQTT source's: kept beside the buffer.

Whoever knows a session's name may take it over, with all that waits in it, unless the broker binds
names to logins. So one that is not given is drawn at random, once.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from accountant.errors import DependencyError
from operators.noise.source import NoiseSource

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Session"]

_NAME_BYTES: Final = 16
_MADE: Final = "made\n"


class Session:
    """The name of a session, and whether the broker had made it.

    Args:
        path: of the file that keeps both.
        client: the name that is given; empty for one that nobody can guess.

    Raises:
        DependencyError: the file cannot be used.
    """

    def __init__(self, path: Path, client: str) -> None:
        self._path = path
        try:
            lines = path.read_text("utf-8").splitlines() if path.exists() else []
            name = lines[0] if lines else ""
            if not name or name != (client or name):
                name, lines = client or f"tocsin-{NoiseSource().token(_NAME_BYTES).hex()}", []
                _write(path, f"{name}\n")
        except (OSError, UnicodeDecodeError) as error:
            raise DependencyError(
                f"the name of the MQTT session cannot be kept in {path.name}",
                hint="check its folder, its rights and the room on its disk",
            ) from error
        self.client = name
        """What the MQTT source calls itself on the broker."""
        self.made = len(lines) > 1
        """Whether the broker had it before."""

    def keep(self) -> None:
        """Take note that the broker has it; where the disk is full, until the process ends."""
        if not self.made:
            self.made = True
            with suppress(OSError), self._path.open("a", encoding="utf-8") as file:
                file.write(_MADE)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600)
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
