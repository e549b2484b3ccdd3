"""Alarms over shared panes, through the whole pipeline: every noise, every window, exact rationals.

Every vector of noises is a room of its own, in which the same is counted, so that one replay from
YAML to the ledger decides them all.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from accountant.units import from_loss_units
from stream.decisions import judge
from stream.decisions.counts import counts_of
from stream.decisions.panes import StoredPanes, noisy_in
from stream.decisions.release import count_records, released_alarms
from stream.decisions.steps import Step
from tests.statistical.panes_law import GivenNoise, mass, worst_ratio
from tests.support.paned import alarm, configured, opened, replayed, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from operators.base import PaneOperator
    from stream.decisions.counts import WindowCounts
    from stream.model.queries import Query
    from tests.statistical.panes_law import Law

Q = Fraction(1, 3)
BOX = range(-4, 8)
SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
ALARMS = (
    alarm("warning", SLIDING, "COUNT(*) > 1", tolerance="0"),
    alarm("critical", SLIDING, "COUNT(*) > 3", tolerance="0"),
    alarm("whole", "TUMBLE(ts, INTERVAL '3' MINUTE)", "COUNT(*) > 4", tolerance="0"),
)
COUNTS = (1, 0, 2)


def law(
    folder: Path,
    counts: tuple[int, ...],
    *,
    written: tuple[str, ...] = ALARMS,
    draws: int = 1,
    box: range = BOX,
) -> Law:
    """Return the law of all decisions and released counts together, noisy panes in a box.

    Args:
        folder: of its own.
        counts: of each minute.
        written: the alarms.
        draws: how often each minute is drawn.
        box: of every noisy pane.
    """
    own = np.tile(np.array(counts, dtype=np.int64), draws)[:, None]
    values = np.array(list(product(box, repeat=own.size)), dtype=np.int64).T
    rooms = [f"r{at}" for at in range(values.shape[1])]
    alarms = configured(folder, *written, rooms=rooms, until=f"00:{len(counts):02d}")
    (panes,) = alarms.panes.values()
    noise, stored = GivenNoise((values - own).ravel()), []

    def step(at: Step, key: WindowKey | None) -> None:
        if at is Step.AFTER_COMMIT and key is not None and key.query == panes.id:
            (row,) = ledger.noisy.between(panes.id, key.start_ms, key.end_ms)
            stored.append(noisy_in(row.counts))

    with opened(alarms) as ledger:
        events = rows(folder, counts, rooms)
        decisions = list(replayed(alarms, ledger, events, noise=noise, step=step))
        assert ledger.reports.verify() == []
    units = {one.epsilon_units for one in decisions if one.key.query == panes.id}
    windows = [one for one in decisions if one.key.query != panes.id]
    assert {one.epsilon_units for one in windows} == {0}
    assert noise.rates == [from_loss_units(min(units))] * own.size
    np.testing.assert_array_equal(np.stack(stored), values[: len(counts)])
    fired = [{one["room"] for _, one in released_alarms(each)} for each in windows]
    left = [{one.predicate["room"]: one.count for one in count_records(each)} for each in windows]
    found: dict[Hashable, Fraction] = defaultdict(Fraction)
    for at, room in enumerate(rooms):
        outcome = tuple(room in each for each in fired), tuple(each.get(room) for each in left)
        chances = (mass(drawn, Q) for drawn in (values - own)[:, at].tolist())
        found[outcome] += prod(chances, start=Fraction(1))
    return found


def test_an_event_loses_no_more_than_its_pane_is_charged(tmp_path: Path) -> None:
    """One event more, in the pane that all windows read: nothing is likelier by more than 1/q."""
    more = (COUNTS[0], COUNTS[1] + 1, COUNTS[2])
    laws = [law(tmp_path / str(at), each) for at, each in enumerate((COUNTS, more))]
    assert len(laws[0]) > 8
    worst = worst_ratio(*laws)
    assert worst is not None
    assert Fraction(9, 10) / Q < worst <= 1 / Q


TWICE = tuple(
    alarm(name, "TUMBLE(ts, INTERVAL '1' MINUTE)", f"COUNT(*) > {above}", tolerance="0")
    for name, above in (("warning", 2), ("critical", 3))
)


@pytest.mark.parametrize("broken", [False, True])
def test_fresh_noise_for_each_window_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, broken: bool
) -> None:
    """Two thresholds on one pane share its noise; a twin that draws for each of them loses more."""
    if broken:
        drawn = iter(range(1 << 10))
        whole = StoredPanes.over

        def anew(self: StoredPanes, query: Query, key: WindowKey) -> NDArray[np.int64]:
            """Return the counts with the next noise: stored panes are the first axis of the box."""
            stored = whole(self, query, key)
            assert not isinstance(stored, str)
            values = np.array(list(product(BOX, repeat=3)), dtype=np.int64).T
            return values[1 + next(drawn) % 2][None]

        monkeypatch.setattr(StoredPanes, "over", anew)
        monkeypatch.setattr(GivenNoise, "discrete_laplace", _noting(3))
    laws = [
        law(tmp_path / str(count), (count,), written=TWICE, draws=3 if broken else 1)
        for count in (0, 1)
    ]
    worst = worst_ratio(*laws)
    assert worst is not None
    assert (worst > Fraction(5, 2) / Q) is broken
    assert (worst <= 1 / Q) is not broken


COUNTED = (
    alarm("warning", SLIDING, "COUNT(*) > 1", tolerance="0", release="counts"),
    alarm("critical", SLIDING, "COUNT(*) > 3", tolerance="0"),
    alarm(
        "whole",
        "TUMBLE(ts, INTERVAL '3' MINUTE)",
        "COUNT(*) > 4",
        tolerance="0",
        release="counts",
    ),
)
ONCE = alarm(
    "hall", "TUMBLE(ts, INTERVAL '1' MINUTE)", "COUNT(*) > 2", tolerance="0", release="counts"
)


def test_released_counts_cost_nothing_more(tmp_path: Path) -> None:
    """All windows, thresholds and counts together, an event more in any pane: 1/q, and met.

    Counts of the sliding windows and of the whole leave nothing of the panes unsaid, so it is the
    loss of a pane exactly. They are below 0 where the noise is.
    """
    box = range(-2, 5)
    before = law(tmp_path / "before", COUNTS, written=COUNTED, box=box)
    told = [counts for _, counts in cast("Iterable[tuple[object, tuple[int | None, ...]]]", before)]
    assert min(count for counts in told for count in counts if count is not None) == 3 * -2
    for pane in range(3):
        more = tuple(count + (at == pane) for at, count in enumerate(COUNTS))
        after = law(tmp_path / str(pane), more, written=COUNTED, box=box)
        assert worst_ratio(before, after) == 1 / Q


@pytest.mark.parametrize("twin", ["", "exact", "fresh"])
def test_counts_of_more_than_the_stored_panes_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    """Counts of what was counted lose without a bound; counts with noise of their own, twice."""
    draws = 2 if twin == "fresh" else 1
    values = np.array(list(product(BOX, repeat=draws)), dtype=np.int64).T
    monkeypatch.setattr(GivenNoise, "discrete_laplace", _noting(draws))
    laws = []
    for count in (0, 1):
        others = {"exact": np.full_like(values[:1], count), "fresh": values[-1:]}

        def given(
            query: Query,
            operator: PaneOperator,
            noisy: NDArray[np.int64],
            others: dict[str, NDArray[np.int64]] = others,
        ) -> WindowCounts | None:
            """Return counts of something else than the noisy panes."""
            return counts_of(query, operator, others.get(twin, noisy))

        monkeypatch.setattr(judge, "counts_of", given)
        laws.append(law(tmp_path / str(count), (count,), written=(ONCE,), draws=draws))
    worst = worst_ratio(*laws)
    if twin == "exact":
        assert worst is None
    else:
        assert worst is not None
        assert (worst == 1 / Q) is not bool(twin)
        assert (worst > Fraction(5, 2) / Q) is bool(twin)


def _noting(draws: int) -> Callable[[GivenNoise, Fraction, int], NDArray[np.int64]]:
    """Return what draws as given, and notes that all that follow are drawn as well."""

    def discrete_laplace(self: GivenNoise, t: Fraction, n: int) -> NDArray[np.int64]:
        """Return the next values."""
        drawn, self.values = self.values[:n], self.values[n:]
        self.rates += [t] * draws
        return drawn

    return discrete_laplace
