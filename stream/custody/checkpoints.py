"""Checkpoints at the command line: entries of a ledger that the custodian noted elsewhere.

A checkpoint is ``NUMBER:HASH``; who noted one is shown every later change of what came up to it.
"""

from __future__ import annotations

from accountant.errors import ConfigError
from accountant.log.entries import Head
from accountant.log.entries import read_checkpoint as read

__all__ = ["read_checkpoint"]


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
