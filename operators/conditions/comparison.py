"""How two values are compared: the one word for it in filters, in HAVING and in tests."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["Comparison"]


class Comparison(StrEnum):
    """A comparison of what stands on its left, as SQL writes it."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> Comparison:
        """What holds of a number exactly where this does not."""
        return _NEGATED[self]

    @property
    def flipped(self) -> Comparison:
        """The same with the sides exchanged."""
        return _FLIPPED.get(self, self)

    @property
    def upward(self) -> bool:
        """Whether it asks for values above the right-hand side rather than below it."""
        return self in {Comparison.GT, Comparison.GE}

    @property
    def strict(self) -> bool:
        """Whether it, ``<`` or ``>``, leaves the right-hand side itself out."""
        return self in {Comparison.GT, Comparison.LT}

    @property
    def after(self) -> bool:
        """Whether its cut lies after its right-hand side c (``>`` and ``<=``), not before it."""
        return self.strict is self.upward


_OPPOSITES: Final = (
    (Comparison.EQ, Comparison.NE),
    (Comparison.LT, Comparison.GE),
    (Comparison.GT, Comparison.LE),
)
_NEGATED: Final = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
_FLIPPED: Final = {
    Comparison.LT: Comparison.GT,
    Comparison.GT: Comparison.LT,
    Comparison.LE: Comparison.GE,
    Comparison.GE: Comparison.LE,
}
