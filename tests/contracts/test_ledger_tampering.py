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
from tests.support.ledgers import set_up
from tests.support.runs import RUN, USER, WHOLE, ask, ring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.ledger.ledger import Ledger
    from tests.support.everyrow import Edit
    from tests.support.ledgers import Clock

EXEMPT: Final = {
    "ledger.clock_ms": "some ms more or less, and all that lies behind the last decision: it only "
    "refuses a clock that goes back",
    "ledger.schema_version": "workers of another version stop, and nothing is spent",
    "decisions.published": "it turns when a decision leaves: one that leaves twice has the same "
    "id, one that does not is a hole in the numbers that analysts see",
    "adopted.adopted_at_ms": "when the custodian took it over: shown, and nothing follows from it",
    "partials": "a count that is gone is counted again, from the same slice of the log",
    "used": "what people used up that is gone is counted again, from the period's beginning",
    "marks": "a mark that is gone is sought before: reading begins earlier, and no count changes",
    "drawn": "how much of a share is kept from others yet: whoever is granted less or more for it, "
    "the wall is held by totals of its own; too much is seen where no charge was compacted",
    "places": "what partitions look like now, written anew every few seconds: a window that it "
    "denies is not charged",
    "journal": "how often workers started and what stopped them: nothing follows from it",
    "writers": "with fewer releases than were said outside a start is refused; with more, a copy "
    "is told apart by heads and by the decisions topic alone",
}
"""What verify does not see, with the reason: a column, the deletion of a row, or a whole table."""

WHOLE_TABLES: Final = {"drawn", "places", "journal", "writers"}


def exempt(edit: Edit) -> str:
    """Return under what an edit is exempt; empty where it has to be seen."""
    if edit.table.name == "journal" and CLOCK_SET in edit.key:
        return ""
    place = edit.table.name if edit.table.name in WHOLE_TABLES else edit.place
    return place if place in EXEMPT else ""


def some(all_edits: Iterable[Edit]) -> Iterator[Edit]:
    """Leave out what is much alike, because each takes verify some hundredths of a second.

    Every column is still edited in every way, and in rows of every state; and every row is deleted,
    but for links: those are in :mod:`tests.contracts.test_ledger_chain`.
    """
    done: set[tuple[str, str]] = set()
    for edit in all_edits:
        fresh = {(edit.place, edit.how), (edit.place, edit.words)} - done
        if fresh or (not edit.column and edit.table is not LINKS):
            done |= fresh
            yield edit


def unseen(connection: sa.Connection, made: Iterable[Edit]) -> Iterator[Edit]:
    """Make edits, each alone, and yield those that verify says nothing of."""
    for edit in made:
        step = connection.begin_nested()
        tx = Transaction(connection)  # a new one each time: it keeps some of what it has read
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
        chosen = list(some(edits(connection)))
        if not quick:  # the same checks over another driver: some of them show that they run
            chosen = chosen[::9]
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


def test_a_run_that_is_gone_is_named(ledger: Ledger) -> None:
    """Also where no open window holds what is left of it."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 10)
    ring(ledger, 0, 1)
    assert ledger.reports.verify() == []
    with tampering(ledger) as connection:
        tx = Transaction(connection)
        tx.runs.drop(query=RUN.query)
        assert verify.problems(tx, {}) == ["the run of 'r' is gone, and nothing has ended it"]
