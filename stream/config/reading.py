"""Opening the files of a configuration: what would never end, or never begin, is refused."""

from __future__ import annotations

import errno
import stat
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Place", "decoded", "read_whole"]

_GIVEN: Final = ("/dev/stdin", "/dev/fd/", "/proc/")  # what a shell hands over, as in <(command)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands.

    Args:
        file: its name, as the user wrote it.
        line: from 1.
        column: from 1.
    """

    file: str
    line: int = 1
    column: int = 1

    @classmethod
    def within(cls, file: str, text: str, at: int) -> Place:
        """Return the place of a character of a file's text."""
        return cls(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))

    def error(self, message: str, hint: str = "") -> ConfigError:
        """Return what is wrong with it."""
        return ConfigError(message, **asdict(self), hint=hint)


def decoded(held: bytes, file: str) -> str:
    """Return the text of a file.

    Raises:
        ConfigError: it is not UTF-8.
    """
    try:
        return held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = Place.within(file, held.decode("latin-1"), error.start)
        raise place.error("the file is not UTF-8 text", "save it as UTF-8") from error


def read_whole(path: Path) -> bytes:
    """Return a file's bytes.

    Args:
        path: a regular file, or what a shell has connected.

    Raises:
        OSError: it cannot be read; or is a pipe, a socket or a device, whose end may never come.
    """
    try:
        mode = path.stat().st_mode
    except ValueError:  # a zero byte is in no path
        raise OSError(errno.EINVAL, "not a path") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith(_GIVEN)):
        kind = "pipe" if stat.S_ISFIFO(mode) else "device"
        raise OSError(errno.EINVAL, f"a {kind}, not a file")
    return path.read_bytes()
