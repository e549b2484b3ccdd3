"""Released counts on the public page: all series from the start, few, and nothing of a denial."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from stream.metrics.counts import Counts
from stream.metrics.fired import MOST_GROUPS
from stream.model.feeds import Domain
from tests.support.measured import decided, denied, fresh_metrics, lines_of

NAME = "tocsin_group_noisy_value"
COUNTS = {"r1": "-4.0", "r2": "0.0", "r3": "120.0"}


def test_a_window_shows_its_counts_and_a_denied_one_none():
    """From NaN on the public page alone, below 0 as it is, and NaN again once nothing is known."""
    metrics = fresh_metrics()

    def lines(counts, deviation):
        return {
            *(f'{NAME}{{alarm="crowd",group="{room}"}} {n}' for room, n in counts.items()),
            f'tocsin_noisy_value_standard_deviation{{alarm="crowd"}} {deviation}',
        }

    unknown, known = lines(dict.fromkeys(COUNTS, "NaN"), "NaN"), lines(COUNTS, "1.5")
    released = [({"room": room}, float(count), 1.5) for room, count in COUNTS.items()]
    for decision, counts, shown in (
        (None, [], unknown),
        (decided(hour=1), released, known),
        (denied("quiet", hour=2), [], known),  # another alarm, which releases none
        (denied(hour=2), [], unknown),
    ):
        if decision is not None:
            metrics.published(decision, None, (), counts)
        assert lines_of(metrics.public, "noisy_value") == shown
    assert not lines_of(metrics.custodian, NAME)


def test_of_a_large_domain_the_first_have_a_series():
    """The same ones before and after a window, however large their counts."""
    registry = CollectorRegistry()
    groups = [str(n) for n in range(900)]
    counts = Counts(registry, {"q": Domain(("n",), (tuple(groups),))})
    for released in ([], [({"n": group}, int(group), 1.0) for group in groups]):
        counts.released("q", released)
        labels = {line.split('"')[3] for line in lines_of(registry, NAME)}
        assert labels == set(groups[:MOST_GROUPS])
