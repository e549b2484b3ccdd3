"""Heads noted elsewhere tell a ledger that was put back, or another copy that went on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.ledger import heads
from accountant.store.headfile import HeadFile, Noted
from accountant.units import PrivacyUnit
from tests.support.ledgers import A, open_ledger, requests, set_up, settle, terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accountant.ledger.ledger import Ledger

WINDOWS = 8


def test_every_head_that_was_is_known(ledger: Ledger) -> None:
    """Also those from before a compaction; the empty chain has one, too."""
    set_up(ledger, PrivacyUnit.EVENT, 100, [A])
    noted = [ledger.heads.now()]
    ledger.admit("s", requests([A], 10 * WINDOWS))
    for index in range(WINDOWS):
        noted.append(ledger.heads.now())
        ledger.mark_published(settle(ledger, A, index).key)
    noted.append(ledger.heads.now())
    assert len({one["s"] for one in noted}) == len(noted)
    assert [ledger.heads.problems(one) for one in noted] == [[]] * len(noted)
    assert ledger.upkeep.compact("s", 10 * WINDOWS - 20) > 0
    assert [ledger.heads.problems(one) for one in noted] == [[]] * len(noted)


def test_what_a_ledger_does_not_have_is_named(ledger: Ledger) -> None:
    """A chain that is shorter, a link that is another, a budget that is not there.

    Without numbers: how many links there are follows from what was counted, and a worker logs this.
    """
    set_up(ledger, PrivacyUnit.EVENT, 100, [A])
    ledger.admit("s", requests([A], 10 * WINDOWS))
    number, _, digest = ledger.heads.now()["s"].partition(":")
    later = f"{int(number) + 1}:{digest}"
    (shorter,) = ledger.heads.problems({"s": later})
    assert shorter == "budget 's' had a longer chain than this ledger has"
    changed = digest[:-1] + ("1" if digest.endswith("0") else "0")
    (another,) = ledger.heads.problems({"s": f"{number}:{changed}"})
    assert another == "budget 's' had another chain than this ledger has"
    (missing,) = ledger.heads.problems({"t": later})
    assert missing == "budget 't' is not in this ledger"
    with pytest.raises(ValueError, match="NUMBER:HASH"):
        ledger.heads.problems({"s": "nonsense"})


def test_a_head_where_the_chain_was_compacted_is_compared(ledger: Ledger) -> None:
    """Its link is gone, and its hash is kept."""
    set_up(ledger, PrivacyUnit.EVENT, 100, [A])
    ledger.admit("s", requests([A], 10 * WINDOWS))
    noted = {}
    for index in range(WINDOWS):
        ledger.mark_published(settle(ledger, A, index).key)
        number, _, digest = ledger.heads.now()["s"].partition(":")
        noted[int(number)] = digest
    assert ledger.upkeep.compact("s", 10 * WINDOWS - 20) > 0
    (budget,) = ledger.pins.budgets()
    base = budget.base_link
    assert ledger.heads.problems({"s": f"{base}:{noted[base]}"}) == []
    (another,) = ledger.heads.problems({"s": f"{base}:{noted[base + 1]}"})
    assert another == "budget 's' had another chain than this ledger has"


def test_heads_are_keyed(ledger: Ledger) -> None:
    """Who knows the chain, and not the ledger's secret, does not know its heads."""
    set_up(ledger, PrivacyUnit.EVENT, 100, [A])
    guessed = heads.Heads(ledger._access, bytes(32))
    assert guessed.now() != ledger.heads.now()


def test_equal_histories_have_heads_of_their_own(fresh: Callable[[], Ledger]) -> None:
    """Without the key nobody can try costs until a head fits, and each is of its budget."""
    one, other = fresh(), fresh()
    for ledger in (one, other):
        set_up(ledger, PrivacyUnit.EVENT, 100, [A])
    assert one.heads.now() != other.heads.now()
    assert one.heads.problems(other.heads.now())
    one.pins.register_budget(terms(PrivacyUnit.EVENT, 100, "t"))
    assert one.heads.problems({"t": one.heads.now()["s"]})


def test_a_copy_that_went_on_is_told_from_its_twin(new_url: Callable[[], str]) -> None:
    """Where both went on by as many links: one and the same key, other losses."""
    found = []
    with open_ledger(new_url(), entropy=bytes) as one, open_ledger(new_url(), entropy=bytes) as two:
        for ledger, units in ((one, 0), (two, 1)):
            set_up(ledger, PrivacyUnit.EVENT, 100, [A])
            ledger.admit("s", requests([A], 10 * WINDOWS))
            found.append(ledger.heads.now())
            settle(ledger, A, 0, units=units)
            found.append(ledger.heads.now())
        before, after, same, other = found
        assert before == same
        assert after["s"].split(":")[0] == other["s"].split(":")[0]
        assert two.heads.problems(before) == []
        (line,) = two.heads.problems(after)
        assert "had another chain" in line


def test_the_file_beside_a_ledger_stays_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was noted is compared and forgotten once it is long, also if nobody starts anew."""
    monkeypatch.setattr(heads, "_LONG", 300)
    file = HeadFile(tmp_path / "ledger.db.heads")
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        set_up(ledger, PrivacyUnit.EVENT, 100, [A])
        ledger.admit("s", requests([A], 10 * WINDOWS))
        for index in range(WINDOWS):
            settle(ledger, A, index)
            assert ledger.unpublished("a", 10**9)
            assert file.noted()[-1].head == ledger.heads.now()["s"]
            assert file.path.stat().st_size <= 300
        ledger.heads.keep()
        noted = file.noted()
        file.add([Noted(ledger.ledger_id, "s", "999:" + 32 * "0")] * 5)
        for _ in range(2):  # nor is it forgotten that it was refused
            with pytest.raises(LedgerRolledBackError, match="had a longer chain"):
                ledger.heads.check()
        ledger.heads.begin()
        assert file.noted() == noted[-1:]
