"""Changes of a configuration that make its budget carry it, and which of them is recommended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Change", "ChangeKind", "recommended"]


class ChangeKind(StrEnum):
    """What is changed."""

    TOLERANCE = "tolerance"
    MAX_FNR = "max_fnr"
    MECHANISM = "mechanism"
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
        poor: why an alarm would be of little use after it, in words; empty where it would not.
    """

    kind: ChangeKind
    alarms: tuple[str, ...]
    values: Mapping[str, str]
    amount: float
    poor: str = ""

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
        poor = f" (poor: {self.poor})" if self.poor else ""
        return f"{self.kind.value}: {written}{poor}"


def recommended(changes: Sequence[Change]) -> Change | None:
    """Return the smallest change that leaves useful alarms; a larger ``epsilon_max`` at worst.

    A change after which an alarm is poor is never recommended: who wants it finds it in the table.
    """
    useful = [change for change in changes if change.possible and not change.poor]
    return min(
        useful,
        key=lambda change: (change.kind is ChangeKind.EPSILON_MAX, change.amount),
        default=None,
    )
