"""Two passes over the same windows keep in step, and read nothing twice that is still near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accountant.audit.nearby import Nearby, in_step
from accountant.store import rows
from tests.support.aged import settled
from tests.support.ledgers import A

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from accountant.store.tables.charged import ChargeRow


def pages(name: str, ended: list[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield pages that say where they are from."""
    for at, each in enumerate(ended):
        yield each, [f"{name}{at}"]


def test_the_first_pass_is_a_page_ahead() -> None:
    """Whatever a page ends; and both come to their ends."""
    assert list(in_step(pages("w", [2, 2, 2]), pages("l", [1, 1, 2, 1, 1]))) == [
        *("w0", "l0", "l1", "w1", "l2", "w2", "l3", "l4")
    ]
    assert list(in_step(pages("w", [4, 0]), pages("l", [0, 0, 1]))) == [
        "w0",
        "l0",
        "l1",
        "l2",
        "w1",
    ]
    assert list(in_step(pages("w", []), pages("l", [3, 0]))) == ["l0", "l1"]


class Counted:
    """Stands for a transaction: knows some charges, and counts how often each is asked for."""

    def __init__(self, charges: list[ChargeRow]) -> None:
        self.charges = self.decisions = self
        self._known = {one.window: one for one in charges}
        self.asked: list[tuple[str, int, int]] = []

    def among(self, given: str) -> list[ChargeRow]:
        """Return the charges of some windows."""
        windows = [window for window in self._known if f'"{window[0]}", {window[1]},' in given]
        self.asked += windows
        return [self._known[window] for window in windows]

    def stated_among(self, given: str) -> dict[Any, Any]:
        """Return that nothing is decided."""
        del given
        return {}


def test_what_is_near_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept while one more page is read, and not for ever."""
    monkeypatch.setattr(rows, "PAGE", 3)
    charges = [settled(A, index) for index in range(40)]
    tx: Any = Counted(charges)
    nearby = Nearby(tx)
    for first in range(0, 36, 3):
        page = charges[first : first + 3]
        assert [one.charge for one in nearby.beside(page).values()] == page
        again = {one.window for one in charges[max(first - 3, 0) : first + 4]}
        assert {one.charge for one in nearby.of(again).values()} == {
            one for one in charges if one.window in again
        }
    assert len(tx.asked) == len(set(tx.asked)) == 12
    gone = {charges[0].window, ("a", 7, 8)}
    found = nearby.of(gone)
    assert tx.asked[-1] == charges[0].window
    assert (found[charges[0].window].charge, found["a", 7, 8]) == (charges[0], (None, None))
