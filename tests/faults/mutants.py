"""Ways to break the protocol, each a change of the real code that the simulator has to find.

A mutant is one mistake that somebody could make: something is left out, done too early, or done in
the other order.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
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
from tests.faults.seams import around

if TYPE_CHECKING:
    from collections.abc import Iterator


MUTANTS = {}
"""By what is wrong: attributes, and what is called for each instead, given what it was first."""

RARE = {"how far the clock is ahead is forgotten"}
"""What none of 10,000 seeds finds: ``tests/unit/stream/kafka/test_clock.py`` catches it."""


def _mutant(name, where, attribute):
    """Return a decorator that takes a function as the mutant of a name."""
    return lambda changed: MUTANTS.setdefault(name, []).append((where, attribute, changed))


def _nothing(*_, **__):
    """Do nothing."""


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Break the real code in one way while the block runs."""
    with ExitStack() as stack:
        for change in MUTANTS[name]:
            stack.enter_context(mock.patch.object(*around(*change)))
        yield


# --- what is kept


@_mutant("heads are written and not synced", headfile.HeadFile, "add")
def _heads_not_synced(_, self, head):
    with self._failing(), self._locked() as file:
        os.write(file, headfile._line(head))
        return os.fstat(file).st_size


@_mutant("commits do not wait for the disk", store, "_prepare_sqlite")
def _commits_not_synced(prepare, connection, record):
    prepare(connection, record)
    connection.execute("PRAGMA synchronous=OFF")


# --- what is charged


@_mutant("charged after the draw", judge.Judge, "_admit_through")
def _charged_after_the_draw(admit, self, query, key):
    partials = judge.WindowPartials.of(self._ledger.counts.partials(key))
    self._draw(query, key, query.calendar.first_starting_at(key.start_ms), partials)
    admit(self, query, key)


# --- what leaves


@_mutant("published before it is stored", Ledger, "settle")
def _published_before_it_is_stored(settle, self, key, **fields):
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
    record = decision_record(alarms().by_name[key.query], alarms(), decision)
    topic, producer = alarms().kafka.decisions_topic, publish.AIOKafkaProducer()
    asyncio.run(producer.send_and_wait(topic, encode(record)))
    return settle(self, key, **fields)


@_mutant("marked before it is published", publish.Publisher, "_send")
async def _marked_before_it_is_published(send, self, producer, decision, at):
    self.runtime.ledger.mark_published(decision.key)
    await send(self, producer, decision, at)


@_mutant("alarms before their decision", publish.Publisher, "_send")
async def _alarms_before_their_decision(send, self, producer, decision, at):
    query = self.runtime.alarms.by_name[decision.key.query]
    for alarm in alarm_records(query, decision):
        await producer.send_and_wait(alarms().kafka.alarms_topic, encode(alarm))
    await send(self, producer, decision, at)


@_mutant("denials are kept silent", Ledger, "unpublished")
def _denials_kept_silent(unpublished, self, *asked):
    return [one for one in unpublished(self, *asked) if one.outcome is Outcome.DECIDED]


# --- what processes believe


@_mutant("what others appended is not folded", Door, "_caught_up")
def _others_entries_not_folded(caught_up, self, tx):
    return caught_up(self, tx) if self._state is None else self._state


# --- who may


@_mutant("a release is not said", Witness, "release")
async def _release_not_said(_, self):
    return (await asyncio.to_thread(self.ledger.heads.release))[1]


@_mutant("how far the clock is ahead is forgotten", HeldClock, "agrees")
def _ahead_forgotten(agrees, self, asked_ms, broker_ms):
    apart_ms = self._apart_ms
    agrees(self, asked_ms, broker_ms)
    self._apart_ms = apart_ms


# --- what is counted


@_mutant("no seek back after a start", ingest, "_appended_since")
async def _no_seek_back(_, *asked):
    return int(asked[-1])


@_mutant("one record skipped at a rebalance", ingest.Ingest, "_take_over")
def _one_record_skipped_at_a_rebalance(take_over, self, consumer):
    for assigned in self.assigned.values():
        assigned.position += 1
    take_over(self, consumer)


@_mutant("late events are counted", WindowCounter, "__init__")
def _late_events_counted(make, self, *given, **named):
    make(self, *given, **named)
    self._grace_ms += 3_000


@_mutant("open transactions are read", ingest.Ingest, "_consumer")
def _open_transactions_read(make, self):
    consumer = make(self)
    consumer._committed = False
    return consumer


# --- what takes a line


MUTANTS |= {
    "heads are not noted": [(Heads, "keep", _nothing)],
    "no wall": [(UserFilter, "answer", lambda *_: Answer.RESERVED)],
    "reconcile charges nothing": [(Upkeep, "reconcile", lambda *given: len(given[-1]))],
    "another ledger's spending is not carried over": [(takeover, "take_over", lambda *_: 0)],
    "an archive forgets what was decided": [(upkeep, "knows", lambda *_: False)],
    "claims are not asked for": [
        (Witness, "_refuse_others", _nothing),
        (guard, "check_ledger", _nothing),
    ],
    "old copies are not refused": [
        (Witness, "_refuse_copies", _nothing),
        (guard, "check_ledger", _nothing),
        (Heads, "lost", lambda *_: []),
        (Heads, "_lost", lambda *_: []),
    ],
    "the clock is believed": [
        (HeldClock, "agrees", _nothing),
        (HeldClock, "__call__", lambda _, self: self._wall_ms()),
    ],
    "duplicates are counted": [
        (Bounds, "of", lambda of, *given: replace(of(*given), deduplicate=False)),
    ],
    "rooms are not capped": [
        (Bounds, "of", lambda of, *given: replace(of(*given), predicates_per_window=9)),
    ],
    "idle partitions are cut early": [
        (
            PartitionReader,
            "arrived_through",
            lambda arrived, self, time_ms: arrived(self, time_ms + 3_000),
        ),
        (PartitionReader, "oldest_open_cut_ms", lambda *_: 0),
    ],
    "decided on a part of the partitions": [(Awaited, "__bool__", lambda *_: False)],
}
