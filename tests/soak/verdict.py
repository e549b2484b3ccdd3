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
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from tests.soak.alarms import FEEDS, PARTITIONS, alarms_of
from tests.soak.log import instant_ms, read_kept
from tests.soak.recount import COUNTED, Recount, recount
from tests.soak.sensors import CODECS
from tests.soak.timetable import PACES, Fault

if TYPE_CHECKING:
    from pathlib import Path

    from tests.soak.alarms import Counted
    from tests.soak.recount import Cells
    from tests.soak.timetable import Pace


class Window(NamedTuple):
    """One window of an alarm."""

    alarm: str
    start_ms: int

    def __str__(self):
        """Name it in a sentence."""
        return f"{self.alarm}: the window from {self.start_ms} on"

    @classmethod
    def of(cls, line: dict[str, Any]) -> Window:
        """Return what a published record is about."""
        return cls(line["alarm"], instant_ms(line["window_start"]))


_KILLED = (-9, -15, 143, 0)
"""Killed; or told to end before Python ran, before the worker was ready, and afterwards."""

_EVENTS = "tocsin_events_total"
_DROPPED = "tocsin_events_dropped_total"
_DEPENDENCY_AWAY = 4
_CLOCK_WENT_BACK = 2


@dataclass(frozen=True)
class Soaked:
    """What a soak left in its folder."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """When, where, on what."""
        return json.loads((self.folder / "about.json").read_text())

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
        found = defaultdict(list)
        for line in self.lines("decisions"):
            found[Window.of(line)].append(line)
        return found

    @cached_property
    def partials(self) -> dict[tuple[Window, int], list[dict[str, Any]]]:
        """Stored partials by window and partition."""
        found = defaultdict(list)
        for line in self.lines("partials"):
            found[Window(line["alarm"], line["start_ms"]), line["partition"]].append(line)
        return found

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a file of JSON lines; none where there is no such file."""
        path = self.folder / f"{name}.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def fired(self, name: str) -> dict[Window, set[str]]:
        """Return the rooms of the alarms in a file, by window."""
        found = defaultdict(set)
        for line in self.lines(name):
            if "alarm_id" in line:
                found[Window.of(line)].add(line["group"]["room"])
        return found

    def windows(self, alarm: Counted) -> list[Window]:
        """Return the windows that have to be there: the load's, from the first."""
        known = [window.start_ms for window in self.decisions if window.alarm == alarm.name]
        last_ms = self.about["load_ended_ms"] - alarm.size_ms
        starts_ms = range(min(known, default=last_ms + 1), last_ms + 1, alarm.step_ms)
        return [Window(alarm.name, start_ms) for start_ms in starts_ms]


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
            first_ms = min((window.start_ms for window in soaked.windows(alarm)), default=0)
            truth.alarms[alarm.name] = Recount(alarm, first_ms)
        for feed in FEEDS:
            reading = [one for one in truth.alarms.values() if one.alarm.feed == feed]
            log = read_kept(soaked.folder / f"{feed}.parquet")
            truth.events[feed], truth.drops[feed] = recount(feed, log, reading)
        return truth

    def cells(self, window: Window, partition: int) -> Cells:
        """Return what one partition adds to one window."""
        counts = self.alarms[window.alarm].counts
        return dict(counts.get((window.start_ms, partition), {}))

    def fires(self, window: Window) -> set[str]:
        """Return the rooms above the threshold."""
        total = Counter()
        for partition in range(PARTITIONS):
            total.update(self.cells(window, partition))
        threshold = self.alarms[window.alarm].alarm.threshold
        return {room for room, count in total.items() if count > threshold}


def judge(soaked: Soaked, truth: Truth) -> list[str]:
    """Return everything that is wrong, a sentence each; nothing where all holds."""
    return [
        *_no_window_is_lost(soaked),
        *_counts_are_exact(soaked, truth),
        *_alarms_are_right(soaked, truth),
        *_a_replay_agrees(soaked, truth),
        *_ledger_is_whole(soaked),
        *_workers_ended_as_told(soaked),
        *_load_was_as_planned(soaked),
    ]


