"""Files that only their owner may read, written whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from accountant.errors import ConfigError
from accountant.store.files import written_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["check_output", "private_file", "write_private"]


def check_output(path: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written to, before hours of work go into it.

    Args:
        path: the file to write.
        force: whether an existing file may be replaced.

    Raises:
        ConfigError: it exists, is a folder or `-`, or its folder does not exist or cannot be
            written to.
    """
    if path.is_dir() or str(path) == "-":
        raise ConfigError(f"{path} is not a file", hint="write the name of a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(
            f"{path.parent} is not a writable folder", hint="create it, or write another path"
        )
    if os.path.lexists(path) and not force:
        raise _exists(path)


def write_private(path: Path, text: str, *, force: bool) -> None:
    """Write a new text file as :func:`private_file` does.

    Args:
        path: the file.
        text: what it will hold, in UTF-8.
        force: replace a file that exists.

    Raises:
        ConfigError: it exists, or cannot be written.
    """
    with private_file(path, force=force) as file:
        file.write(text.encode())


@contextmanager
def private_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a new file with mode 0600; it is there once the block has ended without an error.

    Args:
        path: the file; a symbolic link is replaced, never followed.
        force: replace a file that exists.

    Raises:
        ConfigError: it exists, or cannot be written.
    """
    try:
        with written_whole(path, force=force) as file:
            yield file
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}",
            hint="check permissions and free disk space",
        ) from error


def _exists(path: Path) -> ConfigError:
    return ConfigError(f"{path} exists", hint="write another name, or add --force to replace it")
