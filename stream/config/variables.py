"""What stands for a value outside the configuration: an environment variable, or a small file.

Files are how Docker, Compose, Kubernetes and systemd hand over secrets. What one held is in the
value and nowhere else: errors name its path and repeat the reference as it is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stream.config.reading import read_whole

__all__ = ["REFERENCE", "SecretFileError", "read_secret"]

REFERENCE: Final = re.compile(
    r"\$\$\{"
    r"|\$\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|file:(?P<path>[^}]+)\}"
    r"|(?:[A-Za-z_][A-Za-z0-9_]*:-|file:)[^}]*+\Z)?"
)
"""``${NAME}``, ``${NAME:-default}``, ``${file:PATH}``, ``$${``; of anything else just ``${``.

One that is never closed takes the rest: nothing in it is read once more for every other.
"""

_MOST_BYTES: Final = 64 * 1024
"""More is no password, token or key: somebody named the wrong file."""


class SecretFileError(Exception):
    """A file cannot be put in; the text says why, and nothing of what it holds."""


def read_secret(folder: Path, path: str) -> str:
    """Return the text of a file, without the newline at its end.

    Args:
        folder: where a relative path begins.
        path: as it is written.

    Raises:
        SecretFileError: it is missing, may not be read, is empty, too long or not UTF-8 text.
    """
    try:
        place = folder / Path(path).expanduser()
        if place.stat().st_size > _MOST_BYTES:
            raise SecretFileError("is longer than 64 KiB")
        given = read_whole(place)
    except (OSError, RuntimeError, ValueError) as error:  # no such home; a zero byte in the path
        reason = getattr(error, "strerror", None) or "not a path"
        raise SecretFileError(f"cannot be read: {reason}") from error
    try:
        text = given.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SecretFileError("is not UTF-8 text") from error
    text = text.removesuffix("\n").removesuffix("\r")
    if "\0" in text:
        raise SecretFileError("is not UTF-8 text")
    if not text:
        raise SecretFileError("is empty")
    return text
