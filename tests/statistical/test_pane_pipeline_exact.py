"""Alarms over shared panes, through the whole pipeline: every noise, every window, exact rationals.

Every vector of noises is a room of its own, in which the same is counted, so that one replay from
YAML to the ledger decides them all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import PrivacyUnit, from_loss_units
from stream.counting.bounding import Contributions
from stream.decisions import judge
from stream.decisions.counts import counts_of
from stream.decisions.panes import StoredPanes, decoded
from stream.decisions.release import count_records, released_alarms
from stream.decisions.steps import Step
from tests.statistical.enumeration import GivenNoise, ints
from tests.statistical.panes_law import law_in_box
from tests.support.exact import worst_ratio
from tests.support.ledgers import must_verify, only_scope
from tests.support.paned import alarm, configured, opened, replayed, rows

Q = Fraction(1, 3)
BOX = range(-4, 8)
SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
CUMULATIVE = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"
WHOLE = "TUMBLE(ts, INTERVAL '3' MINUTE)"
MINUTE = "TUMBLE(ts, INTERVAL '1' MINUTE)"
COUNTS = (1, 0, 2)


def counting(*alarms, of="COUNT(*)", release=None):
    """Return alarms without a tolerance: name, window, what is passed; released: those, or all."""
    return tuple(
        alarm(
            name,
            window,
            f"{of} > {above}",
            tolerance="0",
            release=release and ("counts" if name in release else "alarms"),
        )
        for name, window, above in alarms
    )


HOPPING = ("warning", SLIDING, 1), ("critical", SLIDING, 3), ("whole", WHOLE, 4)
STEPS = ("early", CUMULATIVE, 2), ("critical", CUMULATIVE, 4)
ALARMS, EARLY = counting(*HOPPING), counting(*STEPS, ("sliding", SLIDING, 2))


@dataclass(frozen=True)
class Person:
    """Who comes to every room.

    Args:
        comes: in which minutes.
        counts: in which of them.
        charged: how many panes of the period are charged to her.
        times: in each of those minutes.
        moves: how many panes one of her events is charged for.
    """

    comes: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    charged: int = 1
    times: int = 2
    moves: int = 1


NOBODY = Person()


def law(
    folder,
    counts,
    *,
    written=ALARMS,
    draws=1,
    box=BOX,
    person=NOBODY,
    unit="privacy_unit: event",
):
    """Return the law of all decisions and released counts together, noisy panes in a box.

    Args:
        folder: of its own.
        counts: of each minute, but for one person.
        written: the alarms.
        draws: how often each minute is drawn.
        box: of every noisy pane.
        person: who comes to every room.
        unit: what the budget says of its privacy unit.
    """
    counted = [count + (at in person.counts) for at, count in enumerate(counts)]
    own = np.tile(ints(counted), draws)[:, None]
    values = ints(list(product(box, repeat=own.size))).T
    rooms = [f"r{at}" for at in range(values.shape[1])]
    unit = unit.replace("ROOMS", str(len(rooms)))
    until = f"00:{len(counts):02d}"
    alarms = configured(folder, *written, rooms=rooms, until=until, unit=unit, wall="100000")
    (panes,) = alarms.panes.values()
    noise, stored = GivenNoise((values - own).ravel()), []

    def step(at, key):
        if at is Step.AFTER_COMMIT and key is not None and key.query == panes.id:
            (row,) = ledger.noisy.between(panes.id, key.start_ms, key.end_ms)
            stored.append(decoded(row.counts, len(rooms)))

    with opened(alarms) as ledger:
        events = rows(folder, counts, rooms, person=person.comes, times=person.times)
        decisions = list(replayed(alarms, ledger, events, noise=noise, step=step))
        must_verify(ledger)
        scope = only_scope(ledger)
    units = {one.epsilon_units for one in decisions if one.key.query == panes.id}
    windows = [one for one in decisions if one.key.query != panes.id]
    assert {one.epsilon_units for one in windows} == {0}
    assert noise.rates == [from_loss_units(min(units)) / person.moves] * own.size
    cells = len(rooms) if scope.unit is PrivacyUnit.USER else 1
    assert scope.spent_units == max(units) * person.charged * cells
    np.testing.assert_array_equal(np.stack(stored), values[: len(counts)])
    fired = [{one["room"] for _, one in released_alarms(each)} for each in windows]
    left = [{one.group["room"]: one.count for one in count_records(each)} for each in windows]
    outcomes = [
        (tuple(room in each for each in fired), tuple(each.get(room) for each in left))
        for room in rooms
    ]
    return law_in_box(outcomes, values, own[:, 0], Q)


def told_apart(folder, *neighbours, **of):
    """Return the greatest ratio of the laws of two neighbours."""
    return worst_ratio(*(law(folder / str(at), **of, **each) for at, each in enumerate(neighbours)))


@pytest.mark.parametrize("written", [ALARMS, EARLY], ids=["hopping", "early"])
def test_an_event_loses_no_more_than_its_pane_is_charged(tmp_path, written):
    """One event more, in the pane that all windows read: nothing is likelier by more than 1/q.

    Of an early alarm, that is at which step it rings.
    """
    more = (COUNTS[0], COUNTS[1] + 1, COUNTS[2])
    worst = told_apart(tmp_path, {"counts": COUNTS}, {"counts": more}, written=written)
    assert Fraction(8, 10) / Q < worst <= 1 / Q


CAPS = "privacy_unit: user, period: 1d, contribution: {max_groups_per_window: ROOMS}"
TWO, ONE = (CAPS.replace("ROOMS", f"ROOMS, max_windows_per_period: {most}") for most in (2, 1))
SHOWN = counting(STEPS[0], HOPPING[2], release={"early"})
"""Counts of every step: together they are the noisy panes, in however small a box."""
PEOPLE = counting(*STEPS, ("whole", WHOLE, 3), of="COUNT(DISTINCT person)", release={"early"})
SMALL = range(-1, 4)
EVERYWHERE = Person(comes=(0, 1, 2), counts=(0, 1, 2), charged=3)
COMER = Person(times=1, moves=2)
AGAIN = replace(COMER, comes=(0, 2), counts=(0,))
"""An event in the first minute, of somebody who comes again in the last."""


def of_person(folder, there, absent, written=SHOWN, **unit):
    """Return the greatest ratio with a person and without, or with less of what she does."""
    of = {"counts": COUNTS, "written": written, "box": SMALL, **unit}
    return told_apart(folder, {"person": there}, {"person": absent}, **of)


@pytest.mark.parametrize(
    ("unit", "person"),
    [
        (CAPS, EVERYWHERE),
        (CAPS, Person(comes=(0, 2), counts=(0, 2), charged=3)),
        (TWO, replace(EVERYWHERE, counts=(0, 1), charged=2)),
        (TWO, Person(comes=(1, 2), counts=(1, 2), charged=2)),
        (ONE, replace(EVERYWHERE, counts=(0,), charged=1)),
    ],
)
def test_a_person_loses_what_the_panes_that_count_her_are_charged(tmp_path, unit, person):
    """All her events of a day: each pane is a window of hers, whatever windows are made of it.

    A cap lets her count in the first panes that she is in; what it charges is met, and the rest of
    her events moves nothing.
    """
    absent = Person(charged=person.charged)
    assert of_person(tmp_path, person, absent, unit=unit) == Q ** -len(person.counts)
    assert len(person.counts) <= person.charged


def test_a_cap_that_panes_forget_is_caught(tmp_path, monkeypatch):
    """A twin that counts everybody in every pane, and is charged for two of three."""
    monkeypatch.setattr("stream.counting.sharing.windows_cap", lambda _query, _budget: None)
    there, absent = replace(EVERYWHERE, charged=2), Person(charged=2)
    assert of_person(tmp_path, there, absent, unit=TWO) == Q**-3


@pytest.mark.parametrize(
    ("there", "gone", "lost"),
    [
        (AGAIN, replace(AGAIN, comes=(2,), counts=(2,)), 2),
        (replace(COMER, comes=(1,), counts=(1,)), COMER, 1),
    ],
)
def test_an_event_whose_person_comes_again_loses_two_panes(tmp_path, there, gone, lost):
    """Without it she counts in the last pane: one less here, one more there, and both are met."""
    assert of_person(tmp_path, there, gone, PEOPLE) == Q**-lost


def test_people_who_are_added_up_over_panes_are_caught(tmp_path, monkeypatch):
    """A twin that counts everybody in each pane: what its windows add up are not people."""
    monkeypatch.setattr(
        "stream.counting.counter.in_turn",
        lambda taken, step: (Contributions.join(taken[step]), 0) if taken[step] else None,
    )
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        law(tmp_path, COUNTS, written=PEOPLE, box=SMALL, person=AGAIN)


@pytest.mark.parametrize("broken", [False, True])
def test_fresh_noise_for_each_window_is_caught(tmp_path, monkeypatch, broken):
    """Two thresholds on one pane share its noise; a twin that draws for each of them loses more."""
    draws = 3 if broken else 1
    if broken:
        drawn = iter(range(1 << 10))

        def anew(_self, _query, _start_ms, _end_ms):
            """Return the next noise: stored panes are the first axis of the box."""
            return ints(list(product(BOX, repeat=draws))).T[1 + next(drawn) % 2][None]

        monkeypatch.setattr(StoredPanes, "over", anew)
        monkeypatch.setattr(GivenNoise, "discrete_laplace", _noting(draws))
    written = counting(("warning", MINUTE, 2), ("critical", MINUTE, 3))
    one, other = ({"counts": (count,)} for count in (0, 1))
    worst = told_apart(tmp_path, one, other, written=written, draws=draws)
    assert worst > Fraction(5, 2) / Q if broken else worst <= 1 / Q


COUNTED = counting(*HOPPING, release={"warning", "whole"})
ONCE = counting(("hall", MINUTE, 2), release={"hall"})


def test_released_counts_cost_nothing_more(tmp_path):
    """All windows, thresholds and counts together, an event more in any pane: 1/q, and met.

    Counts of the sliding windows and of the whole leave nothing of the panes unsaid, so it is the
    loss of a pane exactly. They are below 0 where the noise is.
    """
    box = range(-2, 5)
    before = law(tmp_path / "before", COUNTS, written=COUNTED, box=box)
    told = [count for _, counts in before for count in counts if count is not None]
    assert min(told) == 3 * -2
    for pane in range(3):
        more = tuple(count + (at == pane) for at, count in enumerate(COUNTS))
        after = law(tmp_path / str(pane), more, written=COUNTED, box=box)
        assert worst_ratio(before, after) == 1 / Q


@pytest.mark.parametrize("twin", ["exact", "fresh"])
def test_counts_of_more_than_the_stored_panes_are_caught(tmp_path, monkeypatch, twin):
    """Counts of what was counted lose without a bound; counts with noise of their own, twice."""
    draws = 2 if twin == "fresh" else 1
    fresh = ints(list(product(BOX, repeat=draws))).T[-1:]
    monkeypatch.setattr(GivenNoise, "discrete_laplace", _noting(draws))
    laws = []
    for count in (0, 1):
        others = fresh if twin == "fresh" else np.full_like(fresh, count)

        def given(query, operator, _noisy, others=others):
            """Return counts of something else than the noisy panes."""
            return counts_of(query, operator, others)

        monkeypatch.setattr(judge, "counts_of", given)
        laws.append(law(tmp_path / str(count), (count,), written=ONCE, draws=draws))
    worst = worst_ratio(*laws)
    assert worst is None if twin == "exact" else worst > Fraction(5, 2) / Q


def _noting(draws):
    """Return what draws as given, and notes that all that follow are drawn as well."""

    def discrete_laplace(self, t, n):
        """Return the next values."""
        drawn, self.values = self.values[:n], self.values[n:]
        self.rates += [t] * draws
        return drawn

    return discrete_laplace
