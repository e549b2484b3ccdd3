"""Status, export and verification say what the charges say."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from accountant.audit import verify
from accountant.units import PrivacyUnit
from tests.support.ledgers import HOP, A, Series, deny, partial, requests, set_up, settle

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from tests.support.ledgers import Clock


def test_status_counts(ledger: Ledger) -> None:
    """Decisions, denials by reason, what waits, and the reserved part of what is spent."""
    set_up(ledger, PrivacyUnit.EVENT, 9, [A, HOP])
    ledger.admit("s", requests([A, HOP], 60))
    settle(ledger, A, 0)
    deny(ledger, A, 1, "incomplete")
    deny(ledger, A, 2, "incomplete")
    status = ledger.reports.status()
    assert status.scopes["s"].spent_units == 5  # two hops and one `a` cover [30, 40)
    query = status.queries["a"]
    assert (query.decided, query.denied, query.unpublished) == (1, {"incomplete": 2}, 3)
    assert (query.cursor_ms, query.sequence) == (30, 3)
    assert status.queries["hop"].sequence == 0


def test_status_says_when_windows_ended_last(ledger: Ledger, clock: Clock) -> None:
    """The last decision, and the last denial by reason, of each query by itself."""
    set_up(ledger, PrivacyUnit.EVENT, 9, [A, HOP])
    ledger.admit("s", requests([A, HOP], 80))
    first_ms = clock.now_ms
    settle(ledger, A, 0)
    clock.now_ms += 1_000
    deny(ledger, A, 1, "incomplete")
    deny(ledger, A, 2, "too_old")
    clock.now_ms += 1_000
    deny(ledger, A, 3, "incomplete")
    queries = ledger.reports.status().queries
    assert queries["a"].decided_at_ms == first_ms
    assert queries["a"].denied_at_ms == {
        "incomplete": first_ms + 2_000,
        "too_old": first_ms + 1_000,
    }
    assert (queries["hop"].decided_at_ms, queries["hop"].denied_at_ms) == (0, {})


def test_export_replays_to_the_same_totals(ledger: Ledger) -> None:
    """The exported charges add up to the exported totals, and no secret is among them."""
    a = Series("a", units=2, period=30)
    set_up(ledger, PrivacyUnit.USER, 5, [a])
    ledger.counts.put_partial(partial(a, 0))
    ledger.admit("s", requests([a], 90))
    settle(ledger, a, 0)
    deny(ledger, a, 1)
    rows = list(ledger.reports.export())
    added: Counter[int] = Counter()
    for row in rows:
        if row["record"] == "charges" and row["state"] in {"reserved", "settled"}:
            added.update(dict.fromkeys(json.loads(row["periods"]), row["loss_units"]))
    stored = {row["period_ms"]: row["held_units"] for row in rows if row["record"] == "totals"}
    assert added == stored
    text = json.dumps(rows)
    assert ledger.hash_key.hex() not in text
    assert not any(row["record"] == "partials" for row in rows)


TAMPERINGS = {
    "a cheaper charge": "UPDATE tocsin_charges SET loss_units = 1 WHERE query = 'b'",
    "a cheaper cell": "UPDATE tocsin_charges SET units = 1, loss_units = 1 WHERE start_ms = 0",
    "a lost charge": "DELETE FROM tocsin_charges WHERE start_ms = 0 AND query = 'b'",
    "a released charge": "UPDATE tocsin_charges SET state = 'released' WHERE start_ms = 10",
    "a held refusal": "UPDATE tocsin_charges SET state = 'reserved' WHERE admission = 'refused'",
    "a lost decision": "DELETE FROM tocsin_decisions WHERE sequence = 2",
    "a cheaper decision": "UPDATE tocsin_decisions SET epsilon_units = 1 WHERE sequence = 1",
    "a turned decision": "UPDATE tocsin_decisions SET outcome = 'denied' WHERE sequence = 1",
    "a cursor set back": "UPDATE tocsin_queries SET cursor_ms = 0",
    "a sequence set back": "UPDATE tocsin_sequences SET last_sequence = 1",
    "a lost sequence": "DELETE FROM tocsin_sequences",
    "another's sequence": "INSERT INTO tocsin_sequences VALUES ('z', 1, '', 0, '', 0, '', '')",
    "a frontier set back": "UPDATE tocsin_scopes SET frontier_end_ms = 45",
    "an unreadable row": "UPDATE tocsin_charges SET state = '?' WHERE start_ms = 0",
    "a lower wall": "UPDATE tocsin_scopes SET epsilon_max_units = 3",
}


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_tampering_is_found(ledger: Ledger, unit: PrivacyUnit) -> None:
    """Every row that was changed behind the ledger's back contradicts the charges."""
    b = Series("b", size=20, step=10, units=2, period=100 if unit is PrivacyUnit.USER else 0)
    set_up(ledger, unit, 4, [b])
    ledger.admit("s", requests([b], 60))
    for index in range(2):
        settle(ledger, b, index)
    changes = dict(TAMPERINGS)
    if unit is PrivacyUnit.USER:
        changes["a lower total"] = "UPDATE tocsin_totals SET held_units = held_units - 1"
    else:
        # Every hop overlaps its neighbours twice, so all fit and none is refused.
        del changes["a held refusal"]
        changes["a lower settled total"] = "UPDATE tocsin_scopes SET settled_worst_units = 3"
    assert ledger.reports.verify() == []
    for name, statement in changes.items():
        with suppress(_Undo), ledger._store.write() as tx:
            tx.connection.exec_driver_sql(statement)
            assert verify.problems(tx, {}), name
            raise _Undo
    assert ledger.reports.verify() == []


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a transaction back
    """Rolls a tampering back."""
