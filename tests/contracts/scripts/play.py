"""Scripts of a ledger's life: what is asked, how windows end, and what must then be said.

A script is a line ``== what it shows`` and a command a line; lines that begin with ``#`` explain.
Commands are the methods of :class:`Stage`; ``0-3`` is some windows, ``a@2`` a series from a window
on, ``yes*3`` an answer three times. At its end every ledger must verify.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accountant.errors import LedgerError
from accountant.records import Answer
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from tests.support.archived import move_all
from tests.support.ledgers import (
    HOP,
    A,
    B,
    Opens,
    Series,
    deny,
    held,
    must_verify,
    registration,
    requests,
    set_up,
    settle,
    status_of,
)
from tests.support.runs import OTHER, RUN, TERMS, now, ring

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

FEW = Series("few", units=2, period=100, windows=2)
SAID = {"yes": Answer.RESERVED, "no": Answer.REFUSED, "wait": Answer.PENDING}


def scripts(*files: str) -> list[object]:
    """Return the scripts of some files, each with its name."""
    found = []
    for file in files:
        text = Path(__file__).with_name(f"{file}.txt").read_text("utf-8")
        for script in text.split("\n== ")[1:]:
            name, _, lines = script.partition("\n")
            found.append(pytest.param(lines, id=f"{file}: {name.partition(':')[0]}"))
    return found


def play(script: str, opened: Opens) -> None:
    """Play a script; what fails says at which line."""
    stage = Stage(opened)
    for line in script.splitlines():
        if line and not line.startswith("#"):
            command, *words = line.split()
            options = dict(word.split("=") for word in words if "=" in word)
            try:
                getattr(stage, command)(*(word for word in words if "=" not in word), **options)
            except Exception as error:
                error.add_note(line)
                raise
    stage.verify()


def windows(words: str) -> range:
    """Return the windows that are meant by one number, or by the first and the last."""
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


@dataclass
class Stage:
    """A ledger and the series that a script speaks of.

    Args:
        opened: opens the ledger.
    """

    opened: Opens
    known: dict[str, Series] = field(
        default_factory=lambda: {one.query: one for one in (A, B, HOP, FEW, RUN, OTHER)}
    )

    def series(self, name: str, **of: str) -> None:
        """Speak of another series; ``cells=room`` groups it, ``city=north`` is its region."""
        where = {key: of.pop(key) for key in ("city",) if key in of}
        region = Region.where(**where).canonical if where else "{}"
        shape = Shape(region, of.pop("cells", ""))
        self.known[name] = Series(
            name, **{key: int(value) for key, value in of.items()}, shape=shape
        )

    def budget(self, unit: str, wall: str, *names: str) -> None:
        """Register a budget and its series."""
        self.ledger: Ledger = self.opened()
        self.names = names
        set_up(self.ledger, PrivacyUnit(unit), int(wall), [self.known[one] for one in names])

    def ask(self, until_ms: str, *words: str) -> None:
        """Ask for the windows that end by an instant, of some series or of all."""
        names = [word for word in words if word != "too_old"] or self.names
        asked = [
            replace(one, run=TERMS if name == RUN.query else None)
            for name in names
            for one in requests([self.known[name]], int(until_ms), too_old="too_old" in words)
        ]
        self.ledger.admit("s", sorted(asked, key=lambda one: one.charge.key))

    def settle(self, name: str, some: str, units: str = "", cells: str = "") -> None:
        """Decide windows, at their worst or for less."""
        cost: dict[str, Any] = {"units": int(units)} if units else {}
        if cells:
            cost["cells"] = list(map(int, cells.split(",")))
        for index in windows(some):
            settle(self.ledger, self.known[name], index, **cost)

    def ring(self, index: str, rung: str = "0") -> None:
        """Decide a window of the run."""
        ring(self.ledger, int(index), int(rung), self.known[RUN.query])

    def deny(self, name: str, some: str, reason: str = "incomplete") -> None:
        """Deny windows."""
        for index in windows(some):
            assert deny(self.ledger, self.known[name], index, reason).reason == reason

    def fails(self, command: str, *words: str) -> None:
        """Say that a command is refused."""
        with pytest.raises(LedgerError):
            getattr(self, command)(*words)

    def answers(self, place: str, *words: str) -> None:
        """Say what windows are answered."""
        name, _, first = place.partition("@")
        wanted = []
        for word, _, times in (each.partition("*") for each in words):
            wanted += [SAID.get(word) or Answer(word)] * int(times or 1)
        found = range(int(first or 0), int(first or 0) + len(wanted))
        assert [self.ledger.answer(self.known[name].key(each)) for each in found] == wanted

    def published(self, name: str, index: str, units: str) -> None:
        """Say what a decision cost, as it is published."""
        decision = self.ledger.decision(self.known[name].key(int(index)))
        assert decision is not None
        assert decision.epsilon_units == int(units)

    def run(self, place: str, none: str = "", left: str = "", state: str = "") -> None:
        """Say which run a window would go on with: alarms left, and after which window."""
        name, _, index = place.partition("@")
        found = now(self.ledger, int(index), self.known[name])
        if none or found is None:
            assert (none, found) == ("none", None)
            return
        assert found.left == int(left)
        assert not state or found.state == f"secret {state}".encode()

    def held(self, units: str) -> None:
        """Say what the worst-off unit has lost, open windows at worst."""
        assert held(self.ledger) == int(units)

    def periods(self, *words: str) -> None:
        """Say what every period holds."""
        wanted = (map(int, word.split(":")) for word in words)
        assert status_of(self.ledger).periods == dict(wanted)

    def pending(self, count: str) -> None:
        """Say how many windows wait for an answer."""
        assert status_of(self.ledger).pending == int(count)

    def reservations(self, count: str) -> None:
        """Say how many windows are granted and have not ended."""
        assert status_of(self.ledger).reservations == int(count)

    def change(self, name: str, start_ms: str, **of: str) -> None:
        """Accept another configuration of a series, from an instant on."""
        changes = {key: int(value) for key, value in of.items()}
        self.known[name] = replace(self.known[name], fingerprint="f2", **changes)
        self.ledger.pins.accept_change(registration(self.known[name]), int(start_ms))

    def retire(self, name: str) -> None:
        """Retire a series."""
        self.ledger.pins.remove_alarm(name)

    def publish(self, name: str, some: str) -> None:
        """Mark windows as published."""
        self.ledger.mark_published(*map(self.known[name].key, windows(some)))

    def archive(self, before_ms: str, _over: str, entries: str) -> None:
        """Move entries to an archive: more than so many."""
        assert move_all(self.ledger, int(before_ms)) > int(entries)

    def reopen(self) -> None:
        """Go on with what the next one knows who opens the ledger."""
        self.ledger.close()
        self.ledger = self.opened()

    def verify(self) -> None:
        """Verify the ledger."""
        must_verify(self.ledger)
