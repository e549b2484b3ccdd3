"""Texts to be hashed and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from stream.events.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Sequence


def texts_of(values: Sequence[bytes]) -> Texts:
    """A column of some texts."""
    return Texts.of(pa.array(values, pa.binary()))
