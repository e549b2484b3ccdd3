"""Starts and refusals as the ledger remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.errors import ArgumentError, ClockError, TocsinError
from accountant.ledger.journal import CLOCK_SET, START, Happened
from stream.config.sql.nodes import SqlProblem
from stream.metrics.journal import KINDS, kind_of
from tests.support.measured import fresh_metrics, lines_of

if TYPE_CHECKING:
    from stream.metrics.registries import Metrics

STARTS, REFUSED = "tocsin_starts_total", 'tocsin_refused_timestamp_seconds{kind="%s"}'


def _shown(metrics: Metrics) -> set[str]:
    lines = lines_of(metrics.custodian)
    return {line for line in lines if line.startswith((STARTS, REFUSED.partition("{")[0]))}


def test_every_error_of_the_tree_has_series_before_it_happens() -> None:
    """An alert on refusals needs them before the first one."""

    def kinds(base: type[TocsinError]) -> list[str]:
        return [n for s in base.__subclasses__() for n in (s.__name__, *kinds(s))]

    # a SqlProblem is a ConfigError whose place is not known; an ArgumentError is nobody's input
    tree = set(kinds(TocsinError)) - {"SqlProblem", "ArgumentError"}
    assert sorted(KINDS) == sorted({*tree, "unexpected"})
    assert _shown(fresh_metrics()) == {
        *(f"{REFUSED % kind} 0.0" for kind in KINDS),
        f"{STARTS} 0.0",
    }


def test_a_journal_is_shown_as_it_stands() -> None:
    """Totals of the ledger, whichever worker they are of, and when each kind was last seen."""
    metrics = fresh_metrics()
    for starts in (2, 3, 3):
        happened = {START: Happened(starts, 1_000), CLOCK_SET: Happened(1, 1)}
        metrics.journal({**happened, "ClockError": Happened(2, 61_500)})
    assert _shown(metrics) >= {f"{STARTS} 3.0", f"{REFUSED % 'ClockError'} 61.5"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ClockError("the clock went back"), "ClockError"),
        (SqlProblem("no SELECT", "write one", 0), "ConfigError"),
        (ArgumentError("a call of the library"), "unexpected"),
        (KeyError("private"), "unexpected"),
    ],
)
def test_an_error_is_named_by_its_class_alone(error: Exception, kind: str) -> None:
    """Of what is not ours not even that: its text may quote an event."""
    assert kind_of(error) == kind
