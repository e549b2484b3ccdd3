"""What was sent, what came of it, and what is wrong with that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Way", "wrong"]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Way:
    """One way from a sender to a receiver.

    Args:
        name: in words.
        sent: what has to arrive, and when it was sent, in seconds.
        arrivals: what arrived, each copy, and when.
    """

    name: str
    sent: dict[str, float]
    arrivals: list[tuple[str, float]] = field(default_factory=list)

    @property
    def lost(self) -> list[str]:
        """What never arrived."""
        return sorted(self.sent.keys() - self.firsts())

    @property
    def unsent(self) -> list[str]:
        """What arrived though nobody had sent it."""
        return sorted(self.firsts().keys() - self.sent.keys())

    @property
    def copies(self) -> int:
        """How many arrivals were not the first of their kind."""
        return len(self.arrivals) - len(self.firsts())

    def firsts(self) -> dict[str, float]:
        """Return what arrived, and when it did so first."""
        found = {}
        for what, at_s in self.arrivals:
            found[what] = min(at_s, found.get(what, at_s))
        return found

    def delays_s(self) -> list[float]:
        """Return how long each took to arrive first, shortest first."""
        # A receiver may have it before its sender hears that it was taken.
        return sorted(
            max(0.0, at_s - self.sent[what])
            for what, at_s in self.firsts().items()
            if what in self.sent
        )


def wrong(way: Way) -> Iterator[str]:
    """Yield what was promised of a way and does not hold: a sentence each."""
    if not way.sent:
        yield f"{way.name}: nothing was sent"
    for what, found in (("never arrived", way.lost), ("arrived unsent", way.unsent)):
        if found:
            yield f"{way.name}: {len(found)} {what}: {', '.join(found[:_SHOWN])}"
