"""Which partitions count at which time: the rule that keeps a person in one partition a window."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.layouts import Growth, Layouts

END = 9
SLICES = [(first, cut) for first in range(END) for cut in range(first + 1, END + 1)]


def growth(partitions, before, from_ms, until_ms):
    """Return a growth of the feed."""
    return Growth("feed", partitions, before, from_ms, until_ms, announced_ms=0)


def histories():
    """Return every small history of no, one or two growths, the last of them done or not."""
    found = [Layouts(2)]
    for from_ms, until_ms in spans(0):
        one = growth(5, 2, from_ms, until_ms)
        found.append(Layouts(2, (one,)))
        again = () if until_ms is None else spans(until_ms)
        found += [Layouts(2, (one, growth(6, 5, *span))) for span in again]
    return found


def spans(since_ms):
    """Return all times from one on at which a growth may begin, and be done or not."""
    starts = range(since_ms, END)
    return [(start, end) for start in starts for end in (None, *range(start + 1, END))]


class ByWhenItBegan(Layouts):
    """Broken: takes the new partitions at once, whatever lies across."""

    def of_slice(self, first_ms, cut_ms):
        """Return what holds for the end of a slice."""
        del first_ms
        return int(self.at(np.array([cut_ms - 1]))[0])


class OpenEnded(Layouts):
    """Broken: takes a growth for done that may not be."""

    def of_slice(self, first_ms, cut_ms):
        """Return the newest where nothing is known."""
        found = super().of_slice(first_ms, cut_ms)
        return self.newest if found is None and self.unfinished else found


def mixed(layouts):
    """Return the slices whose records are not all routed as the slice is counted."""
    return [
        (first, cut)
        for first, cut in SLICES
        if (number := layouts.of_slice(first, cut)) is not None
        and set(layouts.at(np.arange(first, cut)).tolist()) != {number}
    ]


def test_all_records_of_a_slice_are_routed_as_it_is_counted():
    """Whatever the history, of a slice with a number every instant has that number."""
    assert all(not mixed(one) for one in histories())


@pytest.mark.parametrize("twin", [ByWhenItBegan, OpenEnded])
def test_broken_rules_are_caught(twin):
    """The same check fails for a rule that decides more windows than it may."""
    assert any(mixed(twin(one.first, one.growths)) for one in histories())


def test_only_slices_across_a_growth_have_no_number():
    """What ends before it begins, or begins when it is over, is counted; nothing else is."""
    for layouts in histories():
        for first, cut in SLICES:
            across = any(
                cut > one.from_ms and (one.until_ms is None or first < one.until_ms)
                for one in layouts.growths
            )
            assert (layouts.of_slice(first, cut) is None) == across


def test_histories_that_cannot_have_been_are_told():
    """Fewer partitions, a gap in their numbers, times that overlap or go back, an end left out."""
    assert [problem for one in histories() for problem in one.problems()] == []
    wrong = [
        (growth(2, 2, 3, 4),),
        (growth(5, 3, 3, 4),),
        (growth(5, 2, 4, 4),),
        (growth(5, 2, 3, None), growth(6, 5, 7, 8)),
        (growth(5, 2, 3, 7), growth(6, 5, 6, 8)),
        (growth(5, 2, 3, 4), growth(6, 2, 7, 8)),
    ]
    assert all(len(Layouts(2, each).problems()) == 1 for each in wrong)


def test_what_is_learnt_has_a_number_of_its_own():
    """A growth that is announced, and one that is done, are revisions of their own."""
    growths = growth(5, 2, 3, None), growth(5, 2, 3, 4), growth(6, 5, 7, None)
    steps = (), growths[:1], growths[1:2], growths[1:]
    found = [(one.revision, one.newest, {*one.possible}) for one in (Layouts(2, g) for g in steps)]
    assert found == [(0, 2, {2}), (1, 5, {2, 5}), (2, 5, {2, 5}), (3, 6, {5, 6})]
