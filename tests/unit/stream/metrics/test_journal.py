"""Starts and refusals as the ledger remembers them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from accountant.errors import ArgumentError, ClockError, TocsinError
from accountant.ledger.journal import START, Happened
from stream.config.sql.nodes import SqlProblem
from stream.metrics.journal import KINDS, JournalFamilies, kind_of
from tests.support.measured import sample_value


def _shown(families: JournalFamilies) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(families)
    return registry


def test_every_error_of_the_tree_has_series_before_it_happens() -> None:
    """An alert on refusals needs them before the first one."""
    registry = _shown(JournalFamilies())

    def kinds(base: type[TocsinError]) -> list[str]:
        return [n for s in base.__subclasses__() for n in (s.__name__, *kinds(s))]

    tree = set(kinds(TocsinError)) - {"SqlProblem"}  # it is a ConfigError whose place is not known
    assert kind_of(SqlProblem("no SELECT", "write one", 0)) == "ConfigError"
    assert kind_of(ArgumentError("a call of the library")) == "unexpected"  # nobody's input
    assert sample_value(registry, "tocsin_refused_timestamp_seconds", kind="ArgumentError") is None
    assert sorted(KINDS) == sorted({*tree - {"ArgumentError"}, "unexpected"})
    for kind in KINDS:
        assert sample_value(registry, "tocsin_refused_timestamp_seconds", kind=kind) == 0
    assert sample_value(registry, "tocsin_starts_total") == 0


def test_a_journal_is_shown_as_it_stands() -> None:
    """Totals of the ledger, whichever worker they are of, and when each kind was last seen."""
    families = JournalFamilies()
    families.show({START: Happened(3, 1_000), "ClockError": Happened(2, 61_500)})
    registry = _shown(families)
    assert sample_value(registry, "tocsin_starts_total") == 3
    assert sample_value(registry, "tocsin_refused_timestamp_seconds", kind="ClockError") == 61.5


def test_an_error_is_named_by_its_class_alone() -> None:
    """Of what is not ours not even that: its text may quote an event."""
    assert kind_of(ClockError("the clock went back")) == "ClockError"
    assert kind_of(KeyError("private")) == "unexpected"
