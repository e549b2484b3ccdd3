"""Released counts on the public page: all series from the start, few, and nothing of a denial."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from stream.metrics.counts import Counts
from stream.metrics.fired import MOST_GROUPS
from stream.model.feeds import Domain
from tests.support.measured import decided, denied, fresh_metrics, lines_of

NAME = "tocsin_group_noisy_value"
DEVIATION = 'tocsin_noisy_value_standard_deviation{alarm="crowd"}'
ROOMS = ("r1", "r2", "r3")
RELEASED = [({"room": room}, count, 1.5) for room, count in zip(ROOMS, (-4, 0, 120), strict=True)]


def test_a_window_shows_its_counts_and_a_denied_one_none() -> None:
    """From NaN on the public page alone, below 0 as it is, and NaN again once nothing is known."""
    metrics = fresh_metrics()

    def shown(*values: str) -> bool:
        series = [*(f'{NAME}{{alarm="crowd",group="{room}"}}' for room in ROOMS), DEVIATION]
        found = {f"{one} {value}" for one, value in zip(series, values, strict=True)}
        return lines_of(metrics.public, "noisy_value") == found

    assert shown(*["NaN"] * 4)
    metrics.published(decided(hour=1), None, (), RELEASED)
    assert shown("-4.0", "0.0", "120.0", "1.5")
    metrics.published(denied("quiet", hour=2), None)
    assert shown("-4.0", "0.0", "120.0", "1.5"), "of another alarm, which releases none"
    metrics.published(denied(hour=2), None)
    assert shown(*["NaN"] * 4)
    assert not lines_of(metrics.custodian, NAME)


def test_of_a_large_domain_the_first_have_a_series() -> None:
    """The same ones before and after a window, however large their counts."""
    registry, wanted = CollectorRegistry(), {str(n) for n in range(MOST_GROUPS)}
    counts = Counts(registry, {"q": Domain(("n",), (tuple(map(str, range(900))),))})

    def labels() -> set[str]:
        return {line.split('"')[3] for line in lines_of(registry, NAME)}

    assert labels() == wanted
    counts.released("q", [({"n": str(n)}, n, 1.0) for n in range(900)])
    assert labels() == wanted
