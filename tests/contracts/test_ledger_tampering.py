"""Every value of every row is edited and every row deleted: verify names all that matters."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import pytest
import sqlalchemy as sa

from accountant.audit import verify
from accountant.store.tables.charged import LINKS
from accountant.store.tables.journal import CLOCK_SET
from accountant.store.transaction import Transaction
from tests.support.everyrow import edits, fill, tampering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.ledger.ledger import Ledger
    from tests.support.everyrow import Edit
    from tests.support.ledgers import Clock

EXEMPT: Final = {
    "ledger.clock_ms": "some ms more or less, and all that lies behind the last decision: it only "
    "refuses a clock that goes back",
    "decisions.published": "it turns when a decision leaves: one that leaves twice has the same "
    "id, one that does not is a hole in the numbers that analysts see",
    "adopted.adopted_at_ms": "when the custodian took it over: shown, and nothing follows from it",
    "partials": "a count that is gone is counted again, from the same slice of the log",
    "marks": "a mark that is gone is sought before: reading begins earlier, and no count changes",
    "places": "what partitions look like now, written anew every few seconds: a window that it "
    "denies is not charged",
    "journal": "how often workers started and what stopped them: nothing follows from it",
    "writers": "with fewer releases than were said outside a start is refused; with more, a copy "
    "is told apart by heads and by the decisions topic alone",
}
"""What verify does not see, with the reason: a column, the deletion of a row, or a whole table."""

WHOLE: Final = {"places", "journal", "writers"}


def exempt(edit: Edit) -> str:
    """Return under what an edit is exempt; empty where it has to be seen."""
    if edit.table.name == "journal" and CLOCK_SET in edit.key:
        return ""
    place = edit.table.name if edit.table.name in WHOLE else edit.place
    return place if place in EXEMPT else ""


def some(all_edits: Iterable[Edit], *, each: int) -> Iterator[Edit]:
    """Leave out what is much alike: of an edit, those of ``each`` rows stay, other ones each time.

    Every column is still edited in every way, and every row deleted, but for links: those are in
    :mod:`tests.contracts.test_ledger_chain`.
    """
    alike: defaultdict[tuple[str, str], list[Edit]] = defaultdict(list)
    for edit in all_edits:
        alike[edit.place, edit.how].append(edit)
    for number, mine in enumerate(alike.values()):
        if not mine[0].column and mine[0].table is not LINKS:
            yield from mine
            continue
        step = max(len(mine) // each, 1)
        yield from mine[number % step :: step][:each]


def unseen(connection: sa.Connection, made: Iterable[Edit]) -> Iterator[Edit]:
    """Make edits, each alone, and yield those that verify says nothing of."""
    tx = Transaction(connection)
    for edit in made:
        step = connection.begin_nested()
        try:
            edit.make(tx)
            seen = bool(verify.problems(tx, {}))
        except sa.exc.IntegrityError:
            seen = True  # the database itself does not take it
        finally:
            step.rollback()
        if not seen:
            yield edit


@pytest.fixture
def filled(ledger: Ledger, clock: Clock) -> Ledger:
    """A ledger with rows in every table."""
    fill(ledger, clock)
    assert ledger.reports.verify() == []
    return ledger


def test_every_edit_is_seen_or_exempt(filled: Ledger) -> None:
    """What changes what may be spent or what was released is named; the rest is listed above."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    with tampering(filled) as connection:
        quick = connection.dialect.name == "sqlite"
        chosen = list(some(edits(connection), each=1))
        if not quick:  # the same checks over another driver: some of them show that they run
            chosen = chosen[::6]
        for edit in unseen(connection, chosen):
            found[exempt(edit)].append(f"{edit.place} of {edit.key}: {edit.how}")
    assert found.pop("", []) == []
    if quick:
        assert found.keys() == EXEMPT.keys(), "what is exempt is not seen"


def test_a_mark_of_time_before_what_was_seen_is_named(filled: Ledger) -> None:
    """Where the clock was set, the mark never stands before that."""
    with tampering(filled) as connection:
        tx = Transaction(connection)
        was_set = tx.journal.get(entry=CLOCK_SET)
        assert was_set is not None
        tx.identity.change({"id": 1}, clock_ms=was_set.last_ms - 1)
        (problem,) = verify.problems(tx, {})
        assert "before what the ledger has seen" in problem
