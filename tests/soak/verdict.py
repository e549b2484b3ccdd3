"""What a soak has to show, judged from the files it left; every shortfall is a sentence.

Counts are compared one by one, as integers: what a partition added to a room of a window, stored in
the ledger, with a recount of the log. Alarms are compared too: at a ``max_fnr`` of one in a billion
they say on which side of the threshold a count lies.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.parser import text_string_to_metric_families

from tests.soak.alarms import FEEDS, PARTITIONS, alarms_of
from tests.soak.log import instant_ms, read_kept
from tests.soak.recount import COUNTED, Recount, recount
from tests.soak.sensors import CODECS
from tests.soak.timetable import PACES, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.soak.alarms import Counted
    from tests.soak.recount import Cells
    from tests.soak.timetable import Pace

Window = tuple[str, int]
"""An alarm, and the start (ms) of one of its windows."""

_KILLED: Final = (-9, -15, 143, 0)
"""Killed; or told to end before Python ran, before the worker was ready, and afterwards."""

_DEPENDENCY_AWAY: Final = 4
_CLOCK_WENT_BACK: Final = 2


@dataclass(frozen=True)
class Soaked:
    """What a soak left in its folder."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """When, where, on what."""
        found: dict[str, Any] = json.loads((self.folder / "about.json").read_text())
        return found

    @cached_property
    def pace(self) -> Pace:
        """Its timetable."""
        return PACES[self.about["pace"]]

    @cached_property
    def alarms(self) -> dict[str, Counted]:
        """Its alarms by name."""
        return {alarm.name: alarm for alarm in alarms_of(self.pace)}

    @cached_property
    def decisions(self) -> dict[Window, list[dict[str, Any]]]:
        """Decisions as they left, repeats included, by window."""
        found: dict[Window, list[dict[str, Any]]] = defaultdict(list)
        for line in self.lines("decisions"):
            found[line["alarm"], instant_ms(line["window_start"])].append(line)
        return found

    @cached_property
    def partials(self) -> dict[tuple[str, int, int], list[dict[str, Any]]]:
        """Stored partials by alarm, window and partition."""
        found: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
        for line in self.lines("partials"):
            found[line["alarm"], line["start_ms"], line["partition"]].append(line)
        return found

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a file of JSON lines; none where there is no such file."""
        path = self.folder / f"{name}.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def windows(self, alarm: Counted) -> list[int]:
        """Return the starts of the windows that have to be there: the load's, from the first."""
        known = [start for name, start in self.decisions if name == alarm.name]
        last_ms = self.about["load_ended_ms"] - alarm.size_ms
        return list(range(min(known), last_ms + 1, alarm.step_ms)) if known else []


@dataclass
class Truth:
    """A recount of the logs.

    Args:
        alarms: what each alarm must have counted, and what became of each event.
        events: per feed, how many the log holds.
        drops: per feed, how many of them no alarm can use, by reason.
    """

    alarms: dict[str, Recount] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    drops: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, soaked: Soaked) -> Truth:
        """Recount the logs that a soak left."""
        truth = cls()
        for alarm in soaked.alarms.values():
            first_ms = min(soaked.windows(alarm), default=0)
            truth.alarms[alarm.name] = Recount(alarm, first_ms)
        for feed in FEEDS:
            reading = [one for one in truth.alarms.values() if one.alarm.feed == feed]
            log = read_kept(soaked.folder / f"{feed}.parquet")
            truth.events[feed], truth.drops[feed] = recount(feed, log, reading)
        return truth

    def cells(self, name: str, start_ms: int, partition: int) -> Cells:
        """Return what one partition adds to one window."""
        return dict(self.alarms[name].counts.get((start_ms, partition), {}))

    def rings(self, name: str, start_ms: int) -> set[str]:
        """Return the rooms above the threshold."""
        total: Counter[str] = Counter()
        for partition in range(PARTITIONS):
            total.update(self.cells(name, start_ms, partition))
        threshold = self.alarms[name].alarm.threshold
        return {room for room, count in total.items() if count > threshold}


