"""Status says what the charges say, and nobody who reads the log learns a secret."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

from accountant.costs.noisy import Noisy
from tests.support.ledgers import USER, Series, admit, deny, partial, set_up, settle


def test_no_secret_is_among_the_entries(ledger):
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
