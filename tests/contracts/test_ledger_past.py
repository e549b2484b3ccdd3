"""What a process remembers of ended charges is what the database holds, or it is not used."""

from __future__ import annotations

import random
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from accountant.rules import past as past_module
from accountant.charging.past import Past
from accountant.errors import ClockError
from accountant.records import Answer
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from tests.support.ledgers import Clock, Series, deny, open_ledger, requests, set_up, settle
from tests.support.many import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from accountant.ledger.ledger import Ledger

NORTH, SOUTH = (Shape(Region.where(city=name).canonical, "one") for name in ("n", "s"))
ALL = (
    Series("a", units=3, shape=NORTH),
    Series("b", units=2, shape=SOUTH),
    Series("c", size=40, step=20, units=2),
    Series("d", size=20, units=3, shape=NORTH),
)
UNTIL_MS = 120


def rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Return everything in a ledger but what names it."""
    found = []
    for row in ledger.reports.export():
        row.pop("decided_at_ms", None)
        if row["record"] != "ledger":
            found.append(row)
    return found


def story(pick: Callable[[], Ledger], clock: Clock, seed: int) -> None:
    """Play a history; ask ``pick`` for the ledger of every call.

    Now and then the clock goes back, which undoes a settlement that was all but stored.
    """
    script = random.Random(seed)  # the same for every ledger that plays it
    left = {one: [n for n in range(12) if one.key(n).end_ms <= UNTIL_MS] for one in ALL}
    until_ms = 0
    while any(left.values()):
        until_ms = min(until_ms + script.choice([0, 0, 10]), UNTIL_MS)
        pick().admit("s", requests(ALL, until_ms))
        one = script.choice([series for series, windows in left.items() if windows])
        number, units, fails = left[one][0], script.randint(0, one.units), script.random() < 0.2
        if one.key(number).end_ms > until_ms:
            continue
        answer = pick().answer(one.key(number))
        if answer is Answer.PENDING:
            continue
        if answer is not Answer.RESERVED:
            deny(pick(), one, number, "budget")
        else:
            if fails:
                clock.now_ms -= 10_000
                with pytest.raises(ClockError):
                    settle(pick(), one, number, units=one.units)
                clock.now_ms += 10_000
            settle(pick(), one, number, units=units)
        clock.now_ms += 1
        left[one].pop(0)


def forgetting(ledger: Ledger) -> Iterator[Ledger]:
    """Yield a ledger again and again, each time with nothing remembered."""
    while True:
        ledger._past = Past()
        yield ledger


def alternating(seed: int, *ledgers: Ledger) -> Iterator[Ledger]:
    """Yield one ledger or another, each with what it remembers."""
    turns = random.Random(seed)  # which process is at it
    while True:
        yield turns.choice(ledgers)


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_remembering_changes_no_row(
    new_url: Callable[[], str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that remember write what one writes that reads everything every time."""
    exports = []
    for remembers in (True, False):
        clock, url = Clock(), new_url()
        monkeypatch.setattr(past_module, "_SPARE", seed % 3)
        monkeypatch.setattr(past_module, "_FAR", {7: 0, 8: 3}.get(seed, 20_000))
        same = {"entropy": bytes}  # the chains tell of which ledger they are
        with open_ledger(url, clock, **same) as one, open_ledger(url, clock) as other:
            set_up(one, PrivacyUnit.EVENT, 7, ALL)
            turns = alternating(seed, one, other) if remembers else forgetting(one)
            story(partial(next, turns), clock, seed)
            assert one.reports.verify() == []
            exports.append(rows(one))
    assert exports[0] == exports[1]
    assert {row["admission"] for row in exports[0] if row["record"] == "charges"} >= {
        "reserved",
        "refused",
    }


def restored(tmp_path: Path) -> Answer:
    """Decide on a ledger, put an older copy back under the running process, decide otherwise.

    Returns:
        What a window is answered beside one that only the lost timeline paid for.
    """
    a = Series("a", size=20, units=4)
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, PrivacyUnit.EVENT, 4, [a])
        ledger.admit("s", requests([a], 20))
        ledger._store.close()
        shutil.copy(path, backup)
        settle(ledger, a, 0)
        ledger.admit("s", requests([a], 30))
        assert ledger.answer(a.key(1)) is Answer.REFUSED
        ledger._store.close()
        shutil.copy(backup, path)
        settle(ledger, a, 0, units=0)
        ledger.admit("s", requests([a], 30))
        return ledger.answer(a.key(1))


def test_a_copy_that_was_put_back_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its chain has another link under the number that was remembered."""
    assert restored(tmp_path) is Answer.RESERVED
    # Broken twin: takes every chain for the one that was read.
    (tmp_path / "twin").mkdir()
    monkeypatch.setattr(past_module, "_continues", lambda *_: True)
    assert restored(tmp_path / "twin") is Answer.REFUSED


def test_each_ended_charge_is_read_once(fresh: Callable[[], Ledger]) -> None:
    """However many windows overlap, the next admission reads what ended since."""
    wide = Series("a", size=400, units=0)
    ledger = fresh()
    set_up(ledger, PrivacyUnit.EVENT, 5, [wide])
    works = []
    for number in range(12):
        with counted(ledger) as work:
            ledger.admit("s", [wide.request(number)])
        settle(ledger, wide, number)
        works.append(work)
    assert works[3] == works[11]


def test_compaction_is_noticed(fresh: Callable[[], Ledger]) -> None:
    """The link that was remembered may be gone, and charges with it."""
    a = Series("a", units=1)
    ledger = fresh()
    set_up(ledger, PrivacyUnit.EVENT, 1, [a])
    for number in range(6):
        ledger.admit("s", [a.request(number)])
        settle(ledger, a, number)
        ledger.mark_published(a.key(number))
        if number == 4:
            assert ledger.upkeep.compact("s", 40) > 0
    assert ledger.reports.verify() == []