def judge(soaked: Soaked, truth: Truth) -> list[str]:
    """Return everything that is wrong, a sentence each; nothing where all holds."""
    return [
        *_no_window_is_lost(soaked),
        *_counts_are_exact(soaked, truth),
        *_alarms_are_right(soaked, truth),
        *_every_event_is_accounted_for(soaked, truth),
        *_a_replay_agrees(soaked, truth),
        *_ledger_is_whole(soaked),
        *_workers_ended_as_told(soaked),
        *_load_was_as_planned(soaked),
    ]


def _no_window_is_lost(soaked: Soaked) -> Iterator[str]:
    """Every window of every alarm left once, decided, in order; its repeats are alike."""
    for alarm in soaked.alarms.values():
        wanted = soaked.windows(alarm)
        if not wanted or wanted[0] > soaked.about["load_began_ms"]:
            yield f"{alarm.name}: no window was decided before the load began"
        lost = [start for start in wanted if (alarm.name, start) not in soaked.decisions]
        yield from (f"{alarm.name}: the window from {start} on was never decided" for start in lost)
        numbers: list[int] = []
        for (name, start), copies in sorted(soaked.decisions.items()):
            if name != alarm.name:
                continue
            told = {json.dumps({**one, "append_ms": 0}, sort_keys=True) for one in copies}
            if len(told) > 1:
                yield f"{name}: the window from {start} on was published in {len(told)} ways"
            if copies[0]["outcome"] != "decided":
                yield f"{name}: the window from {start} on was denied as {copies[0]['reason']}"
            numbers.append(copies[0]["sequence"])
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"{alarm.name}: the numbers of its decisions are not 1, 2, 3, ... by window"


def _counts_are_exact(soaked: Soaked, truth: Truth) -> Iterator[str]:
    """What the ledger stored of a partition of a window is what its slice of the log says."""
    for (name, start), copies in sorted(soaked.decisions.items()):
        for partition in range(PARTITIONS):
            stored = soaked.partials.get((name, start, partition), [])
            where = f"{name}: partition {partition} of the window from {start} on"
            if copies[0]["outcome"] == "decided" and len(stored) != 1:
                yield f"{where} was stored {len(stored)} times"
            wanted = truth.cells(name, start, partition)
            for one in stored:
                if not one["complete"]:
                    yield f"{where} was stored as incomplete"
                if one["cells"] != wanted:
                    yield f"{where} counts {one['cells']}, the log {wanted}"


def _alarms_are_right(soaked: Soaked, truth: Truth) -> Iterator[str]:
    """Of every decided window those rooms rang that are above the threshold, and no others."""
    rang: dict[Window, set[str]] = defaultdict(set)
    ids: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    for one in soaked.lines("alarms"):
        window, room = (one["alarm"], instant_ms(one["window_start"])), one["group"]["room"]
        rang[window].add(room)
        ids[(*window, room)].add(one["alarm_id"])
    yield from (
        f"{place} rang under {len(found)} ids" for place, found in ids.items() if len(found) > 1
    )
    both: Counter[bool] = Counter()
    for (name, start), copies in sorted(soaked.decisions.items()):
        wanted = truth.rings(name, start) if copies[0]["outcome"] == "decided" else set()
        both.update({True: len(wanted), False: copies[0]["outcome"] == "decided" and not wanted})
        if rang.get((name, start), set()) != wanted:
            yield (
                f"{name}: in the window from {start} on rang {sorted(rang[name, start])}, "
                f"above the threshold were {sorted(wanted)}"
            )
    if not both[True]:
        yield "nothing ever rang: the thresholds test nothing"


def _every_event_is_accounted_for(soaked: Soaked, truth: Truth) -> Iterator[str]:
    """Every event of the log has one fate for every alarm of its feed."""
    for name, one in truth.alarms.items():
        events = truth.events[soaked.alarms[name].feed]
        if one.fates.total() != events:
            yield f"{name}: {one.fates.total()} fates of {events} events"
        if not one.fates[COUNTED]:
            yield f"{name}: no event counted"


