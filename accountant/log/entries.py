"""The facts that a ledger is made of: one frozen type a kind, its bytes, its place in the chain.

An entry is plain data. Its payload is JSON with the names of its fields, those at their defaults
left out, so that a new field with a default changes no old entry. Each entry's hash covers the
entry before it: whoever noted one number and hash (a *checkpoint*) is shown every later change of
what came up to it. What an entry means is said by :mod:`accountant.log.fold`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from accountant.costs.charges import WindowKey
from accountant.layouts import Growth
from accountant.records import (
    Answer,
    BudgetTerms,
    LogIdentity,
    Outcome,
    SeenDecision,
    StoredDecision,
)
from accountant.regions.shapes import Shape

__all__ = [
    "BEGINNING",
    "HASH_BYTES",
    "Admitted",
    "Answered",
    "Archived",
    "Asked",
    "Begun",
    "Budgeted",
    "Changed",
    "ClockSet",
    "Ended",
    "Entry",
    "FilesPinned",
    "Given",
    "Grown",
    "Head",
    "LogPinned",
    "OfWindow",
    "Passed",
    "Recovered",
    "Registered",
    "Retired",
    "RunLeft",
    "Snapshot",
    "Worst",
    "checkpoint_text",
    "decode",
    "digest_of_marks",
    "encode",
    "hash_after",
    "read_checkpoint",
    "window_name",
]

HASH_BYTES: Final = 16
BEGINNING: Final = bytes(HASH_BYTES)
"""The hash that the first entry covers."""

_LOWEST_MS: Final = 2**63


class Head(NamedTuple):
    """The last entry of a log: its number, from 1 on, and its hash."""

    number: int
    hash: bytes


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One fact. ``kind`` names its type for good, ``key`` what it is about."""

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """What it is about, for looking it up."""
        return ""


