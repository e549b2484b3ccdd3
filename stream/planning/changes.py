"""Changes of a configuration that make its budget carry it, and which of them is recommended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Change", "ChangeKind", "recommended"]

_NEAR_A_COIN = Fraction(1, 4)


class ChangeKind(StrEnum):
    """What is changed."""

    TOLERANCE = "tolerance"
    MAX_FNR = "max_fnr"
    WINDOW = "window"
    ALARMS = "alarms_per_period"
    EPSILON_MAX = "epsilon_max"


@dataclass(frozen=True, slots=True)
class Change:
    """The smallest change of one kind.

    Args:
        kind: what is changed.
        alarms: on which alarms; none for the budget itself.
        values: what to write, by alarm (by budget for ``epsilon_max``); empty when no change of
            this kind is enough.
        amount: by what share of themselves the numbers grow (for ``alarms_per_period``, what they
            were is larger than what is written), added up: the smaller the better.
    """

    kind: ChangeKind
    alarms: tuple[str, ...]
    values: Mapping[str, str]
    amount: float

    @property
    def possible(self) -> bool:
        """Whether there is such a change."""
        return bool(self.values)

    @property
    def text(self) -> str:
        """The change as one sentence."""
        if self.kind is ChangeKind.EPSILON_MAX:
            return f'epsilon_max: "{next(iter(self.values.values()))}"'
        written = ", ".join(f"{alarm} {value}" for alarm, value in self.values.items())
        if len(self.values) > 1 and len(set(self.values.values())) == 1:
            everyone = len(self.values) == len(self.alarms)
            which = "all alarms" if everyone else ", ".join(self.values)
            written = f"{next(iter(self.values.values()))} on {which}"
        return f"{self.kind.value}: {written}"


def recommended(changes: Sequence[Change]) -> Change | None:
    """Return the smallest change; a larger ``epsilon_max`` only where nothing else is enough.

    Before that comes a ``max_fnr`` above 0.25: an alarm that is nearly a coin's toss is of no use.
    """
    possible = [change for change in changes if change.possible]
    return min(possible, key=lambda change: (_last_resort(change), change.amount), default=None)


def _last_resort(change: Change) -> int:
    """Return how unwelcome a change is, however small: 0, 1 or 2."""
    if change.kind is ChangeKind.EPSILON_MAX:
        return 2
    rates = change.values.values() if change.kind is ChangeKind.MAX_FNR else ()
    return int(any(Fraction(rate) > _NEAR_A_COIN for rate in rates))
