"""Heads noted elsewhere tell a ledger that was put back, or another copy that went on."""

from __future__ import annotations

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.ledger import heads
from accountant.store.headfile import HeadFile, Noted
from tests.support.archived import move_all, moved
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


def test_every_head_that_was_is_known(ledger):
    """Also those of entries that lie in an archive."""
    noted = filled(ledger)
    assert len(set(noted)) == len(noted)
    assert [ledger.heads.problems([one]) for one in noted] == [[]] * len(noted)
    assert move_all(ledger, 10 * WINDOWS - 20) > 0
    assert [ledger.heads.problems([one]) for one in noted] == [[]] * len(noted)


def test_what_a_ledger_does_not_have_is_named(ledger):
    """A log that is shorter, an entry that is another.

    Without numbers: how many entries there are follows from what was counted, and a worker logs
    this.
    """
    (*_, last) = filled(ledger)
    number, _, digest = last.partition(":")
    (shorter,) = ledger.heads.problems([f"{int(number) + 1}:{digest}"])
    assert shorter == "more was appended than this ledger has"
    changed = digest[:-1] + ("1" if digest.endswith("0") else "0")
    (another,) = ledger.heads.problems([f"{number}:{changed}"])
    assert another == "something else was appended than this ledger has"
    with pytest.raises(ValueError, match="NUMBER:HASH"):
        ledger.heads.problems(["nonsense"])


def test_a_head_where_an_archive_ends_is_compared(ledger):
    """Its entry is gone, and its hash is kept."""
    noted = dict(one.split(":") for one in filled(ledger))
    last = moved(ledger, 10 * WINDOWS - 20)[-1].seq
    assert ledger.heads.problems([f"{last}:{noted[str(last)]}"]) == []
    other = next(digest for number, digest in noted.items() if number != str(last))
    (another,) = ledger.heads.problems([f"{last}:{other}"])
    assert another == "something else was appended than this ledger has"


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
