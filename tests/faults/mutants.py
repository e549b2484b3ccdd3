"""Ways to break the protocol, each a change of the real code that the simulator has to find.

A mutant is one mistake that somebody could make: something is left out, done too early, or done in
the other order.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from accountant.budget.filter import UserFilter
from accountant.ledger import upkeep
from accountant.ledger.door import Door
from accountant.ledger.heads import Heads
from accountant.ledger.ledger import Ledger
from accountant.ledger.upkeep import Upkeep
from accountant.records import Answer, Outcome, StoredDecision
from accountant.store import headfile, store
from stream.counting.bounding import Bounds
from stream.counting.counter import WindowCounter
from stream.counting.partition import PartitionReader
from stream.decisions import judge
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from stream.decisions.waiting import Awaited
from stream.kafka import guard, ingest, publish, takeover
from stream.kafka.clock import HeldClock
from stream.kafka.witness import Witness
from tests.faults.scene import alarms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accountant.log.state import State
    from accountant.store.transaction import Transaction

_Changes = list[tuple[Any, str, Any]]


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


# --- what is kept


def _heads_not_synced() -> _Changes:
    def add(self: headfile.HeadFile, head: headfile.Noted) -> int:
        with self._failing(), self._locked() as file:
            os.write(file, headfile._line(head))
            return os.fstat(file).st_size

    return [(headfile.HeadFile, "add", add)]


def _commits_not_synced() -> _Changes:
    prepare = store._prepare_sqlite

    def hasty(connection: Any, record: Any) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    return [(store, "_prepare_sqlite", hasty)]


# --- what is charged


def _charged_after_the_draw() -> _Changes:
    admit = judge.Judge._admit_through

    def draw_first(self: judge.Judge, query: Any, key: Any) -> None:
        partials = judge.WindowPartials.of(self._ledger.counts.partials(key))
        self._draw(query, key, query.calendar.first_starting_at(key.start_ms), partials, None)
        admit(self, query, key)

    return [(judge.Judge, "_admit_through", draw_first)]


# --- what leaves


def _published_before_it_is_stored() -> _Changes:
    settle = Ledger.settle

    async def leave(value: bytes) -> None:
        producer = publish.AIOKafkaProducer()
        await producer.send_and_wait(alarms().kafka.decisions_topic, value)

    def settle_late(self: Ledger, key: Any, **fields: Any) -> StoredDecision:
        with self._door.state() as state:
            number = state.queries[key.query].sequence + 1
        kept = ("fingerprint", "alarms", "alarm_count", "release_ms")
        decision = StoredDecision(
            key=key,
            outcome=Outcome.DECIDED,
            reason=None,
            epsilon_units=fields["cost"].worst_units,
            sequence=number,
            ledger_id=self.ledger_id,
            decided_at_ms=0,
            published=False,
            **{name: fields[name] for name in kept},
        )
        asyncio.run(leave(encode(decision_record(alarms().by_name[key.query], alarms(), decision))))
        return settle(self, key, **fields)

    return [(Ledger, "settle", settle_late)]


def _marked_before_it_is_published() -> _Changes:
    send = publish.Publisher._send

    async def mark_first(self: publish.Publisher, producer: Any, decision: Any, at: int) -> None:
        self.runtime.ledger.mark_published(decision.key)
        await send(self, producer, decision, at)

    return [(publish.Publisher, "_send", mark_first)]


def _alarms_before_their_decision() -> _Changes:
    send = publish.Publisher._send

    async def alarms_first(self: publish.Publisher, producer: Any, decision: Any, at: int) -> None:
        query = self.runtime.alarms.by_name[decision.key.query]
        for alarm in alarm_records(query, decision):
            await producer.send_and_wait(alarms().kafka.alarms_topic, encode(alarm))
        await send(self, producer, decision, at)

    return [(publish.Publisher, "_send", alarms_first)]


def _denials_kept_silent() -> _Changes:
    unpublished = Ledger.unpublished

    def decided_only(self: Ledger, *arguments: Any) -> list[StoredDecision]:
        found = unpublished(self, *arguments)
        return [one for one in found if one.outcome is Outcome.DECIDED]

    return [(Ledger, "unpublished", decided_only)]


# --- what processes believe


def _others_entries_not_folded() -> _Changes:
    caught_up = Door._caught_up

    def own_alone(self: Door, tx: Transaction) -> State:
        return caught_up(self, tx) if self._state is None else self._state

    return [(Door, "_caught_up", own_alone)]


# --- who may


def _release_not_said() -> _Changes:
    async def release(self: Witness) -> Mapping[str, int]:
        return (await asyncio.to_thread(self.ledger.heads.release))[1]

    return [(Witness, "release", release)]


def _ahead_forgotten() -> _Changes:
    agrees = HeldClock.agrees

    def forget(self: HeldClock, asked_ms: int, broker_ms: int) -> None:
        apart_ms = self._apart_ms
        agrees(self, asked_ms, broker_ms)
        self._apart_ms = apart_ms

    return [(HeldClock, "agrees", forget)]


# --- what is counted


def _no_seek_back() -> _Changes:
    async def at_the_end(*asked: Any) -> int:
        return int(asked[-1])

    return [(ingest, "_appended_since", at_the_end)]


def _one_record_skipped_at_a_rebalance() -> _Changes:
    take_over = ingest.Ingest._take_over

    def further(self: ingest.Ingest, consumer: Any) -> None:
        for assigned in self.assigned.values():
            assigned.position += 1
        take_over(self, consumer)

    return [(ingest.Ingest, "_take_over", further)]


def _bounded(**changed: Any) -> _Changes:
    of = Bounds.of
    return [(Bounds, "of", staticmethod(lambda *asked: replace(of(*asked), **changed)))]


def _late_events_counted() -> _Changes:
    make = WindowCounter.__init__

    def patient(self: WindowCounter, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        self._grace_ms += 3_000

    return [(WindowCounter, "__init__", patient)]


def _open_transactions_read() -> _Changes:
    make = ingest.Ingest._consumer

    def uncommitted(self: ingest.Ingest) -> Any:
        consumer = make(self)
        consumer._committed = False
        return consumer

    return [(ingest.Ingest, "_consumer", uncommitted)]


def _idle_partitions_cut_early() -> _Changes:
    arrived = PartitionReader.arrived_through

    def early(self: PartitionReader, time_ms: int) -> None:
        arrived(self, time_ms + 3_000)

    return [
        (PartitionReader, "arrived_through", early),
        (PartitionReader, "oldest_open_cut_ms", lambda _: 0),
    ]


MUTANTS: Final[Mapping[str, Callable[[], _Changes]]] = MappingProxyType(
    {
        "heads are written and not synced": _heads_not_synced,
        "heads are not noted": lambda: [(Heads, "keep", _nothing)],
        "commits do not wait for the disk": _commits_not_synced,
        "charged after the draw": _charged_after_the_draw,
        "no wall": lambda: [(UserFilter, "answer", lambda *_: Answer.RESERVED)],
        "reconcile charges nothing": lambda: [(Upkeep, "reconcile", lambda _, seen: len(seen))],
        "another ledger's spending is not carried over": lambda: [
            (takeover, "take_over", lambda *_: 0)
        ],
        "published before it is stored": _published_before_it_is_stored,
        "marked before it is published": _marked_before_it_is_published,
        "alarms before their decision": _alarms_before_their_decision,
        "denials are kept silent": _denials_kept_silent,
        "what others appended is not folded": _others_entries_not_folded,
        "an archive forgets what was decided": lambda: [(upkeep, "knows", lambda *_: False)],
        "a release is not said": _release_not_said,
        "claims are not asked for": lambda: [
            (Witness, "_refuse_others", _nothing),
            (guard, "check_ledger", _nothing),
        ],
        "old copies are not refused": lambda: [
            (Witness, "_refuse_copies", _nothing),
            (guard, "check_ledger", _nothing),
            (Heads, "lost", lambda _: []),
            (Heads, "_lost", lambda *_: []),
        ],
        "how far the clock is ahead is forgotten": _ahead_forgotten,
        "the clock is believed": lambda: [
            (HeldClock, "agrees", _nothing),
            (HeldClock, "__call__", lambda self: self._wall_ms()),
        ],
        "no seek back after a start": _no_seek_back,
        "one record skipped at a rebalance": _one_record_skipped_at_a_rebalance,
        "duplicates are counted": lambda: _bounded(deduplicate=False),
        "rooms are not capped": lambda: _bounded(predicates_per_window=9),
        "late events are counted": _late_events_counted,
        "open transactions are read": _open_transactions_read,
        "idle partitions are cut early": _idle_partitions_cut_early,
        "decided on a part of the partitions": lambda: [(Awaited, "__bool__", lambda _: False)],
    }
)
"""By what is wrong."""


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Break the real code in one way while the block runs."""
    with ExitStack() as stack:
        for where, attribute, changed in MUTANTS[name]():
            stack.enter_context(mock.patch.object(where, attribute, changed))
        yield
