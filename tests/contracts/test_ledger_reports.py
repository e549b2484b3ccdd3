"""Status says what the charges say, and nobody who reads the log learns a secret."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING

from accountant.costs.noisy import Noisy
from tests.support.ledgers import (
    EVENT,
    HOP,
    USER,
    A,
    Series,
    admit,
    deny,
    partial,
    seen,
    set_up,
    settle,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from tests.support.ledgers import Clock


def test_status_counts(ledger: Ledger) -> None:
    """Decisions, denials by reason, what waits, and the reserved part of what is spent."""
    set_up(ledger, EVENT, 9, [A, HOP])
    admit(ledger, 60, A, HOP)
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
    set_up(ledger, EVENT, 9, [A, HOP])
    admit(ledger, 80, A, HOP)
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


def test_no_secret_is_among_the_entries(ledger: Ledger) -> None:
    """They are for the custodian to keep and to hand on: neither the key nor counts are in them."""
    a = Series("a", units=2, period=30)
    set_up(ledger, USER, 5, [a])
    ledger.counts.put_partial(replace(partial(a, 0, values=(987654321,)), used=b"everybody"))
    admit(ledger, 90, a)
    settle(ledger, a, 0, noisy=Noisy(b"secret counts", 0))
    deny(ledger, a, 1)
    text = b"".join(row.payload for row in ledger.reports.entries())
    for secret in (ledger.hash_key, (987654321).to_bytes(8, "little"), b"everybody", b"secret co"):
        for each in (secret, secret.hex().encode(), b64encode(secret).rstrip(b"=")):
            assert each not in text
    assert b"987654321" not in text


def test_what_was_recovered_twice_hides_nothing_that_waits(ledger: Ledger) -> None:
    """Windows that this ledger did not decide are no decisions of its own that never leave."""
    set_up(ledger, EVENT, 100, [A])
    admit(ledger, 60, A)
    waits = settle(ledger, A, 0)
    later = replace(waits, key=A.key(1), sequence=7, ledger_id="other")
    for copy in ("other", "third"):
        ledger.upkeep.reconcile([replace(seen(later), ledger_id=copy)])
    assert ledger.reports.status().queries["a"].unpublished == 1
    ledger.mark_published(waits.key)
    assert ledger.reports.status().queries["a"].unpublished == 0
    ledger.upkeep.reconcile([replace(seen(waits), ledger_id="other")])
    assert ledger.reports.status().queries["a"].unpublished == 0
