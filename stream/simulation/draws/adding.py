"""Tallies that add up, field by field."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Adding"]


class Adding:
    """What came of some draws: a dataclass with slots, of numbers, counters and others like it."""

    __slots__ = ()

    def add(self, other: Self) -> None:
        """Add what came of other draws."""
        names: Iterable[str] = self.__slots__
        for name in names:
            own, more = getattr(self, name), getattr(other, name)
            if isinstance(own, Adding):
                own.add(more)
            elif isinstance(own, Counter):
                own.update(more)
            elif isinstance(own, dict):
                for key, one in more.items():
                    own.setdefault(key, type(one)()).add(one)
            else:
                setattr(self, name, own + more)
