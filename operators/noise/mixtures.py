"""Signed sums of discrete Laplaces of one rate: noise that is read, cut, blurred and read again.

The noise of gradual release is drawn from the finest level to the coarsest, and every further draw
only changes the rate of each Laplace in such a sum. A boundary changes a few weights at its edges.
So the law of a walk over levels is followed exactly, whatever the rates, without a lattice. Floats:
for plans and tests, never for promises (``docs/research/proofs/detection.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from operators.noise.likely import laplace_at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Answer", "Mixture", "Piece", "inside", "intervals", "ring_chance"]

S = TypeVar("S", bound="Hashable")

_LEFT: Final = -(1 << 62)
_RIGHT: Final = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """``f(x) = sum of weight_i P[DLap(rate) = x - centre_i]`` over the integers.

    Args:
        rate: t > 0 of every Laplace.
        centres: shape (n,), int64.
        weights: shape (n,), float64, of any sign.
    """

    rate: float
    centres: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def about(cls, centre: int, rate: float) -> Mixture:
        """Return the law of ``centre`` plus one discrete Laplace."""
        return cls(rate, np.array([centre], dtype=np.int64), np.ones(1))

    @classmethod
    def cut(cls, rate: float, pieces: Sequence[Piece]) -> Mixture:
        """Return the mixture that equals its piece on every interval.

        ``w = (1 + q^2) f(x) - q (f(x - 1) + f(x + 1))`` over ``(1 - q)^2``, q = exp(-rate), gives
        the weights of any summable f; inside an interval they are the piece's own, and at its ends
        they differ by how much the neighbour's value is not the piece's.

        Args:
            rate: of every piece.
            pieces: consecutive intervals that cover the integers.
        """
        found: dict[int, float] = {}
        step = math.exp(-rate) / math.expm1(-rate) ** 2
        for at, piece in enumerate(pieces):
            centres, weights = piece.law.centres, piece.factor * piece.law.weights
            inside = (centres >= piece.start) & (centres < piece.stop)
            for centre, weight in zip(
                centres[inside].tolist(), weights[inside].tolist(), strict=True
            ):
                found[centre] = found.get(centre, 0.0) + weight
            for edge, beyond, other in (
                (piece.start, piece.start - 1, at - 1),
                (piece.stop - 1, piece.stop, at + 1),
            ):
                if 0 <= other < len(pieces):
                    jump = piece.value(beyond) - pieces[other].value(beyond)
                    found[edge] = found.get(edge, 0.0) + step * jump
        return cls(
            rate,
            np.array(list(found), dtype=np.int64),
            np.array(list(found.values()), dtype=np.float64),
        )

    def blurred(self, rate: float) -> Mixture:
        """Return what a step of the chain to a coarser level makes of it.

        Args:
            rate: of the coarser level, the lower one.
        """
        return Mixture(rate, self.centres, self.weights)

    def value(self, x: int) -> float:
        """Return f(x)."""
        masses = np.exp(-self.rate * np.abs(self.centres - x).astype(np.float64))
        return math.tanh(self.rate / 2) * float(self.weights @ masses)

    def between(self, start: int, stop: int) -> float:
        """Return the sum of f from ``start`` to ``stop - 1``."""
        ends = (laplace_at_most(end - 1 - self.centres, self.rate) for end in (stop, start))
        return float(self.weights @ np.subtract(*ends))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A multiple of a mixture on an interval.

    Args:
        start: first integer of the interval.
        stop: the integer after its last.
        factor: what the mixture is multiplied by.
        law: the mixture; of the same rate as those of its neighbours.
    """

    start: int
    stop: int
    factor: float
    law: Mixture

    def value(self, x: int) -> float:
        """Return its multiple of the mixture at any x, as if it went on there."""
        return self.factor * self.law.value(x) if self.factor else 0.0

    def total(self) -> float:
        """Return its sum over the interval."""
        return self.factor * self.law.between(self.start, self.stop) if self.factor else 0.0


def intervals(cuts: Iterable[int]) -> list[tuple[int, int]]:
    """Return the intervals ``[start, stop)`` that cuts make of the integers.

    Args:
        cuts: each the first integer of an interval, within 2^61 of zero.
    """
    ends = sorted(set(cuts))
    return list(zip([_LEFT, *ends], [*ends, _RIGHT], strict=True))


def inside(start: int, stop: int) -> int:
    """Return an integer of such an interval, within 2^61 of zero."""
    return start if stop == _RIGHT else stop - 1


@dataclass(frozen=True, slots=True)
class Answer(Generic[S]):
    """What a walk does where the value it reads lies in ``[start, stop)``.

    Args:
        start: first value.
        stop: the value after the last.
        rings: with which probability it rings there; ``None`` where it goes on to the next level.
        state: what it remembers where it goes on.
    """

    start: int
    stop: int
    rings: float | None
    state: S


def ring_chance(
    rates: Sequence[float],
    at: int,
    answers: Callable[[int, S], list[Answer[S]]],
    state: S,
    *,
    fresh: bool = False,
) -> float:
    """Return the probability that a walk over levels of noise about one value rings.

    From the last level to the first: the mass of noisy values from which a walk that has come so
    far will ring, blurred to the level before, cut there by what is decided there.

    Args:
        rates: of the levels in the order in which they are read, rising.
        at: the value; |at| < 2^61.
        answers: what the walk does at a level, given what it remembers, on consecutive intervals
            that cover the integers; it goes on nowhere at the last one.
        state: what it remembers before the first level.
        fresh: whether every level has noise of its own, instead of one gradual release.
    """
    known: dict[tuple[int, S], list[Piece]] = {}

    def pieces(level: int, before: S) -> list[Piece]:
        if (level, before) not in known:
            known[level, before] = [piece(level, one) for one in answers(level, before)]
        return known[level, before]

    def piece(level: int, one: Answer[S]) -> Piece:
        here = Mixture.about(at, rates[level])
        if one.rings is not None:
            return Piece(one.start, one.stop, one.rings, here)
        onward = pieces(level + 1, one.state)
        if fresh:
            return Piece(one.start, one.stop, sum(each.total() for each in onward), here)
        finer = Mixture.cut(rates[level + 1], onward)
        return Piece(one.start, one.stop, 1.0, finer.blurred(rates[level]))

    return min(1.0, max(0.0, sum(each.total() for each in pieces(0, state))))