class OfWindow(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A window of a query."""

    query: str
    start_ms: int
    end_ms: int

    @property
    def window(self) -> WindowKey:
        """The window."""
        return WindowKey(self.end_ms, self.query, self.start_ms)


class Begun(Entry, frozen=True):
    """A ledger was made: its identity, a digest of its secret, the version of its entries."""

    kind: ClassVar = "begun"
    ledger_id: str
    secret: bytes
    created_ms: int
    version: int


class Budgeted(Entry, frozen=True):
    """A budget was registered."""

    kind: ClassVar = "budget"
    terms: BudgetTerms

    @property
    def key(self) -> str:
        """The budget."""
        return self.terms.scope


class LogPinned(Entry, frozen=True):
    """A feed was pinned to a log."""

    kind: ClassVar = "log"
    log: LogIdentity

    @property
    def key(self) -> str:
        """The feed."""
        return self.log.feed


class FilesPinned(Entry, frozen=True):
    """Files were replayed as a feed, by the digests of their bytes."""

    kind: ClassVar = "files"
    feed: str
    digests: tuple[str, ...]
    first_ms: int

    @property
    def key(self) -> str:
        """The feed."""
        return self.feed


class Grown(Entry, frozen=True):
    """A feed is getting more partitions, or has got them (``until_ms`` is known then)."""

    kind: ClassVar = "growth"
    growth: Growth

    @property
    def key(self) -> str:
        """The feed."""
        return self.growth.feed


class Registered(Entry, frozen=True):
    """A query was registered; ``cursor_ms`` is the start of the first window it decides."""

    kind: ClassVar = "query"
    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    shape: Shape
    cursor_ms: int
    share_units: int = 0

    @property
    def key(self) -> str:
        """The query."""
        return self.query


class Changed(Entry, frozen=True):
    """A query's new configuration was applied, from the window that starts at an instant on.

    What was open of it is given back; its run, its noisy counts and its partials are dropped.
    """

    kind: ClassVar = "changed"
    query: str
    fingerprint: str
    definition: str
    shape: Shape
    effective_from_ms: int
    share_units: int = 0

    @property
    def key(self) -> str:
        """The query."""
        return self.query


class Retired(Entry, frozen=True):
    """A query ended for good; what was open of it is given back."""

    kind: ClassVar = "retired"
    query: str

    @property
    def key(self) -> str:
        """The query."""
        return self.query


# Plain data is part of no circle: looking for one in those that come by the million took a seventh
# of `verify`, so they are `gc=False`.
class Asked(OfWindow, frozen=True, gc=False):
    """What one window asks for at worst, and what it was answered.

    Args:
        units: loss of one cell, in loss units; of a whole run where ``in_run``.
        cells_per_unit: cells that one privacy unit can reach.
        periods: starts (ms) of the budget periods it touches; empty under unit ``event``.
        in_run: whether it shares a run's charge.
        windows_per_period: in how many of its query's windows a person counts; ``None`` for all.
        held_units: what a window of a run holds, once it is reserved.
    """

    fingerprint: str
    units: int
    cells: int
    cells_per_unit: int
    answer: Answer
    periods: tuple[int, ...] = ()
    in_run: bool = False
    windows_per_period: int | None = None
    held_units: int | None = None


class Admitted(Entry, frozen=True):
    """Windows of a budget were asked for, in order; ``last`` is where its frontier stands now.

    Windows that can only be denied, and were not answered otherwise, are left out.
    """

    kind: ClassVar = "admitted"
    scope: str
    last: OfWindow
    windows: tuple[Asked, ...] = ()

    @property
    def key(self) -> str:
        """The budget."""
        return self.scope


class Given(OfWindow, frozen=True):
    """What a window that had waited was answered."""

    answer: Answer
    held_units: int | None = None


class Answered(Entry, frozen=True):
    """Windows were answered whose answer nothing can change any more."""

    kind: ClassVar = "answered"
    scope: str
    windows: tuple[Given, ...]

    @property
    def key(self) -> str:
        """The budget."""
        return self.scope


class RunLeft(msgspec.Struct, frozen=True, gc=False):
    """A run as a window left it; its state is private, and not here."""

    open_units: int
    alarm_units: int
    left: int
    alarms_rung: int
    opened_start_ms: int


class Ended(Entry, frozen=True, gc=False):
    """A window ended: decided at a cost, or denied.

    Args:
        alarms: which cells fired, as the caller wrote it.
        epsilon_units: loss per cell that its decision states.
        next_start_ms: start of the query's next window.
        answer: what it had been answered; missed where it was not asked for in its turn.
        asked: what was reserved for it; ``None`` where it drew nothing.
        settled_units: loss of its dearest cell, realised; ``None`` where it drew nothing.
        loss_units: loss of one privacy unit, realised.
        costs: of each cell, where they differ (:mod:`accountant.costs.levels`).
        run: the run that it was decided in, as it left it.
        left: digest, keyed with the ledger's secret, of the run's state or of its noisy counts.
        kept_from_ms: of a pane: no window to come reads one that starts before this.
    """

    kind: ClassVar = "ended"
    query: str
    start_ms: int
    end_ms: int
    sequence: int
    outcome: Outcome
    fingerprint: str
    next_start_ms: int
    release_ms: int
    decided_at_ms: int
    reason: str | None = None
    alarms: str = ""
    alarm_count: int = 0
    epsilon_units: int = 0
    answer: Answer = Answer.MISSED
    asked: Asked | None = None
    settled_units: int | None = None
    loss_units: int = 0
    costs: bytes | None = None
    run: RunLeft | None = None
    left: bytes | None = None
    kept_from_ms: int | None = None

    @property
    def key(self) -> str:
        """The window, so that those of a query are in the order of their starts."""
        return window_name(self.query, self.start_ms)

    @property
    def window(self) -> WindowKey:
        """The window."""
        return WindowKey(self.end_ms, self.query, self.start_ms)

    @property
    def draw(self) -> str | None:
        """Which draw of a pane's noise it left, in hex; ``None`` where it left none."""
        return self.left.hex() if self.left is not None and self.run is None else None

    def decision(self, ledger_id: str, *, published: bool) -> StoredDecision:
        """Return it as the decision that is released."""
        return StoredDecision(
            key=self.window,
            outcome=self.outcome,
            reason=self.reason,
            alarms=self.alarms.encode(),
            alarm_count=self.alarm_count,
            epsilon_units=self.epsilon_units,
            sequence=self.sequence,
            ledger_id=ledger_id,
            release_ms=self.release_ms,
            decided_at_ms=self.decided_at_ms,
            published=published,
            fingerprint=self.fingerprint,
            draw=self.draw,
        )


class Worst(Entry, frozen=True):
    """Unit ``event``: the dearest row of a budget has lost more than any had, for good."""

    kind: ClassVar = "worst"
    scope: str
    units: int

    @property
    def key(self) -> str:
        """The budget."""
        return self.scope


class Recovered(Entry, frozen=True):
    """Decisions that another copy released were taken over as spent.

    ``beside`` are windows among them that this ledger had decided, too: its own never leave.

    Their queries' cursors and numbers go on behind them; what is open before is spent, too; runs of
    the budgets end.
    """

    kind: ClassVar = "recovered"
    decisions: tuple[SeenDecision, ...]
    at_ms: int
    beside: tuple[OfWindow, ...] = ()


class Passed(Entry, frozen=True):
    """A query's cursor moved behind a recovered window that it had come to."""

    kind: ClassVar = "passed"
    query: str
    cursor_ms: int

    @property
    def key(self) -> str:
        """The query."""
        return self.query


class ClockSet(Entry, frozen=True):
    """The custodian put the mark of time back to the clock's."""

    kind: ClassVar = "clock"
    before_ms: int
    now_ms: int


class Archived(Entry, frozen=True):
    """Entries up to a number lie in a file.

    Args:
        file: its name.
        first: number of the first entry in it.
        last: number of the last.
        last_hash: its hash.
        before_ms: every window that ended in it ended by then: none that starts before is served.
        known: digests of what is kept of the decisions in it, so that they are known again.
    """

    kind: ClassVar = "archived"
    file: str
    first: int
    last: int
    last_hash: bytes
    before_ms: int
    known: tuple[bytes, ...] = ()


class Snapshot(Entry, frozen=True):
    """All that the entries before it come to: the fold may begin here."""

    kind: ClassVar = "snapshot"
    state: msgspec.Raw
    """As :func:`accountant.log.images.dump` writes it."""


_KINDS: Final = (
    Begun,
    Budgeted,
    LogPinned,
    FilesPinned,
    Grown,
    Registered,
    Changed,
    Retired,
    Admitted,
    Answered,
    Ended,
    Worst,
    Recovered,
    Passed,
    ClockSet,
    Archived,
    Snapshot,
)
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    one.kind: msgspec.json.Decoder(one) for one in _KINDS
}
_ENCODER: Final = msgspec.json.Encoder()


