"""Clients of aiokafka's shape on the log in memory, and the group that consumers share."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaTimeoutError, NoOffsetForPartitionError

from stream.events.records import Record, Records
from tests.faults.schedule import PROCESS, Killed

_SESSION_S = 6.0
_LOST_S = 10.0
"""After which a sender gives up on an answer."""
_MOST_RECORDS = 20


class _Client:
    """What producers and consumers share.

    Args:
        broker: of the world.
    """

    def __init__(self, broker):
        self.broker = broker
        self.schedule = broker.schedule
        self.process = PROCESS.get()

    @property
    def weather(self):
        """What may go wrong now."""
        return self.schedule.weather

    async def start(self):
        """Connect.

        Raises:
            KafkaConnectionError: the brokers do not answer.
        """
        await self.broker.request("start")

    async def stop(self):
        """Let go; the dead need not."""


class Producer(_Client):
    """An idempotent producer: its records arrive in the order in which they were sent, once."""

    def __init__(self, broker, **_options):
        super().__init__(broker)
        self._busy_s = 0.0

    async def send(
        self,
        topic,
        value,
        *,
        key=None,
        partition=0,
        timestamp_ms=0,
    ):
        """Send a record; what is returned can be waited for.

        Raises:
            Killed: its process ended.
        """
        self.schedule.point("send")
        for told in self.broker.on_send:
            told(topic, value or b"")
        place = TopicPartition(topic, partition)
        done = self.schedule.loop.create_future()
        now_s = self.schedule.loop.time()
        self._busy_s = max(self._busy_s, now_s) + self.schedule.delay_s()
        flies = self.schedule.random.random() < self.weather.flying

        def arrive():
            if flies or not self.process.dead:
                self._arrive(place, value, key, timestamp_ms, done)

        self.schedule.loop.call_at(self._busy_s, arrive)
        return done

    async def send_and_wait(self, topic, value, **options):
        """Send a record and wait until the brokers have it.

        Raises:
            KafkaTimeoutError: they did not say so.
            Killed: its process ended.
        """
        return await (await self.send(topic, value, **options))

    def _arrive(self, place, value, key, timestamp_ms, done):
        happens, after_s = self.schedule.happens, _LOST_S
        entry = None
        if not (self.weather.away or happens(self.weather.lost, "record lost")):
            entry = self.broker.append(
                place, value, key=key, timestamp_ms=timestamp_ms, sender=self.process
            )
            after_s = self.schedule.delay_s()
            if happens(self.weather.unanswered, "acknowledgement lost"):
                entry, after_s = None, _LOST_S

        def answer():
            if done.cancelled():
                return
            if self.process.dead:
                done.set_exception(Killed())
            elif entry is None:
                done.set_exception(KafkaTimeoutError())
            else:
                done.set_result(entry)

        self.schedule.loop.call_later(after_s, answer)


class Consumer(_Client):
    """A consumer, of a group or of places that it names.

    Args:
        broker: of the world.
        groups: of the world.
        group_id: of its group.
        isolation_level: whether it reads what is committed.
        value_deserializer: where there is one, it is a consumer ``as_columns``.
    """

    def __init__(
        self,
        broker,
        groups,
        *,
        group_id=None,
        isolation_level="read_uncommitted",
        value_deserializer=None,
        **_options,
    ):
        super().__init__(broker)
        self._group = None if group_id is None else groups[group_id]
        self._committed = isolation_level == "read_committed"
        self._columns = value_deserializer is not None
        self._positions = {}
        self._paused = set()
        self.topics = []
        """What it subscribed to."""
        self._fetcher = SimpleNamespace(error_future=self.schedule.loop.create_future())
        self.listener = None

    async def start(self):
        """Connect, and join the group."""
        await super().start()
        if self._group is not None:
            self._group.join(self)

    async def stop(self):
        """Leave the group; the dead are missed when their session ends."""
        if self._group is not None and not self.process.dead:
            self._group.leave(self)

    def subscribe(self, topics, *, listener):
        """Ask for a share of topics."""
        self.topics, self.listener = topics, listener

    def assign(self, places):
        """Read places; nobody knows from where on, as yet."""
        self._positions = dict.fromkeys(places)
        self._paused.clear()

    def assignment(self):
        """Return what it reads."""
        return set(self._positions)

    def seek(self, place, offset):
        """Read on from an offset.

        Raises:
            IllegalStateError: it does not read that place.
        """
        self._assigned(place)
        self._positions[place] = offset

    async def seek_to_beginning(self, place):
        """Read on from the beginning."""
        self.seek(place, 0)

    async def position(self, place):
        """Return the offset of the next record, once there is one.

        Raises:
            IllegalStateError: it does not read that place.
        """
        self.schedule.point("position")
        while True:
            self._assigned(place)
            position = self._positions[place]
            if position is not None:
                return position
            await asyncio.sleep(0.1)

    def pause(self, place):
        """Fetch nothing of a place.

        Raises:
            IllegalStateError: it does not read that place.
        """
        self._assigned(place)
        self._paused.add(place)

    def resume(self, place):
        """Fetch of a place again.

        Raises:
            IllegalStateError: it does not read that place.
        """
        self._assigned(place)
        self._paused.discard(place)

    async def beginning_offsets(self, places):
        """Return where places begin: nothing is ever deleted here but by compaction."""
        await self.broker.request("beginning_offsets")
        return dict.fromkeys(places, 0)

    async def end_offsets(self, places):
        """Return where places end, as far as this consumer may read."""
        await self.broker.request("end_offsets")
        found = {place: self._until(place) for place in places}
        await self.schedule.network("end_offsets")
        return found

    async def offsets_for_times(self, times):
        """Return the first record of each place that is not older than an instant."""
        await self.broker.request("offsets_for_times")
        return {
            place: next((e for e in self.broker.log(place).entries if e.timestamp >= time_ms), None)
            for place, time_ms in times.items()
        }

    async def getmany(self, *places, timeout_ms, **_options):
        """Return what comes next of some places, or nothing after a while.

        Raises:
            NoOffsetForPartitionError: nobody sought where to read one of them.
        """
        self.schedule.point("getmany")
        wanted = [place for place in places or self._positions if place in self._positions]
        if self._columns and any(self._positions[place] is None for place in wanted):
            await self.schedule.network("getmany")
            raise NoOffsetForPartitionError
        found = {} if self.weather.away else self._fetched(wanted)
        if found:
            await self.schedule.network("getmany")
        else:
            await asyncio.sleep(timeout_ms / 1000)
        self.schedule.point("fetched")
        return found

    def _fetched(self, wanted):
        most = self.schedule.random.randrange(1, _MOST_RECORDS)
        found = {}
        for place in wanted:
            position = self._positions[place]
            if position is None or place in self._paused:
                continue
            until = self._until(place)
            batch = []
            for entry in self.broker.log(place).reading(position, until):
                position = entry.offset + 1
                if entry.transaction.committed or not self._committed:
                    batch.append(entry)
                if len(batch) == most:
                    break
            else:
                position = max(position, until)
            self._positions[place] = position
            if batch:
                found[place] = [_columns(batch)] if self._columns else batch
        return found

    def _until(self, place):
        log = self.broker.log(place)
        return log.stable() if self._committed else log.end

    def _assigned(self, place):
        if place not in self._positions:
            raise IllegalStateError(place)


def _columns(entries):
    return Records.of(
        [Record(e.offset, e.timestamp, log_append=True, value=e.value) for e in entries]
    )


class Group:
    """A consumer group: members learn late of what others read meanwhile."""

    def __init__(self, broker):
        self._broker = broker
        self._members = []
        self._generation = 0

    def join(self, member):
        """Take in a member; a dead one is missed when its session ends."""
        self._members.append(member)
        call_later = self._broker.schedule.loop.call_later
        member.process.buried.append(lambda: call_later(_SESSION_S, self.leave, member))
        self.rebalance()

    def leave(self, member):
        """Let a member go."""
        if member in self._members:
            self._members.remove(member)
            self.rebalance()

    def rebalance(self):
        """Deal the partitions out anew; each member is told in its own time."""
        schedule = self._broker.schedule
        self._generation += 1
        schedule.happened["rebalance"] += 1
        members = list(self._members)
        schedule.random.shuffle(members)
        shares = {member: [] for member in members}
        places = [
            p for member in members[:1] for t in member.topics for p in self._broker.places(t)
        ]
        for number, place in enumerate(places):
            shares[members[number % len(members)]].append(place)
        for member, share in shares.items():
            late_s = schedule.random.choice((0.05, 0.5, 3.0)) * schedule.random.random()
            schedule.loop.call_later(late_s, self._tell, self._generation, member, share)

    def _tell(self, generation, member, share):
        """Make an assignment live; its callbacks come a little later, as in aiokafka."""
        if generation != self._generation or member.process.dead:
            return
        member.listener.on_partitions_revoked(member.assignment())
        member.assign(share)
        schedule = self._broker.schedule
        schedule.loop.call_later(schedule.delay_s(), member.listener.on_partitions_assigned, share)
