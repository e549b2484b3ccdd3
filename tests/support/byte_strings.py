"""Byte strings laid out to be hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from stream.events.hashing import ByteStrings

if TYPE_CHECKING:
    from collections.abc import Sequence


def byte_strings(values: Sequence[bytes]) -> ByteStrings:
    """Lay out a list of byte strings."""
    return ByteStrings.from_arrow(pa.array(values, pa.binary()))
