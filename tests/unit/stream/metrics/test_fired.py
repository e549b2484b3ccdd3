"""Which group rang last: from the start where there are few, bounded where there are many."""

from __future__ import annotations

from accountant.costs.charges import WindowKey
from stream.metrics.fired import MOST_GROUPS, FiredFamilies
from stream.model.feeds import Domain
from tests.support.measured import HOUR_MS, decided, fresh_metrics, lines_of

NAME = "tocsin_group_fired_timestamp_seconds"
MANY = Domain(("n",), (tuple(str(n) for n in range(10 * MOST_GROUPS)),))


def _shown(families: FiredFamilies) -> dict[str, float]:
    (family,) = families.collect()
    return {sample.labels["group"]: sample.value for sample in family.samples}


def test_the_room_and_its_window_are_on_the_public_page_alone() -> None:
    """All rooms are there at 0; one rings, and its own series moves, of its own alarm."""
    metrics = fresh_metrics()
    all_zero = {
        f'{NAME}{{alarm="{alarm}",group="{room}"}} 0.0'
        for alarm in ("crowd", "quiet")
        for room in ("r1", "r2", "r3")
    }
    assert lines_of(metrics.public, NAME) == all_zero
    decision = decided(hour=3, alarms=1)
    metrics.published(decision, None, [(decision.key, {"room": "r2"})])
    moved = f'{NAME}{{alarm="crowd",group="r2"}} '
    assert lines_of(metrics.public, NAME) ^ all_zero == {f"{moved}0.0", f"{moved}10800.0"}
    assert not lines_of(metrics.custodian, NAME)


def test_an_alarm_of_an_older_window_has_that_windows_end() -> None:
    """A run asks again: what rings late is told for its own window, and never sets time back."""
    metrics = fresh_metrics()
    decision = decided(hour=5, alarms=2)
    older = WindowKey(end_ms=2 * HOUR_MS, query="crowd", start_ms=HOUR_MS)
    rang = [(older, {"room": "r1"}), (older, {"room": "r2"}), (decision.key, {"room": "r2"})]
    metrics.published(decision, None, rang)
    metrics.published(decision, None, [(older, {"room": "r2"})])
    assert lines_of(metrics.public, NAME) >= {
        f'{NAME}{{alarm="crowd",group="r1"}} 7200.0',
        f'{NAME}{{alarm="crowd",group="r2"}} 18000.0',
    }


def test_of_a_large_domain_those_that_rang_last_are_shown() -> None:
    """Never more than the bound; who rings again stays; nothing is there before an alarm."""
    families = FiredFamilies({"q": MANY})
    assert _shown(families) == {}
    for n in range(MOST_GROUPS + 50):
        families.fired("q", {"n": str(n)}, (n + 1) * 1_000)
        families.fired("q", {"n": "0"}, (n + 1) * 1_000)
    shown = _shown(families)
    assert len(shown) == MOST_GROUPS
    assert shown["0"] == MOST_GROUPS + 50
    assert set(shown) - {"0"} == {str(n) for n in range(51, MOST_GROUPS + 50)}


def test_the_page_is_the_same_for_the_same_alarms_in_another_order() -> None:
    """Two alarms of one window leave in the order of their groups, or do not: nobody sees."""
    for order in ((3, 1, 2), (1, 2, 3)):
        families = FiredFamilies({"q": MANY})
        for n in order:
            families.fired("q", {"n": str(n)}, 1_000)
        assert list(_shown(families).items()) == [("1", 1.0), ("2", 1.0), ("3", 1.0)]
