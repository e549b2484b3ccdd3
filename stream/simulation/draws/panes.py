"""Draws of windows over noisy panes: every pane is drawn once a run, for all windows over it.

So windows that share panes err together, as they do when they are released: rates are
estimated from run to run (:mod:`stream.simulation.draws.spread`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

import numpy as np

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from stream.simulation.draws.tally import Tally
from stream.simulation.draws.truth import may_fire, must_fire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource
    from stream.model.alarm import Alarm
    from stream.simulation.history import CountedAlarm

__all__ = ["OverPanes", "over_panes", "tally_of_panes"]

_FAR: Final = 1 << 52  # what a pane counts ends here, for its operator too
_ENTRIES: Final = 1 << 20  # statistics of panes that are held at once


class _ManyPanes(Protocol):
    """What operators of windows over panes have for trying out."""

    def release_many(
        self, statistics: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.int64]: ...

    def reached_many(
        self, noisy: NDArray[np.int64], windows: Sequence[range]
    ) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True, eq=False)
class OverPanes:
    """The panes of an alarm, and which of them its windows are made of; private.

    Args:
        counted: exact statistics of the panes.
        windows: per window its panes, in order; both ends only grow.
    """

    counted: CountedAlarm
    windows: tuple[range, ...]


def over_panes(alarm: Alarm, windows: CountedAlarm, panes: CountedAlarm) -> OverPanes:
    """Find the panes of an alarm's windows; windows that lack one are left out.

    Args:
        alarm: the alarm.
        windows: its windows.
        panes: those that it shares.

    Raises:
        ConfigError: no window has all its panes.
    """
    numbers = alarm.calendar.containing(windows.starts_ms)[1]
    ends_ms = [alarm.calendar.bounds(int(number))[1] for number in numbers]
    first = np.searchsorted(panes.starts_ms, windows.starts_ms)
    last = np.searchsorted(panes.starts_ms, np.array(ends_ms, np.int64))
    found = [range(*each) for each in zip(first.tolist(), last.tolist(), strict=True)]
    whole = tuple(each for each in found if len(each) == alarm.aim.panes)
    if not whole:
        raise ConfigError(
            f"the files do not hold all panes of any window of alarm {alarm.id!r}",
            hint="use an export that starts before the history",
        )
    return OverPanes(panes, whole)


def tally_of_panes(
    operator: Operator,
    condition: Condition,
    aim: Aim,
    over: OverPanes,
    noise: NoiseSource,
    *,
    runs: int,
    denied: NDArray[np.bool_] | None = None,
) -> Tally:
    """Draw all panes so often, decide all windows from each draw, and tally what came of it.

    Args:
        operator: of the alarm, over panes.
        condition: of the alarm.
        aim: whose tolerances are granted.
        over: panes and windows.
        noise: the cryptographic source.
        runs: draws of every pane.
        denied: shape (windows,), those that a budget denied a pane of.
    """
    many = cast("_ManyPanes", operator)
    every = [Tally() for _ in range(runs)]
    kept = [np.empty((0, condition.cells), dtype=np.int64) for _ in range(runs)]
    lost = np.zeros(len(over.windows), np.bool_) if denied is None else denied
    at = 0
    for stretch in _stretches(over):
        fresh = over.counted.stacked(stretch.fresh.start, stretch.fresh.stop)
        sums = _sums(over, stretch)
        true = must_fire(condition, aim, sums)
        granted = may_fire(condition, aim, sums)
        gone = lost[at : (at := at + len(stretch.windows))]
        for run, tally in enumerate(every):
            noisy = np.concatenate([kept[run], many.release_many(fresh, noise)])
            if stretch.windows:
                reached = many.reached_many(noisy, stretch.windows)
                reached[gone] = 0
                tally.deny(gone, reached > 0, true)
                tally.count(reached > 0, true=true, granted=granted)
                tally.count_severities(reached, condition, aim, sums)
            kept[run] = noisy[stretch.done :]
    units, total = to_loss_units(operator.plan.epsilon), Tally()
    for tally in every:
        tally.charge_shared(units)
        tally.spread()
        total.add(tally)
    return total


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Panes that are drawn together, and the windows that they complete.

    Args:
        first: the oldest pane that is still read.
        fresh: the panes that are drawn.
    windows: each as rows from ``first`` on.
        done: how many rows nobody reads any more.
    """

    first: int
    fresh: range
    windows: tuple[range, ...]
    done: int


def _stretches(over: OverPanes) -> Iterator[_Stretch]:
    """Cut panes into pieces that fit memory; a window is decided with the piece that ends it."""
    stride = max(1, _ENTRIES // (over.counted.cells * over.counted.statistics))
    start, stop = over.windows[0].start, over.windows[-1].stop
    first, at = start, 0
    for fresh in range(start, stop, stride):
        piece = range(fresh, min(fresh + stride, stop))
        begun = at
        while at < len(over.windows) and over.windows[at].stop <= piece.stop:
            at += 1
        rows = tuple(
            range(each.start - first, each.stop - first) for each in over.windows[begun:at]
        )
        after = min(over.windows[at].start, piece.stop) if at < len(over.windows) else piece.stop
        yield _Stretch(first, piece, rows, after - first)
        first = after


def _sums(over: OverPanes, stretch: _Stretch) -> NDArray[np.int64]:
    """Return what the windows of a stretch count in truth, shape (statistics, windows, cells)."""
    panes = np.clip(over.counted.stacked(stretch.first, stretch.fresh.stop), -_FAR, _FAR)
    found = np.zeros((len(stretch.windows), *panes.shape[1:]), dtype=np.int64)
    for at, each in enumerate(stretch.windows):
        found[at] = panes[each.start : each.stop].sum(axis=0)
    return found.transpose(1, 0, 2)
