"""What a file is, whatever it is called: a digest of its bytes.

The identity of a replay is the content of its files: renaming the feed, the topic, the alarm or the
file gives no fresh budget for the same events. What a digest does not notice: the same rows in
other bytes, as sorted otherwise, compressed anew or as another format, and a part of them.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b, file_digest
from typing import TYPE_CHECKING, Final

from accountant.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["digest_of", "digests_of"]

_BYTES: Final = 32
_PERSON: Final = b"tocsin.file"
_hash = partial(blake2b, digest_size=_BYTES, person=_PERSON)


def digest_of(path: Path) -> str:
    """Return what identifies the content of a file, reading it piece by piece.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file_digest(file, _hash).hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint="check the path") from None


def digests_of(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Return files and their digests; an empty one holds nobody's events, and is left out.

    Raises:
        DataError: one cannot be read.
    """
    found = ((path, digest_of(path)) for path in paths)
    return [(path, digest) for path, digest in found if digest != _EMPTY]


_EMPTY: Final = _hash().hexdigest()
