"""What left a ledger is known to it and to no copy that was made before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from tests.support.ledgers import A, B, requests, set_up, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger


def test_releases_are_counted_by_process(opened: Callable[[], Ledger]) -> None:
    """Whoever else has the ledger open knows of them at once."""
    one, other = opened(), opened()
    assert [one.writers.release("w")[0] for _ in range(3)] == [1, 2, 3]
    assert one.writers.release("v")[0] == 1
    assert other.writers.unknown({"w": 3, "v": 1}) == []
    assert other.writers.unknown({"w": 4, "v": 1, "u": 1}) == ["u", "w"]
    assert other.writers.unknown({"u": 0}) == []


def test_a_release_tells_what_it_may_take_along(ledger: Ledger) -> None:
    """The last decision of each query, as it stands when the release is counted."""
    set_up(ledger, PrivacyUnit.EVENT, 10, [A, B])
    ledger.admit("s", requests([A, B], 30))
    assert ledger.writers.release("w")[1] == {}
    settle(ledger, A, 0)
    assert ledger.writers.release("w")[1] == {"a": 1}
    settle(ledger, A, 1)
    settle(ledger, B, 0)
    assert ledger.writers.release("w")[1] == {"a": 2, "b": 1}


def test_what_was_charged_is_taken_as_known(ledger: Ledger) -> None:
    """Nothing that was known is forgotten."""
    ledger.writers.release("w")
    ledger.writers.take_over({"w": 7, "v": 2})
    assert ledger.writers.unknown({"w": 7, "v": 2}) == []
    assert ledger.writers.unknown({"w": 8}) == ["w"]
    ledger.writers.take_over({"w": 1})
    assert ledger.writers.release("w")[0] == 8
