"""What contradicts a ledger: its log, followed hash by hash and folded again from the beginning.

What it comes to is compared with the snapshots in it, with the working rows and with the mark of
time. Read from its beginning, what it granted is added up by :mod:`accountant.audit.sums`.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

from accountant.arguments import sentence_of
from accountant.audit.sums import Sums
from accountant.collecting import without_collector
from accountant.errors import LedgerCorruptError, LedgerError
from accountant.log import entries, images
from accountant.log.entries import BEGINNING, Changed, Ended, Head, Retired, Snapshot
from accountant.log.fold import apply
from accountant.log.state import State
from accountant.loss.gaussian import Gaussian
from accountant.rules.refusals import utc_text
from accountant.store.private import NOISY, RUN
from accountant.store.transaction import CLOCK, CLOCK_GRAIN_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.store.entry_rows import EntryRow
    from accountant.store.transaction import Transaction

__all__ = ["problems"]


@without_collector()
def problems(
    tx: Transaction,
    checkpoints: Mapping[int, bytes],
    since: Head | None = None,
    archived: Iterable[EntryRow] | None = None,
) -> list[str]:
    """Return what contradicts the log, one sentence each; empty when all is well.

    Args:
        tx: a transaction that sees one snapshot.
        checkpoints: entries noted elsewhere: number and hash.
        since: the entry that is trusted with all that came before it.
        archived: entries that lie in archives, in order; ``None`` where they are not read.
    """
    found: list[str] = []
    try:
        for one in _problems(tx, checkpoints, since, archived, found):
            found.append(one)  # noqa: PERF402  # what was found before an error is told
    except (ValueError, TypeError, LookupError) as error:
        found.append(f"a row cannot even be read: {sentence_of(error)}")
    except LedgerError as error:
        found.append(error.message)
    return found


def _problems(
    tx: Transaction,
    checkpoints: Mapping[int, bytes],
    since: Head | None,
    archived: Iterable[EntryRow] | None,
    found: list[str],
) -> Iterator[str]:
    for table, wrong in tx.wrong():
        yield f"a row of {table} is not what was stored: {tuple(wrong[:2])}"
    noted = checkpoints if since is None else {**checkpoints, since.number: since.hash}
    follower = _Follower(noted, found)
    for row in archived or ():
        follower.take(row)
    first, last = tx.log.bounds()
    begin = follower.head.number + 1
    if since is not None:
        begin = max(begin, since.number)
    for row in tx.log.since(max(begin, first)):
        follower.take(row)
    yield from follower.begun(since, whole=archived is not None)
    yield from follower.end(last)
    yield from _beside(tx, follower)


class _Follower:
    """Follows the log and folds it; an entry that does not fit is named and taken as it stands.

    Args:
        checkpoints: entries noted elsewhere: number and hash.
        found: what is wrong is added to it.
    """

    def __init__(self, checkpoints: Mapping[int, bytes], found: list[str]) -> None:
        self._wrong = found
        self.head = Head(0, BEGINNING)
        self.state: State | None = State(self.head)
        self.panes: defaultdict[str, dict[tuple[int, int], bytes]] = defaultdict(dict)
        """What windows to come read of the panes that were read here, by query."""
        self._checkpoints = dict(checkpoints)
        self._first: EntryRow | None = None
        self._sums: Sums | None = Sums()

    def take(self, row: EntryRow) -> None:
        """Take the next entry."""
        wrong = self._wrong
        self._first = self._first or row
        if row.seq != self.head.number + 1:
            # The fold goes on behind the next snapshot: what came before lies elsewhere.
            if self.head.number:
                wrong.append(f"entry {self.head.number + 1} of the ledger is missing")
            self.state = self._sums = None
        elif entries.hash_after(self.head.hash, *row[:4]) != row.hash:
            wrong.append(f"entry {row.seq} of the ledger is not what was stored")
        noted = self._checkpoints.pop(row.seq, row.hash)
        if noted != row.hash:
            wrong.append(f"entry {row.seq} is not the one that was noted")
        self.head = Head(row.seq, row.hash)  # of what is there, right or wrong
        entry = entries.decode(row.kind, row.payload)
        if (entry.kind, entry.key) != (row.kind, row.key):
            wrong.append(f"entry {row.seq} of the ledger is about something else than it says")
        if self.state is not None:
            if isinstance(entry, Snapshot) and not _same(entry, self.state, self.head):
                wrong.append(f"snapshot {row.seq} is not what the entries before it come to")
            apply(self.state, entry, self.head)
            if self._sums is not None:
                wrong.extend(self._sums.take(entry, self.state))
        elif isinstance(entry, Snapshot):
            self.state = images.load(bytes(entry.state), self.head)
        self._keep_panes(entry)

    @property
    def whole(self) -> bool:
        """Whether all entries were read, from the first one on."""
        return self._sums is not None

    def begun(self, since: Head | None, *, whole: bool) -> Iterator[str]:
        """Say whether what came before the first entry that was taken lies in an archive.

        Args:
            since: the entry that is trusted.
            whole: whether archives were read, too.
        """
        first = self._first
        if first is None or first.seq == 1 or (since is not None and first.seq == since.number):
            return
        archives = () if self.state is None else self.state.archives
        if whole or not archives or first.seq > archives[-1].last + 1:
            yield "the beginning of the log is missing"
        elif first.seq == archives[-1].last + 1:  # before it, they are still leaving step by step
            said = (archives[-1].last_hash, first.seq, first.kind, first.key, first.payload)
            if entries.hash_after(*said) != first.hash:
                yield f"entry {first.seq} does not follow on what lies in {archives[-1].file}"

    def end(self, last: int) -> Iterator[str]:
        """Say whether it ended where it should."""
        if self.head.number != last:
            yield f"the log ends at entry {last}, not at {self.head.number}"
        known = (
            {} if self.state is None else {one.last: one.last_hash for one in self.state.archives}
        )
        for number, noted in sorted(self._checkpoints.items()):
            if number > last:
                yield f"entry {number} was noted, the log is shorter"
            elif number not in known:
                yield f"entry {number} was noted and was not read: give the archive it lies in"
            elif known[number] != noted:
                yield f"entry {number} is not the one that was noted"

    def _keep_panes(self, entry: entries.Entry) -> None:
        if isinstance(entry, Ended):
            if entry.left is None or entry.run is not None:
                return
            mine, kept_from_ms = self.panes[entry.query], entry.kept_from_ms or 0
            for span in list(takewhile(lambda one: one[0] < kept_from_ms, mine)):
                del mine[span]
            mine[entry.start_ms, entry.end_ms] = entry.left
        elif isinstance(entry, Changed | Retired):
            self.panes.pop(entry.query, None)


def _same(snapshot: Snapshot, state: State, head: Head) -> bool:
    said = images.load(bytes(snapshot.state), head)
    return said is not None and images.dump(said, live=False) == images.dump(state, live=False)


def _beside(tx: Transaction, follower: _Follower) -> Iterator[str]:
    """Compare the working rows with what the log says of them."""
    state = follower.state
    if state is None:
        return
    image = tx.kept.get(name=images.IMAGE)
    known = None if image is None else tx.log.at(image.number)
    if image is not None and (known is None or not image.body.startswith(known.hash)):
        yield "the state was written down after an entry that is not there"
    yield from _promise_problems(state)
    yield from _private_problems(tx, state, follower)
    yield from _mark_problems(tx, state)
    clock_ms = tx.counters.of(CLOCK)[0]
    last = (one.last_ms for query in state.queries.values() for one in query.ended.values())
    since_ms = max(last, default=state.created_ms) - CLOCK_GRAIN_MS
    if state.clock_set_ms is not None:
        since_ms = state.clock_set_ms
    if clock_ms < since_ms:
        yield f"the ledger's clock, {utc_text(clock_ms)}, is behind its entries"


def _promise_problems(state: State) -> Iterator[str]:
    for name, budget in state.budgets.items():
        gaussian = Gaussian.read(budget.terms.promise)
        if gaussian is not None and gaussian.wall_units != budget.terms.epsilon_max_units:
            yield f"budget {name!r}: its limit does not match its epsilon_max and delta"
    for feed in state.logs:
        yield from state.layouts(feed).problems()


def _private_problems(tx: Transaction, state: State, follower: _Follower) -> Iterator[str]:
    for query in state.queries.values():
        try:
            tx.private.run(query.run, query.left)
        except LedgerCorruptError as error:
            yield error.message
    for row in tx.private.each():
        if row.kind == RUN and state.queries[row.query].run is None:
            yield f"an SVT run of {row.query!r} outlived its configuration"
        if row.kind != NOISY:
            continue
        left = follower.panes[row.query].pop((row.start_ms, row.end_ms), None)
        if left is None and follower.whole:
            yield f"noisy counts of {row.query!r} belong to no decision"
        elif left not in {None, tx.private.digest_of(row)}:
            yield f"noisy counts of {row.query!r} are not as their decision left them"
    for name, gone in follower.panes.items():
        if gone:
            yield f"noisy counts of {name!r} are gone, and windows to come read them"


def _mark_problems(tx: Transaction, state: State) -> Iterator[str]:
    there = {entries.digest_of_marks(row.body) for row in tx.kept.each()}
    for one in state.archives:
        if not there.issuperset(one.known):
            yield f"the identifiers of the decisions in {one.file} are missing"
