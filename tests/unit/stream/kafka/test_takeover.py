"""What a ledger lacks and Kafka does not show any more is not passed over."""

from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import Mock

import pytest

from accountant.errors import LedgerError
from stream.kafka import takeover
from stream.kafka.guard import Published
from stream.kafka.takeover import reconcile


@pytest.mark.parametrize("taken", [set(), {"other"}])
def test_what_another_ledger_spent_is_missed(monkeypatch, taken):
    """By a copy from before it took the feed over: its own last decision is still on the topic."""
    others = [Mock(ledger="other", since="1970-01-01T00:00:00.000Z")]
    custodian = Mock(once=Mock(return_value=(others, ())))
    answers = {"_custodian": custodian, "seen_decisions": Published([], 5), "take_over": 0}
    for name, found in answers.items():
        monkeypatch.setattr(takeover, name, Mock(return_value=found))
    upkeep = Mock(last_decided_ms=lambda: 9, taken_over=lambda: taken)
    with nullcontext() if taken else pytest.raises(LedgerError, match="were deleted"):
        reconcile(Mock(timezone="UTC"), Mock(upkeep=upkeep))