def _no_window_is_lost(soaked):
    """Every window of every alarm left once, decided, in order; its repeats are alike."""
    numbers = defaultdict(list)
    for window, copies in sorted(soaked.decisions.items()):
        told = {json.dumps({**one, "append_ms": 0}, sort_keys=True) for one in copies}
        if len(told) > 1:
            yield f"{window} was published in {len(told)} ways"
        if copies[0]["outcome"] != "decided":
            yield f"{window} was denied as {copies[0]['reason']}"
        numbers[window.alarm].append(copies[0]["sequence"])
    for alarm in soaked.alarms.values():
        wanted = soaked.windows(alarm)
        if not wanted or wanted[0].start_ms > soaked.about["load_began_ms"]:
            yield f"{alarm.name}: no window was decided before the load began"
        lost = [window for window in wanted if window not in soaked.decisions]
        yield from (f"{window} was never decided" for window in lost)
        if numbers[alarm.name] != list(range(1, len(numbers[alarm.name]) + 1)):
            yield f"{alarm.name}: the numbers of its decisions are not 1, 2, 3, ... by window"


def _counts_are_exact(soaked, truth):
    """What the ledger stored of a partition of a window is what its slice of the log says."""
    for window, copies in sorted(soaked.decisions.items()):
        for partition in range(PARTITIONS):
            stored = soaked.partials.get((window, partition), [])
            where = f"{window}, partition {partition},"
            if copies[0]["outcome"] == "decided" and len(stored) != 1:
                yield f"{where} was stored {len(stored)} times"
            wanted = truth.cells(window, partition)
            for one in stored:
                if not one["complete"]:
                    yield f"{where} was stored as incomplete"
                if one["cells"] != wanted:
                    yield f"{where} counts {one['cells']}, the log {wanted}"


def _alarms_are_right(soaked, truth):
    """Of every decided window those rooms fired that are above the threshold, and no others."""
    fired = soaked.fired("alarms")
    ids = defaultdict(set)
    for one in soaked.lines("alarms"):
        ids[Window.of(one), one["group"]["room"]].add(one["alarm_id"])
    yield from (
        f"{window} fired in {room} under {len(found)} ids"
        for (window, room), found in ids.items()
        if len(found) > 1
    )
    for window, copies in sorted(soaked.decisions.items()):
        wanted = truth.fires(window) if copies[0]["outcome"] == "decided" else set()
        if (found := fired.get(window, set())) != wanted:
            yield f"{window} fired in {sorted(found)}, above the threshold were {sorted(wanted)}"
    if not any(map(truth.fires, soaked.decisions)):
        yield "nothing ever fired: the thresholds test nothing"
    idle = (name for name, one in truth.alarms.items() if not one.fates[COUNTED])
    yield from (f"{name}: no event counted" for name in idle)


def _a_replay_agrees(soaked, truth):
    """The exported logs, replayed in one piece, decide alike, and account for every event alike."""
    fired = soaked.fired("replay")
    again = {Window.of(one): one for one in soaked.lines("replay") if "alarm_id" not in one}
    compared = again.keys() & soaked.decisions.keys()
    if len(compared) < len(soaked.decisions) // 2:
        yield f"a replay shares {len(compared)} windows of {len(soaked.decisions)}"
    for window in sorted(compared):
        alike = fired.get(window, set()) == truth.fires(window)
        if again[window]["outcome"] != "decided" or not alike:
            yield f"{window} is decided otherwise by a replay"
    families = text_string_to_metric_families((soaked.folder / "replay.prom").read_text())
    told = {
        (one.name, one.labels["feed"], one.labels.get("reason", "")): round(one.value)
        for family in families
        for one in family.samples
        if one.name in {_EVENTS, _DROPPED}
    }
    accounts = {(_EVENTS, feed, ""): count for feed, count in truth.events.items()}
    for feed, drops in truth.drops.items():
        accounts |= {(_DROPPED, feed, reason): count for reason, count in drops.items()}
    for place in sorted(told.keys() | accounts.keys()):
        if told.get(place, 0) != accounts.get(place, 0):
            yield f"{place}: {accounts.get(place, 0)} in the log, {told.get(place, 0)} in a replay"


def _ledger_is_whole(soaked):
    """``verify`` is content with the ledger, its archives, and what left."""
    verified = (soaked.folder / "verify.txt").read_text()
    if not verified.startswith("exit 0\nok\n"):
        yield f"tocsin ledger verify: {verified}"


def _workers_ended_as_told(soaked):
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


def _load_was_as_planned(soaked):
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
