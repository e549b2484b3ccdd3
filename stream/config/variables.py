"""What stands for a value outside the configuration: an environment variable, or a small file.

Files are how Docker, Compose, Kubernetes and systemd hand over secrets. What one held is in the
value and nowhere else: errors name its path and repeat the reference as it is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from stream.config.reading import read_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REFERENCE", "value_of"]

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


def value_of(match: re.Match[str], environ: Mapping[str, str], folder: Path) -> str:
    """Return what is put in for a reference.

    Args:
        match: of ``REFERENCE``, and not ``$${``.
        environ: environment variables.
        folder: where a relative path of a file begins.

    Raises:
        ConfigError: there is nothing to put in; what a file holds is not in it.
    """
    name, default, path = match["name"], match["default"], match["path"]
    if path is not None:
        return _text_of(folder, path)
    if name is None:
        hint = "write ${NAME}, ${NAME:-default} or ${file:PATH}; $${ for a plain ${"
        raise ConfigError("`${` is not followed by the name of a variable", hint=hint)
    if default is not None:
        return environ.get(name) or default
    if name not in environ:
        hint = f"set {name}, or write ${{{name}:-default}}"
        raise ConfigError(f"the environment variable {name} is not set", hint=hint)
    return environ[name]


def _text_of(folder: Path, path: str) -> str:
    """Return the text of a file, without the newline at its end."""

    def refused(problem: str) -> ConfigError:
        hint = "write the value into it; a relative path starts at this file's folder"
        return ConfigError(f"the file {path} {problem}", hint=hint)

    try:
        place = folder / Path(path).expanduser()
        if place.stat().st_size > _MOST_BYTES:
            raise refused("is longer than 64 KiB")
        text = read_whole(place).decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = "\0"
    except (OSError, RuntimeError, ValueError) as error:  # no such home; a zero byte in the path
        reason = getattr(error, "strerror", None) or "not a path"
        raise refused(f"cannot be read: {reason}") from error
    if not text or "\0" in text:
        raise refused("is not UTF-8 text" if text else "is empty")
    return text
