"""Checkpoints at the command line: entries of a ledger that the custodian noted elsewhere.

A checkpoint is ``NUMBER:HASH``; who noted one is shown every later change of what came up to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from accountant.log.entries import Head
from accountant.log.entries import read_checkpoint as read

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_checkpoint", "read_checkpoints"]


def read_checkpoint(text: str) -> Head:
    """Return the number and the hash of a checkpoint.

    Raises:
        ConfigError: it is malformed.
    """
    try:
        return read(text)
    except ValueError:
        raise ConfigError(
            f"{text!r} is not a checkpoint",
            hint="write NUMBER:HASH, as `tocsin ledger FILE status` prints it",
        ) from None


def read_checkpoints(texts: Sequence[str]) -> dict[int, bytes]:
    """Return checkpoints by number.

    Raises:
        ConfigError: one is malformed, or two name one entry with different hashes.
    """
    noted: dict[int, bytes] = {}
    for number, digest in map(read_checkpoint, texts):
        if noted.setdefault(number, digest) != digest:
            raise ConfigError(
                f"two checkpoints give different hashes for entry {number}",
                hint="check where both come from: one is of another ledger, or was changed",
            )
    return noted
