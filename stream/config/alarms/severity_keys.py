"""The keys of one severity level."""

from __future__ import annotations

from typing import ClassVar

from stream.config.closed import Closed
from stream.config.scalars import Exact, Probability, Text  # noqa: TC001  # pydantic reads them

__all__ = ["SeverityModel"]


class SeverityModel(Closed):
    """One severity level: a threshold, and what it promises otherwise than the alarm."""

    short: ClassVar[str] = "threshold"

    threshold: Text
    """a number, or a public table's value: capacity[room]"""
    max_fnr: Probability | None = None
    """of this level; default: the alarm's"""
    max_fpr: Probability | None = None
    """of this level; default: the alarm's"""
    tolerance: Exact | None = None
    """of this level; default: the alarm's"""
