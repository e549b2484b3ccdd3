"""Scripts of a ledger's life: what is asked, how windows end, and what must then be said.

A script is a line ``== what it shows`` and a command a line; lines that begin with ``#`` explain.
Commands are the methods of :class:`Stage`, whose arguments are words and numbers; ``0-3`` is some
windows, ``a@2`` a series from a window on, ``yes*3`` an answer three times. At its end every ledger
must verify.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accountant.costs.charges import UniformCost
from accountant.errors import LedgerError
from accountant.log.entries import Ended
from accountant.records import (
    UNSEEN_MS,
    Answer,
    LogIdentity,
    Outcome,
    PartialStatus,
    QueryRegistration,
    SeenDecision,
    Stand,
)
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from tests.support.archived import moved
from tests.support.ledgers import (
    CELLS,
    HOP,
    TOPIC_ID,
    A,
    B,
    Opens,
    Series,
    decide_all,
    deny,
    held,
    must_verify,
    partial,
    registration,
    requests,
    seen,
    set_up,
    settle,
    status_of,
    terms,
)
from tests.support.runs import OTHER, RUN, TERMS, now, ring

if TYPE_CHECKING:
    from tests.support.ledgers import Clock

FEW = Series("few", units=2, period=100, windows=2)
SAID = {"yes": Answer.RESERVED, "no": Answer.REFUSED, "wait": Answer.PENDING}


def scripts(file: str = "*") -> list[object]:
    """Return the scripts of a file, or of all, each with its name."""
    found = []
    for path in sorted(Path(__file__).parent.glob(f"{file}.txt")):
        for script in path.read_text().split("\n== ")[1:]:
            name, _, lines = script.partition("\n")
            found.append(pytest.param(lines, id=f"{path.stem}: {name.partition(':')[0]}"))
    return found


def play(script: str, opened: Opens, clock: Clock) -> None:
    """Play a script; what fails says at which line."""
    stage = Stage(opened, clock)
    for line in script.splitlines():
        if line and not line.startswith("#"):
            command, *words = line.split()
            given = [value(word) for word in words if "=" not in word]
            options = dict(word.split("=") for word in words if "=" in word)
            try:
                getattr(stage, command)(*given, **{name: value(options[name]) for name in options})
            except Exception as error:
                error.add_note(line)
                raise
    stage.verify()


def value(word: str) -> int | str:
    """Return the number that a word is, or the word."""
    return int(word) if re.fullmatch(r"-?\d+", word) else word


def windows(words: int | str) -> range:
    """Return the windows that are meant by one number, or by the first and the last."""
    first, _, last = str(words).partition("-")
    return range(int(first), int(last or first) + 1)


def numbers(words: int | str) -> list[int]:
    """Return numbers that commas are between."""
    return list(map(int, str(words).split(",")))


def at(place: str) -> tuple[str, int]:
    """Return the name and the number of ``a@2``; 0 where there is none."""
    name, _, number = place.partition("@")
    return name, int(number or 0)


@dataclass
class Stage:
    """A ledger and the series that a script speaks of.

    Args:
        opened: opens the ledger.
        clock: the ledger's.
    """

    opened: Opens
    clock: Clock
    topic: list[SeenDecision] = field(default_factory=list)
    known: dict[str, Series] = field(
        default_factory=lambda: {one.query: one for one in (A, B, HOP, FEW, RUN, OTHER)}
    )

    def series(self, name, city="", cells="", **of):
        """Speak of another series; ``cells=room`` groups it, ``city=north`` is its region."""
        region = Region.where(city=city) if city else Region.everything()
        self.known[name] = Series(name, **of, shape=Shape(region.canonical, cells))

    def key(self, place):
        """Return the window of ``a@2``."""
        name, index = at(place)
        return self.known[name].key(index)

    def __post_init__(self):
        """Open the ledger."""
        self.ledger = self.opened()

    def budget(self, unit, wall, *names):
        """Register a budget and its series."""
        self.names = names
        set_up(self.ledger, PrivacyUnit(unit), wall, [self.known[one] for one in names])

    def ask(self, until_ms, *words, alarms="", by=""):
        """Ask for the windows that end by an instant, of some series or of all.

        ``alarms`` is who the caller knows of, and ``by`` another configuration.
        """
        asked = []
        for name in [word for word in words if word != "too_old"] or self.names:
            one = self.known[name]
            one = replace(one, fingerprint=by or one.fingerprint)
            run = name == RUN.query and one.period
            found = requests([one], until_ms, too_old="too_old" in words)
            asked += [replace(each, run=TERMS if run else None) for each in found]
        known = set(alarms.split(",")) if alarms else None
        self.ledger.admit("s", sorted(asked, key=lambda one: one.charge.key), alarms=known)

    def frontier(self, place):
        """Say up to which window was asked for."""
        assert self.ledger.frontier("s") == (None if place == "none" else self.key(place))

    def reset_clock(self, back_ms):
        """Put the mark of time back that a wrong clock took along, which stays on record."""
        now_ms, before = self.clock.now_ms, self.ledger.journal.entries()
        assert self.ledger.upkeep.reset_clock() == (now_ms + back_ms, now_ms)
        assert self.ledger.journal.entries().keys() - before.keys() == {"clock_set"}

    def remember(self, name, some):
        """Keep decisions as they stand on the topic."""
        found = (self.ledger.decision(self.known[name].key(index)) for index in windows(some))
        self.topic += map(seen, found)

    def unknown(self, *sequences):
        """Say that what was kept is known, and that the first of it is not under other numbers."""
        others = [replace(self.topic[0], sequence=each) for each in sequences]
        assert self.ledger.upkeep.unknown_decisions([*self.topic, *others]) == others

    def settle(self, name, some, units=None, cells="", **of):
        """Decide windows, at their worst or for less."""
        each = numbers(cells) if cells else None
        for index in windows(some):
            settle(self.ledger, replace(self.known[name], **of), index, units=units, cells=each)

    def ring(self, some, rung=0, cost=None):
        """Decide windows of the run, at what their alarms cost or otherwise."""
        changes = {} if cost is None else {"cost": UniformCost(cost, CELLS)}
        for index in windows(some):
            ring(self.ledger, index, rung, self.known[RUN.query], **changes)

    def decide(self, until_ms):
        """Ask for the windows that end by an instant, and decide what is granted."""
        decide_all(self.ledger, [self.known[one] for one in self.names], until_ms, "one")

    def recover(self, name, some, units, by="", **of):
        """Charge decisions that were released, by this ledger or by another, and not known."""
        for index in windows(some):
            asked = self.known[name].request(index).charge
            after_ms = self.known[name].key(index + 1).start_ms
            one = SeenDecision(
                *(by or self.ledger.ledger_id, name, "s", asked.key.start_ms, asked.key.end_ms),
                *(of.get("sequence", index + 1), Outcome(of.get("as", "decided")), units),
                *(of.get("alarms", 0), after_ms),
                periods=asked.periods,
            )
            assert self.ledger.upkeep.unknown_decisions([one]) == [one]
            assert [self.ledger.upkeep.reconcile([one]) for _ in range(2)] == [1, 0]

    def deny(self, name, some, reason="incomplete"):
        """Deny windows."""
        for index in windows(some):
            assert deny(self.ledger, self.known[name], index, reason).reason == reason

    def fails(self, command, *words, said=".", **options):
        """Say that a command is refused, and a word of the reason."""
        with pytest.raises(LedgerError, match=said):
            getattr(self, command)(*words, **options)

    def answers(self, place, *words):
        """Say what windows are answered."""
        name, first = at(place)
        wanted = []
        for word, _, times in (each.partition("*") for each in words):
            wanted += [SAID.get(word) or Answer(word)] * int(times or 1)
        found = [self.known[name].key(first + number) for number in range(len(wanted))]
        assert list(map(self.ledger.answer, found)) == wanted

    def published(self, name, index, units):
        """Say what a decision cost, as it is published."""
        assert self.ledger.decision(self.known[name].key(index)).epsilon_units == units

    def run(self, place, none="", left=None, state=None):
        """Say which run a window would go on with: alarms left, and after which window."""
        name, index = at(place)
        found = now(self.ledger, index, self.known[name])
        if none or found is None:
            assert (none, found) == ("none", None)
            return
        assert found.left == left
        assert state is None or found.state == f"secret {state}".encode()

    def held(self, units):
        """Say what the worst-off unit has lost, open windows at worst."""
        assert held(self.ledger) == units

    def periods(self, *words):
        """Say what every period holds."""
        wanted = (map(int, word.split(":")) for word in words)
        assert status_of(self.ledger).periods == dict(wanted)

    def shows(self, what, number):
        """Say ``pending`` or granted windows, or how far archives reach, as a budget shows it."""
        assert getattr(status_of(self.ledger), what) == number

    def change(self, name, start_ms, **of):
        """Accept another configuration of a series, from an instant on."""
        self.known[name] = replace(self.known[name], fingerprint="f2", **of)
        self.ledger.pins.accept_change(registration(self.known[name]), start_ms)

    def remove(self, name):
        """Remove a series."""
        self.ledger.pins.remove_alarm(name)

    def register(self, name, **of):
        """Register a series, or another configuration of it."""
        self.ledger.pins.register_query(registration(replace(self.known[name], **of)))

    def used(self, place, state="", partition=0, log=TOPIC_ID):
        """Say what people had used up when a cursor stood so, if it is known."""
        found = self.ledger.counts.used(dict([at(place)]), partition, log)
        assert [one.state.decode() for one in found.values()] == [state] * bool(state)

    def see(self, offset, stand, steps):
        """Report where a partition stands, a third of what is unseen later, and how long still."""
        self.wait(UNSEEN_MS // 3)
        places = {"feed": {1: (offset, Stand(stand))}, "other": {0: (offset + 1, Stand.END)}}
        self.ledger.counts.put_places(places)
        (other,) = self.ledger.counts.places("other").values()
        assert (other.log_offset, other.seen_ms) == (offset + 1, self.clock.now_ms)
        self.still(steps * (UNSEEN_MS // 3))

    def still(self, ms, since=1_000_000):
        """Say how long the partition has stood still, of the last milliseconds."""
        places, now_ms = self.ledger.counts.places("feed"), self.clock.now_ms
        assert places.keys() == {1}
        assert places[1].still_ms(now_ms - since, now_ms) == ms

    def files(self, feed, *digests):
        """Register the files of a feed, by what they hold."""
        self.ledger.pins.register_files({feed: digests})

    def reference(self, feed, *digests):
        """Ask whether the files of a feed may be a public reference."""
        log = LogIdentity(feed, "replay", f"replay:{feed}", "topic", 1)
        self.ledger.pins.refuse_changes([], [log], [], [feed], {feed: digests})

    def status(self, name, decided, denied, cursor_ms):
        """Say how often windows ended, and how long ago: ``1@0`` or ``reason:2@0``."""
        one, now_ms = self.ledger.reports.status().queries[name], self.clock.now_ms
        ended = f"{one.decided}@{now_ms - one.decided_at_ms if one.decided else 0}"
        reasons = [f"{r}:{n}@{now_ms - one.denied_at_ms[r]}" for r, n in sorted(one.denied.items())]
        assert (ended, ",".join(reasons) or "none") == (decided, denied)
        assert (one.cursor_ms, one.sequence) == (cursor_ms, one.decided + sum(one.denied.values()))

    def scope(self, name, unit, wall):
        """Register another budget."""
        self.ledger.pins.register_budget(terms(PrivacyUnit(unit), wall, name))

    def log(self, feed, topic_id, topic="topic", partitions=2):
        """Register the log of a feed."""
        self.ledger.pins.register_log(LogIdentity(feed, "c", topic_id, topic, partitions))

    def query(self, place, feed, fingerprint="f1", definition="{}", *, start=0, call="", files=""):
        """Register an alarm that goes on from ``start``, accept another one, or ask beforehand."""
        name, _, scope = place.partition("@")
        one = QueryRegistration(name, scope, feed, fingerprint, definition, start)
        pins = self.ledger.pins
        match call:
            case "ask":
                pins.refuse_changes([], [], [one], files={feed: files.split(",")} if files else {})
            case "accept":
                pins.accept_change(one, 20)
            case _:
                assert pins.register_query(one) == start

    def outbox(self, name, *sequences):
        """Say which decisions wait to leave, as the status counts them."""
        found = self.ledger.unpublished(name, 10**9)
        assert [one.sequence for one in found] == list(sequences)
        assert self.ledger.reports.status().queries[name].unpublished == len(sequences)

    def publish(self, name, some):
        """Mark windows as published."""
        self.ledger.mark_published(*map(self.known[name].key, windows(some)))

    def archive(self, before_ms, windows):
        """Move entries to an archive, so many of windows that ended; again, there are none."""
        rows = moved(self.ledger, before_ms, self.ledger.heads.now())
        assert sum(row.kind == Ended.kind for row in rows) == windows
        assert not moved(self.ledger, before_ms, "again")

    def count(self, name, index, status, values="3,1", *, cut="", by="", used="", **of):
        """Store what a partition counted in a window, and say what comes of it."""
        one = partial(self.known[name], index, values=numbers(values))
        given = {"fingerprint": by or one.fingerprint, "used": used.encode() or None}
        one = replace(one, complete=not cut, **given, **of)
        stored = self.ledger.counts.put_partial(one)
        assert stored is PartialStatus(status)
        if stored is PartialStatus.STORED:  # and comes back in all it says
            assert one.digest in {each.digest for each in self.ledger.counts.partials(one.key)}

    def counted(self, place, *counts, conflict="no"):
        """Say what is stored of a window, by partition, and whether others contradict it."""
        key = self.key(place)
        stored = self.ledger.counts.partials(key)
        told = [f"{one.partition}:{','.join(map(str, one.value.tolist()))}" for one in stored]
        assert told == list(counts)
        assert self.ledger.counts.conflicted(key) is (conflict == "yes")

    def announce(self, partitions, from_ms=20, *, feed="feed"):
        """Announce that a feed gets more partitions from an instant on, or since nobody knows when.

        Series skip what begins before it.
        """
        start_ms = None if from_ms == "unknown" else from_ms
        growth = self.ledger.growths.announce(
            feed,
            partitions,
            from_ms=start_ms,
            first_starts=dict.fromkeys(self.names, start_ms or 0),
        )
        assert growth == self.ledger.growths.of(feed).growths[-1]

    def conclude(self, partitions, after_ms=50):
        """Conclude it, so long after now."""
        until_ms = self.clock.now_ms + after_ms
        growth = self.ledger.growths.conclude("feed", partitions, until_ms=until_ms)
        assert growth == self.ledger.growths.of("feed").growths[-1]

    def growths(self, revision, *words):
        """Say how a feed grew: partitions, those before, from when and until how long after."""
        of = self.ledger.growths.of("feed")
        told = [
            f"{one.before}-{one.partitions}@{one.from_ms}"
            + ("" if one.until_ms is None else f"+{one.until_ms - one.announced_ms}")
            for one in of.growths
        ]
        assert (of.revision, told) == (revision, list(words))

    def wait(self, ms):
        """Let time pass."""
        self.clock.now_ms += ms

    def decided(self, ago_ms):
        """Say how long ago something was decided."""
        last_ms = self.ledger.upkeep.last_decided_ms()
        assert last_ms == (None if ago_ms == "never" else self.clock.now_ms - ago_ms)

    def realised(self, name, costs, count, short="", period=None):
        """Say what every cell has lost, by how many windows; ``short`` where some are gone."""
        found = self.ledger.reports.realised(name, period, cells=CELLS)
        assert found.costs.tolist() == numbers(costs)
        assert (found.windows, found.complete) == (count, not short)

    def reopen(self):
        """Go on with what the next one knows who opens the ledger."""
        self.ledger.close()
        self.ledger = self.opened()

    def verify(self):
        """Verify the ledger."""
        must_verify(self.ledger)
