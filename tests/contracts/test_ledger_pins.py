"""What a ledger is pinned to, and how that may change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.errors import ConfigChangedError, LedgerCorruptError
from accountant.records import QueryRegistration
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from tests.support.ledgers import EVENT, A, registration, set_up, terms

DATABASES = ["sqlite"]


def test_identity_stays(opened):
    """Id and hash key are made once and read ever after."""
    first, second = opened(), opened()
    assert (first.ledger_id, first.hash_key) == (second.ledger_id, second.hash_key)
    assert len(first.hash_key) == 32


def test_rows_of_a_query_are_what_was_registered(ledger):
    """A region that was changed behind the ledger's back, or that two versions see otherwise."""
    here = replace(A, shape=Shape(Region.where(x=1).canonical))
    set_up(ledger, EVENT, 5, [here])
    with pytest.raises(LedgerCorruptError, match="the ledger's shape of alarm 'a' does not match"):
        ledger.pins.register_query(registration(A))
    assert ledger.pins.register_query(registration(here)) == 0


def test_a_file_has_one_budget_in_one_call(ledger):
    """As in two, which a script says; or it is public, not both."""
    given = []
    for feed in ("one", "renamed"):
        ledger.pins.register_budget(terms(EVENT, 5, f"feed:{feed}"))
        given.append(QueryRegistration(f"q-{feed}", f"feed:{feed}", feed, "f1", "{}", 0))
    said = "feed 'renamed' reads a file that is already charged to budget 'feed:one' as feed 'one'"
    files = {"one": ["d1"], "renamed": ["d1"]}
    with pytest.raises(ConfigChangedError, match=said):
        ledger.pins.refuse_changes([], [], given, files=files)
    with pytest.raises(ConfigChangedError, match="'renamed' cannot be a public reference"):
        ledger.pins.refuse_changes([], [], given[:1], ["renamed"], files)
