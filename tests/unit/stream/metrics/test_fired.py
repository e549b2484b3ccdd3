"""Which group fired last: from the start where there are few, bounded where there are many."""

from __future__ import annotations

import pytest

from accountant.costs.charges import WindowKey
from stream.metrics.fired import MOST_GROUPS, FiredFamilies
from stream.model.feeds import Domain
from tests.support.measured import HOUR_MS, decided, fresh_metrics, lines_of

NAME = "tocsin_group_fired_timestamp_seconds"


def _series(alarm, room, end_s):
    return f'{NAME}{{alarm="{alarm}",group="{room}"}} {end_s}'


def test_the_room_and_its_window_are_on_the_public_page_alone():
    """All rooms are at 0 before; an alarm of an older window, which a run repeats, has its end."""
    metrics = fresh_metrics()
    shown = {_series(alarm, f"r{n}", 0.0) for alarm in ("crowd", "quiet") for n in (1, 2, 3)}
    assert lines_of(metrics.public, NAME) == shown
    decision = decided(hour=5, alarms=2)
    older = WindowKey(end_ms=2 * HOUR_MS, query="crowd", start_ms=HOUR_MS)
    fired = [(older, {"room": "r1"}), (older, {"room": "r2"}), (decision.key, {"room": "r2"})]
    metrics.published(decision, None, fired)
    metrics.published(decision, None, [(older, {"room": "r2"})])  # which sets no time back
    assert lines_of(metrics.public, NAME) ^ shown == {
        *(_series("crowd", room, 0.0) for room in ("r1", "r2")),
        _series("crowd", "r1", 7200.0),
        _series("crowd", "r2", 18000.0),
    }
    assert not lines_of(metrics.custodian, NAME)


@pytest.mark.parametrize("first", [(3, 1, 2), (1, 2, 3)])
def test_of_a_large_domain_those_that_fired_last_are_shown(first):
    """Never more than the bound, and none before an alarm; their order tells nothing."""
    groups = tuple(str(n) for n in range(10 * MOST_GROUPS))
    families = FiredFamilies({"q": Domain(("n",), (groups,))})

    def shown():
        (family,) = families.collect()
        return {sample.labels["group"]: sample.value for sample in family.samples}

    assert shown() == {}
    for n in first:
        families.fired("q", {"n": str(n)}, 1_000)
    assert list(shown().items()) == [("1", 1.0), ("2", 1.0), ("3", 1.0)]
    for n in range(4, MOST_GROUPS + 50):
        families.fired("q", {"n": str(n)}, n * 1_000)
        families.fired("q", {"n": "0"}, n * 1_000)
    newest = {str(n): float(n) for n in range(51, MOST_GROUPS + 50)}
    assert shown() == {**newest, "0": MOST_GROUPS + 49}
