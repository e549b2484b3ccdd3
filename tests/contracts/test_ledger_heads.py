"""Heads noted elsewhere tell a ledger that was put back, or another copy that went on."""

from __future__ import annotations

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.ledger import heads
from accountant.store.headfile import HeadFile, Noted
from tests.support.archived import moved
from tests.support.ledgers import EVENT, A, B, admit, open_ledger, set_up, settle

DATABASES = ["sqlite"]
WINDOWS = 8


def filled(ledger):
    """Decide windows and release them; return the heads in between."""
    set_up(ledger, EVENT, 100, [A])
    noted = [ledger.heads.now()]
    admit(ledger, 10 * WINDOWS, A)
    for index in range(WINDOWS):
        noted.append(ledger.heads.now())
        ledger.mark_published(settle(ledger, A, index).key)
    return [*noted, ledger.heads.now()]


@pytest.mark.parametrize("archived", [False, True])
def test_every_head_that_was_is_known_and_no_other(ledger, archived):
    """Also those of entries that lie in an archive; from its end on all is compared.

    Without numbers: how many entries there are follows from what was counted, and a worker logs
    this.
    """
    noted = dict(one.split(":") for one in filled(ledger))
    last = moved(ledger, 10 * WINDOWS - 20)[-1].seq if archived else 1
    assert ledger.heads.problems([f"{number}:{digest}" for number, digest in noted.items()]) == []
    compared = [number for number in noted if int(number) >= last]
    assert str(last) in compared or not archived
    for number in compared:
        (line,) = ledger.heads.problems([f"{number}:{noted[number][::-1]}"])
        assert line == "something else was appended than this ledger has"
    number, digest = ledger.heads.now().split(":")
    (line,) = ledger.heads.problems([f"{int(number) + 1}:{digest}"])
    assert line == "more was appended than this ledger has"
    with pytest.raises(ValueError, match="NUMBER:HASH"):
        ledger.heads.problems(["nonsense"])


def test_a_release_tells_what_it_may_take_along(ledger):
    """The last decision of each query up to the head, and of others that nothing was decided."""
    set_up(ledger, EVENT, 10, [A, B])
    admit(ledger, 30, A, B)
    assert ledger.heads.release() == (ledger.heads.now(), {"a": 0, "b": 0})
    settle(ledger, A, 0)
    settle(ledger, A, 1)
    settle(ledger, B, 0)
    assert ledger.heads.release() == (ledger.heads.now(), {"a": 2, "b": 1})


def test_heads_are_keyed(ledger):
    """Who knows the chain, and not the ledger's secret, does not know its heads."""
    set_up(ledger, EVENT, 100, [A])
    guessed = heads.Heads(ledger._door, bytes(32))
    assert guessed.now() != ledger.heads.now()


def test_a_copy_that_went_on_is_told_from_its_twin(new_url):
    """Where both went on by as many entries: one and the same key, other losses."""
    found = []
    with open_ledger(new_url(), entropy=bytes) as one, open_ledger(new_url(), entropy=bytes) as two:
        for ledger, units in ((one, 1), (two, 2)):
            set_up(ledger, EVENT, 100, [B])
            admit(ledger, 10 * WINDOWS, B)
            found.append(ledger.heads.now())
            settle(ledger, B, 0, units=units)
            found.append(ledger.heads.now())
        before, after, same, other = found
        assert before == same
        assert after.split(":")[0] == other.split(":")[0]
        assert two.heads.problems([before]) == []
        (line,) = two.heads.problems([after])
        assert "something else was appended" in line


def test_the_file_beside_a_ledger_stays_short(tmp_path, monkeypatch):
    """What was noted is compared and forgotten once it is long, also if nobody starts anew."""
    monkeypatch.setattr(heads, "_LONG", 300)
    file = HeadFile(tmp_path / "ledger.db.heads")
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        set_up(ledger, EVENT, 100, [A])
        admit(ledger, 10 * WINDOWS, A)
        for index in range(WINDOWS):
            settle(ledger, A, index)
            assert ledger.unpublished("a", 10**9)
            assert file.noted()[-1].head == ledger.heads.now()
            assert file.path.stat().st_size <= 300
        ledger.heads.keep()
        noted = file.noted()
        file.add(Noted(ledger.ledger_id, "999:" + 32 * "0"))
        for _ in range(2):  # nor is it forgotten that it was refused
            with pytest.raises(LedgerRolledBackError, match="more was appended"):
                ledger.heads.check()
        ledger.heads.begin()
        assert file.noted() == noted[-1:]
