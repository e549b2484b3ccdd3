"""Opening the files of a configuration: what would never end, or never begin, is refused."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_whole"]

_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
)
_GIVEN: Final = ("/dev/stdin", "/dev/fd/", "/proc/")  # what a shell hands over, as in <(command)


def read_whole(path: Path) -> bytes:
    """Return a file's bytes.

    Args:
        path: a regular file, or what a shell has connected.

    Raises:
        OSError: it cannot be read; or is a pipe, a socket or a device, whose end may never come.
    """
    mode = path.stat().st_mode
    if not str(path).startswith(_GIVEN):
        for is_so, reason in _KINDS:
            if is_so(mode):
                raise OSError(errno.EINVAL, reason)
    return path.read_bytes()
