"""One engine of enumeration: every transcript of a mechanism, exactly, and neighbours beside it.

A mechanism is a hidden state with its masses, and what it may answer next, with how likely every
state gives each answer. Masses are numbers of any kind: rationals, floats, or arrays by state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping
    from fractions import Fraction

Said: TypeAlias = "tuple[Hashable, ...]"
Law: TypeAlias = "Mapping[Hashable, Any]"
LEAST = 1e-30
"""Below, what an enumeration cut off could count."""


def transcripts(start: Any, turn: Callable[[Said], Mapping[Hashable, Any]]) -> dict[Hashable, Any]:
    """Return the probability of every transcript.

    Args:
        start: masses of the hidden state.
        turn: what may be answered after a transcript, with how likely every state answers so, or
            with a function that makes new masses of those before; nothing where it ends.
    """
    found, left = {}, [((), start)]
    while left:
        said, mass = left.pop()
        answers = turn(said)
        if not answers:
            found[said] = mass.sum() if hasattr(mass, "sum") else mass
        for answer, likely in answers.items():
            left.append(((*said, answer), likely(mass) if callable(likely) else mass * likely))
    return found


def losses(one: Law, other: Law) -> Iterator[tuple[Any, float]]:
    """Yield the loss of every outcome of two neighbours, either way round."""
    for here, there in ((one, other), (other, one)):
        for said, mass in here.items():
            if mass > LEAST:
                beside = there.get(said, 0)
                yield said, math.log(mass / beside) if beside > 0 else math.inf


def excess(one: Law, other: Law, charge: Callable[[Any], float] = lambda _: 0.0) -> float:
    """Return by how much the worst outcome loses more than it is charged."""
    return max(loss - charge(said) for said, loss in losses(one, other))


def worst_ratio(one: Law, other: Law) -> Fraction | None:
    """Return the greatest ratio of two laws in rationals; ``None`` where it is infinite."""
    if one.keys() != other.keys():
        return None
    return max(max(one[said] / other[said], other[said] / one[said]) for said in one)