def encode(entry: Entry) -> bytes:
    """Return an entry's payload."""
    return _ENCODER.encode(entry)


def decode(kind: str, payload: bytes) -> Entry:
    """Return the entry of a payload.

    Raises:
        ValueError: it is none of this version.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise ValueError(f"no entry is of kind {kind!r}")
    found: Entry = decoder.decode(payload)
    return found


def hash_after(last: bytes, number: int, kind: str, key: str, payload: bytes) -> bytes:
    """Return the hash of an entry, from that of the one before it."""
    about = _ENCODER.encode((number, kind, key))
    return blake2b(b"".join((last, about, payload)), digest_size=HASH_BYTES).digest()


def window_name(query: str, start_ms: int) -> str:
    """Return a window's key: the keys of one query sort as its windows start."""
    return f"{query}\t{start_ms + _LOWEST_MS:020d}"


def checkpoint_text(head: Head) -> str:
    """Return an entry's number and hash as ``NUMBER:HASH``, to note elsewhere."""
    return f"{head.number}:{head.hash.hex()}"


def digest_of_marks(marks: bytes) -> bytes:
    """Return what :class:`Archived` has of the marks by which decisions are known again."""
    return blake2b(marks, digest_size=HASH_BYTES).digest()


def read_checkpoint(text: str) -> Head:
    """Return the number and the hash of :func:`checkpoint_text`.

    Raises:
        ValueError: it is no such text.
    """
    number, _, digest = text.partition(":")
    if not number.isdecimal() or len(digest) != 2 * HASH_BYTES:
        raise ValueError("a checkpoint is NUMBER:HASH, as `status` shows it")
    return Head(int(number), bytes.fromhex(digest))
