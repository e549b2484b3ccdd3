"""What came of the draws of one alarm; whatever is tallied here is private."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Cells", "Tally"]


class _Adding:
    """A dataclass with slots, of what can be added: numbers, counters, lists."""

    __slots__ = ()

    def __iadd__(self, other: Self) -> Self:
        """Add another one, field by field."""
        names: Iterable[str] = self.__slots__
        for name in names:
            own = getattr(self, name)
            own += getattr(other, name)
            setattr(self, name, own)
        return self


@dataclass(slots=True)
class Cells(_Adding):
    """What was decided of cells; counts add up.

    A cell counts as *true* where its condition holds, as *false* where it does not even hold with
    every literal granted twice its tolerance, else as *uncertain*: there either answer is right.
    Of early alarms, a cell is one of a whole window, and any step at which it held makes it true.

    Args:
        true: true cells.
        missed: those that did not fire.
        false: false cells.
        false_alarms: those that fired.
        uncertain: uncertain cells.
        uncertain_fired: those that fired.
    """

    true: int = 0
    missed: int = 0
    false: int = 0
    false_alarms: int = 0
    uncertain: int = 0
    uncertain_fired: int = 0

    @classmethod
    def of(
        cls, fired: NDArray[np.bool_], true: NDArray[np.bool_], granted: NDArray[np.bool_]
    ) -> Self:
        """Count cells.

        Args:
            fired: any shape, which cells fired.
            true: the same shape, which cells' condition holds.
            granted: the same shape, as ``may_fire``.
        """
        false, uncertain = ~(granted | true), granted & ~true
        kinds = (true, true & ~fired, false, false & fired, uncertain, uncertain & fired)
        return cls(*(int(np.count_nonzero(each)) for each in kinds))


@dataclass(slots=True)
class Tally(_Adding):
    """What came of some replays of one alarm; tallies add up.

    Args:
        windows: of all replays.
        denied: those that a budget denied: what was true of them was missed.
        replays: what was decided in each replay, of cells that were not held.
        unasked: true cells of windows that were denied, or that an SVT run did not answer in full.
        unasked_missed: those that did not fire.
        losses: cells by realised loss, in loss units.
        highest: windows by the loss of the highest-cost cells one unit reaches, in loss units.
        early: of early alarms, true cells that fired before their condition held.
        delays: of early alarms, true cells that fired at or after the first step at which their
            condition held, by how many steps after it.
        severities: names of severity levels, with what was decided at them and at higher ones.
    """

    windows: int = 0
    denied: int = 0
    replays: list[Cells] = field(default_factory=list)
    unasked: int = 0
    unasked_missed: int = 0
    losses: Counter[int] = field(default_factory=Counter)
    highest: Counter[int] = field(default_factory=Counter)
    early: int = 0
    delays: Counter[int] = field(default_factory=Counter)
    severities: list[tuple[str, Cells]] = field(default_factory=list)

    @property
    def cells(self) -> Cells:
        """What was decided of the cells of all replays."""
        found = Cells()
        for each in self.replays:
            found += each
        return found

    def leave(self, fired: NDArray[np.bool_], true: NDArray[np.bool_]) -> None:
        """Count the true cells of windows that were not all asked.

        Args:
            fired: shape (windows, cells), which cells fired (at an earlier step, or asked again).
            true: the same shape, which cells' condition holds, of those that are not held.
        """
        self.unasked += int(np.count_nonzero(true))
        self.unasked_missed += int(np.count_nonzero(true & ~fired))

    def charge(self, units: NDArray[np.int64], reached: int) -> None:
        """Count the realised losses of windows.

        Args:
            units: shape (windows, cells), in loss units.
            reached: cells that one privacy unit reaches.
        """
        left_out = max(0, units.shape[1] - reached)
        highest = np.partition(units, left_out, axis=1)[:, left_out:].sum(axis=1)
        self.highest.update(highest.tolist())
        self.losses += _counted(units)

    def charge_shared(self, *units: int) -> None:
        """Count losses that all windows and cells of a replay share."""
        self.losses.update(units)
        self.highest.update(units)

    def delay(self, fired: NDArray[np.int64], held: NDArray[np.int64], looks: int) -> None:
        """Count how long after their condition first held cells fired.

        Args:
            fired: shape (windows, cells): the step that fired first, ``looks`` where none did.
            held: the same shape: the first step at which the condition held, likewise.
            looks: steps of every window.
        """
        late = (fired - held)[(held < looks) & (fired < looks)]
        self.early += int(np.count_nonzero(late < 0))
        self.delays += _counted(late[late >= 0])


def _counted(values: NDArray[np.int64]) -> Counter[int]:
    levels, times = np.unique(values, return_counts=True)
    return Counter(dict(zip(levels.tolist(), times.tolist(), strict=True)))
