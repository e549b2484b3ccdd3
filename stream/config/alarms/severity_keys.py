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
    max_fnr: Probability | None = None
    max_fpr: Probability | None = None
    tolerance: Exact | None = None
