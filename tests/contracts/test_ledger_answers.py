"""Who may ask a ledger for windows, and when; what they are answered is in ``scripts``."""

from __future__ import annotations

import pytest

from tests.support.ledgers import EVENT, A, requests, set_up


def test_requests_out_of_order_are_refused(ledger):
    """That is a mistake of the caller."""
    set_up(ledger, EVENT, 1, [A])
    with pytest.raises(ValueError, match="sorted"):
        ledger.admit("s", requests([A], 60)[::-1])
