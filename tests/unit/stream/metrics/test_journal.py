"""Starts and refusals as the ledger remembers them."""

from __future__ import annotations

import pytest

from accountant.errors import ArgumentError, ClockError, TocsinError
from accountant.ledger.journal import CLOCK_SET, START, Happened
from stream.config.sql.nodes import SqlProblem
from stream.metrics.journal import KINDS, kind_of
from tests.support.measured import fresh_metrics, lines_of


def test_every_error_of_the_tree_has_a_series():
    """An alert on refusals needs them before the first one."""

    def kinds(base):
        return [n for s in base.__subclasses__() for n in (s.__name__, *kinds(s))]

    # a SqlProblem is a ConfigError whose place is not known; an ArgumentError is nobody's input
    tree = set(kinds(TocsinError)) - {"SqlProblem", "ArgumentError"}
    assert sorted(KINDS) == sorted({*tree, "unexpected"})


def test_a_journal_is_shown_as_it_stands():
    """Totals of the ledger, whichever worker they are of, and when each kind was last seen."""
    metrics = fresh_metrics()
    refused = dict.fromkeys(KINDS, 0.0)
    journal = {CLOCK_SET: Happened(1, 1), "ClockError": Happened(2, 61_500)}
    for starts, shown in ((0, 0.0), (2, 2.0), (3, 3.0), (3, 3.0)):
        if starts:
            metrics.journal({START: Happened(starts, 1_000), **journal})
            refused["ClockError"] = 61.5
        assert lines_of(metrics.custodian, "tocsin_starts_total") == {
            f"tocsin_starts_total {shown}"
        }
        assert lines_of(metrics.custodian, "refused_timestamp") == {
            f'tocsin_refused_timestamp_seconds{{kind="{kind}"}} {at_s}'
            for kind, at_s in refused.items()
        }


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ClockError("the clock went back"), "ClockError"),
        (SqlProblem("no SELECT", "write one", 0), "ConfigError"),
        (ArgumentError("a call of the library"), "unexpected"),
        (KeyError("private"), "unexpected"),
    ],
)
def test_an_error_is_named_by_its_class_alone(error, kind):
    """Of what is not ours not even that: its text may quote an event."""
    assert kind_of(error) == kind