def _a_replay_agrees(soaked: Soaked, truth: Truth) -> Iterator[str]:
    """The exported logs, replayed in one piece, decide alike, and account for every event alike."""
    again: dict[Window, dict[str, Any]] = {}
    rang: dict[Window, set[str]] = defaultdict(set)
    for line in soaked.lines("replay"):
        window = (line["alarm"], instant_ms(line["window_start"]))
        if "alarm_id" in line:
            rang[window].add(line["group"]["room"])
        else:
            again[window] = line
    compared = [window for window in again if window in soaked.decisions]
    if len(compared) < len(soaked.decisions) // 2:
        yield f"a replay shares {len(compared)} windows of {len(soaked.decisions)}"
    for name, start in compared:
        wanted = truth.rings(name, start)
        if again[name, start]["outcome"] != "decided" or rang[name, start] != wanted:
            yield f"{name}: a replay decides the window from {start} on otherwise"
    page = (soaked.folder / "replay.prom").read_text()
    told = {
        (one.name, one.labels["feed"], one.labels.get("reason", "")): round(one.value)
        for family in text_string_to_metric_families(page)
        for one in family.samples
        if one.name in {"tocsin_events_total", "tocsin_events_dropped_total"} and one.value
    }
    accounts = {("tocsin_events_total", feed, ""): count for feed, count in truth.events.items()}
    accounts |= {
        ("tocsin_events_dropped_total", feed, reason): count
        for feed, drops in truth.drops.items()
        for reason, count in drops.items()
    }
    for place in sorted(told.keys() | accounts.keys()):
        if told.get(place, 0) != accounts.get(place, 0):
            yield f"{place}: {accounts.get(place, 0)} in the log, {told.get(place, 0)} in a replay"


def _ledger_is_whole(soaked: Soaked) -> Iterator[str]:
    """``verify`` is content, and the ledger's decisions are those that left."""
    verified = (soaked.folder / "verify.txt").read_text()
    if not verified.startswith("exit 0\nok\n"):
        yield f"tocsin ledger verify: {verified}"
    out = json.loads((soaked.folder / "left.json").read_text())
    for row in soaked.lines("ledger"):
        left = soaked.decisions.get((row["alarm"], row["start_ms"]))
        where = f"{row['alarm']}: the window from {row['start_ms']} on"
        if left is None:
            if row["sequence"] <= out[row["alarm"]]:
                yield f"{where} counts as published, and is not on the topic"
        elif (left[0]["sequence"], left[0]["outcome"]) != (row["sequence"], row["outcome"]):
            yield f"{where} is {row['outcome']} in the ledger, {left[0]['outcome']} on the topic"


def _workers_ended_as_told(soaked: Soaked) -> Iterator[str]:
    """What the soak did not kill ended with a code that a fault explains, and said why."""
    behind = [one for one in soaked.lines("faults") if one["told"].startswith("exit 2")]
    for end in soaked.lines("ends"):
        if end["ours"] and end["code"] in _KILLED:
            continue
        if end["code"] == _DEPENDENCY_AWAY and not end["ours"] and end["told"].strip():
            continue
        refused = end["code"] == _CLOCK_WENT_BACK and "clock" in end["told"]
        if refused and any(one["at_ms"] <= end["ended_ms"] <= one["back_ms"] for one in behind):
            continue
        yield f"worker {end['worker']} ended with {end['code']}: {end['told'][-600:]}"


def _load_was_as_planned(soaked: Soaked) -> Iterator[str]:
    """Every codec is on the broker's disk, every fault was done, and the end was reached."""
    yield from soaked.about["stuck"]
    for feed, batches in json.loads((soaked.folder / "codecs.json").read_text()).items():
        yield from (f"{feed}: no batch in {codec}" for codec in CODECS if not batches.get(codec))
    done = [one["fault"] for one in soaked.lines("faults")]
    planned = [one.fault.value for one in soaked.pace.faults]
    if done != planned:
        yield f"of the faults {planned} were done {done}"
    for one in soaked.lines("faults"):
        if one["fault"] == Fault.ARCHIVING and not int(one["told"].partition(" ")[0]):
            yield f"{one['fault']}: {one['told']}"
