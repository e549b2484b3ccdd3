"""Lifecycles: every sequence of windows up to a length, against a second implementation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

import msgspec
import pytest

from stream.decisions.lifecycle import State, fingerprint, step
from stream.decisions.templates import problem, render
from stream.model.lifecycles import EVERY_WINDOW, Lifecycle
from tests.support.published import alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream.decisions.records import AlarmRecord, DecisionRecord

RING, SILENT, DENIED, UNANSWERED, LOST, HELD = "R", ".", "D", "u", "?", "h"
STEPS = 2
TERMS = [
    Lifecycle(needed, among, resolve_after)
    for needed, among in ((1, 1), (2, 2), (3, 3), (1, 2), (2, 3))
    for resolve_after in (1, 2)
]
every_terms = pytest.mark.parametrize(
    "terms", TERMS, ids=lambda t: f"{t.needed}of{t.among}r{t.resolve_after}"
)


Moved = tuple[State, list[str]]


@cache
def decided(number: int, what: str, *, ledger: str = "ledger") -> DecisionRecord:
    """Return the decision of a window."""
    unanswered = int(what == UNANSWERED)
    return decision_of(number, denied=what == DENIED, unanswered=unanswered, ledger=ledger)


@cache
def fired(number: int, room: str = "hall") -> AlarmRecord:
    """Return a ring in that window."""
    return alarm_of(number, {"room": room})


def taken(
    state: State, decision: DecisionRecord, ring: AlarmRecord, what: str, terms: Lifecycle
) -> Moved:
    """Return the state after a decision, with a ring where there was one, and what was said."""
    rings = [ring] if what == RING else []
    state, notices = step(state, decision, rings, terms, whole=what != LOST)
    return state, [notice.status for notice in notices]


def moved(state: State, number: int, what: str, terms: Lifecycle) -> Moved:
    """Return the state after a window of one group, and what was said."""
    return taken(state, decided(number, what), fired(number), what, terms)


def firing(past: Sequence[str], terms: Lifecycle) -> bool:
    """Tell whether a group fires after these windows: the definition, from the whole past."""
    answered: list[bool] = []
    fires, begin, silent_since = False, 0, 0
    for what in past:
        if what in (DENIED, UNANSWERED, HELD):
            continue
        answered.append(what == RING)
        if fires:
            tail = answered[silent_since:]
            quiet = len(tail) - (max((i + 1 for i, one in enumerate(tail) if one), default=0))
            if quiet == terms.resolve_after:
                fires, begin = False, len(answered)
        elif sum(answered[begin:][-terms.among :]) >= terms.needed:
            fires, silent_since = True, len(answered)
    return fires


def expected(past: Sequence[str], terms: Lifecycle) -> list[str]:
    """Return what is said after the last of these windows."""
    return told(past[-1], before=firing(past[:-1], terms), now=firing(past, terms))


def told(last: str, *, before: bool, now: bool) -> list[str]:
    """Return what is said of a window or a step, and of what it changed."""
    said = ["denied"] if last in (DENIED, UNANSWERED, LOST) else []
    if now:
        said.append("ongoing" if before else "firing")
    elif before:
        said.append("resolved")
    return said


def disagreements(
    letters: str,
    longest: int,
    terms: Lifecycle,
    take: Callable[..., Moved],
    define: Callable[[str, Lifecycle], list[str]] = expected,
) -> Iterator[str]:
    """Yield every sequence of windows after whose last one something else is said."""

    def walk(state: State, past: str) -> Iterator[str]:
        for what in letters if len(past) < longest else "":
            after, said = take(state, len(past), what, terms)
            if said != define(past + what, terms):
                yield past + what
            else:
                yield from walk(after, past + what)

    return walk(State(), "")


@every_terms
def test_every_sequence_says_what_the_definition_says(terms: Lifecycle) -> None:
    """All sequences of rings, silence and denials up to eight windows long; of runs, up to five."""
    assert not list(disagreements(RING + SILENT + DENIED, 8, terms, moved))
    assert not list(disagreements(RING + SILENT + DENIED + UNANSWERED, 4, terms, moved))


def _denial_is_silence(state: State, number: int, what: str, terms: Lifecycle) -> Moved:
    after, said = moved(state, number, SILENT if what == DENIED else what, terms)
    return after, ["denied", *said] if what == DENIED else said


def _goes_on_counting(state: State, number: int, what: str, terms: Lifecycle) -> Moved:
    after, said = moved(state, number, what, terms)
    if said != ["resolved"]:
        return after, said
    cells = {key: replace(cell, memory=(True,), since="") for key, cell in state.cells.items()}
    return replace(after, cells=cells), said


HOLD = 2


def held_moved(
    state: State, number: int, what: str, terms: Lifecycle, *, lasting: int = 99
) -> Moved:
    """Return the same of an alarm that holds, and is another one after so many windows."""
    until = decided(number + HOLD, SILENT).window_end
    ring = msgspec.structs.replace(fired(number), held_until=until)
    changed = str(number // lasting)
    decision = msgspec.structs.replace(decided(number, what), fingerprint=changed)
    return taken(state, decision, ring, what, terms)


def expected_held(past: str, terms: Lifecycle, *, lasting: int = 99) -> list[str]:
    """Return what is said where silence in a held window is no silence: nobody asked."""
    seen = [
        HELD
        if what == SILENT and RING in past[max(at - HOLD, at // lasting * lasting) : at]
        else what
        for at, what in enumerate(past)
    ]
    return expected(seen, terms)


@every_terms
def test_held_windows_are_left_out_of_every_count(terms: Lifecycle) -> None:
    """All sequences up to seven windows. Twin: held silence counts.

    An alarm that fires within its hold, as after a recovery, begins a new one; a changed one begins
    without holds.
    """
    letters = RING + SILENT + DENIED
    for lasting in (99, 3):
        now, define = (partial(of, lasting=lasting) for of in (held_moved, expected_held))
        assert not list(disagreements(letters, 7, terms, now, define))
    assert list(disagreements(letters, 5, terms, moved, expected_held))


def test_copies_and_other_ledgers_pasts_change_nothing() -> None:
    """A decision counts once; another ledger goes on where windows are new."""
    terms = Lifecycle(2, 2, 1)
    state, _ = moved(State(), 4, RING, terms)
    for again in (decided(4, RING), decided(3, RING), decided(3, RING, ledger="other")):
        assert step(state, again, [fired(3)], terms) == (state, ())
    state, notices = step(state, decided(5, RING, ledger="other"), [fired(5)], terms)
    assert [notice.status for notice in notices] == ["firing"]
    twice = [fired(6), fired(6)]
    assert len(step(state, decided(6, RING, ledger="other"), twice, terms)[1]) == 1


def test_groups_do_not_touch_each_other() -> None:
    """One fires while another rings for the first time; each has a mark that stays."""
    terms, state, said = Lifecycle(2, 2, 1), State(), []
    for number, rooms in enumerate([["hall"], ["hall", "lab"], ["lab"], []]):
        alarms = [fired(number, room) for room in rooms]
        state, notices = step(state, decided(number, RING), alarms, terms)
        said.append([(notice.group["room"], notice.status) for notice in notices])
        for notice in notices:
            assert notice.fingerprint == fingerprint("crowd", notice.group)
    assert said == [
        [],
        [("hall", "firing")],
        [("hall", "resolved"), ("lab", "firing")],
        [("lab", "resolved")],
    ]
    assert not state.cells, "nothing is kept of what is over"


def test_lost_alarms_are_no_silence() -> None:
    """Where the topic does not hold what the decision counts, nothing is resolved for it."""
    state, _ = moved(State(), 0, RING, EVERY_WINDOW)
    found = step(state, decided(1, SILENT), [], EVERY_WINDOW, whole=False)[1]
    assert [(notice.status, notice.reason) for notice in found] == [
        ("denied", "incomplete_records"),
        ("ongoing", None),
    ]


def test_templates_say_public_fields_in_local_time() -> None:
    """Labels stay as long as it fires; annotations tell the window; a denial has neither's room."""
    terms = Lifecycle(
        labels={"severity": "page", "where": "{alarm}/{room}"},
        annotations={"summary": "{room} is full at {window_end} {{{status}}}"},
    )
    _, (notice,) = step(State(), decided(0, RING), [fired(0)], terms, timezone="Asia/Tokyo")
    assert notice.labels == {"severity": "page", "where": "crowd/hall"}
    assert notice.annotations == {"summary": "hall is full at 1970-01-01 10:00 JST {firing}"}
    _, (denied,) = step(State(), decided(0, DENIED), [], terms)
    assert (denied.labels, denied.annotations) == ({"severity": "page"}, {})


@pytest.mark.parametrize(
    "template", ["{", "{}", "{room!r}", "{room:>9}", "{room.x}", "{0}", "{other}", "{room[0]}"]
)
def test_a_template_has_plain_known_fields(template: str) -> None:
    """No expression, no format, no attribute, nothing that is not listed."""
    assert problem(template, ("alarm", "room")) is not None
    assert problem("{{{room}}} of {alarm}", ("alarm", "room")) is None
    assert render("{room}, {other}", {"room": "hall"}) == "hall, {other}"


def test_ids_tell_windows_and_statuses_apart_and_are_the_same_for_copies() -> None:
    """An id is a function of group, window and status."""
    ids = set()
    for what in (RING, DENIED):
        for number in (0, 1):
            alarms = [fired(number)] if what == RING else []
            taken = decided(number, what), alarms, EVERY_WINDOW
            again = [step(State(), *taken)[1] for _ in range(2)]
            assert again[0] == again[1]
            ids.add(again[0][0].notice_id)
    assert len(ids) == 4


def windows_of(steps: str) -> str:
    """Return what windows of steps answered, one that is not over only where it rang."""
    found = ""
    for first in range(0, len(steps), STEPS):
        inside = steps[first : first + STEPS]
        if RING in inside:
            found += RING
        elif len(inside) == STEPS:
            found += SILENT if set(inside) == {SILENT} else DENIED
    return found


def expected_of_steps(past: str, terms: Lifecycle) -> list[str]:
    """Return what is said after the last of these steps: windows count, however they are cut."""
    before, now = (firing(windows_of(steps), terms) for steps in (past[:-1], past))
    return told(past[-1], before=before, now=now)


def stepped(state: State, number: int, what: str, terms: Lifecycle) -> Moved:
    """Return the state after a step of an early alarm, and what was said."""
    first = number - number % STEPS
    last = decided(first + STEPS - 1, SILENT).window_end
    decision = msgspec.structs.replace(
        decided(number, what), whole_start=decided(first, SILENT).window_start, whole_end=last
    )
    early = msgspec.structs.replace(
        fired(number),
        window_start=decision.whole_start,
        window_end=last,
        step_start=decision.window_start,
        step_end=decision.window_end,
    )
    return taken(state, decision, early, what, terms)


@pytest.mark.parametrize(
    "terms", [EVERY_WINDOW, Lifecycle(2, 2, 1), Lifecycle(2, 3, 2)], ids=lambda t: f"{t.needed}"
)
def test_an_early_alarm_counts_windows_and_not_their_steps(terms: Lifecycle) -> None:
    """It fires with the step that rings, and is silent once all steps of a window were."""
    every = (RING + SILENT + DENIED, 7), (RING + SILENT + DENIED + LOST, 5)
    for letters, longest in every:
        assert not list(disagreements(letters, longest, terms, stepped, expected_of_steps))


def _forgets_what_was_lost(state: State, number: int, what: str, terms: Lifecycle) -> Moved:
    after, said = stepped(state, number, what, terms)
    return replace(after, unclear=""), said


@pytest.mark.parametrize(
    ("broken", "letters", "terms", "define"),
    [
        (_denial_is_silence, RING + SILENT + DENIED, Lifecycle(2, 3, 1), expected),
        (_goes_on_counting, RING + SILENT + DENIED, Lifecycle(2, 3, 1), expected),
        (moved, RING + SILENT + LOST, EVERY_WINDOW, expected_of_steps),
        (_forgets_what_was_lost, RING + SILENT + LOST, EVERY_WINDOW, expected_of_steps),
    ],
)
def test_broken_lifecycles_are_caught(
    broken: Callable[..., Moved],
    letters: str,
    terms: Lifecycle,
    define: Callable[[str, Lifecycle], list[str]],
) -> None:
    """A denial taken for silence; rings counted from before it resolved.

    Of steps: one that resolves at a silent step; one that forgets that a step may have rung unseen.
    """
    assert list(disagreements(letters, 6, terms, broken, define))


SEVERE = {"W": "warning", "C": "critical"}


def levelled(past: str, terms: Lifecycle) -> list[list[tuple[str, str | None]]]:
    """Return status and label of every notice, window by window."""
    state, said = State(), []
    for number, what in enumerate(past):
        rings = [msgspec.structs.replace(fired(number), severity=SEVERE.get(what, ""))] * (
            what in SEVERE
        )
        state, notices = step(state, decided(number, what), rings, terms)
        said.append([(one.status, one.labels.get("severity")) for one in notices])
        assert all(one.severity == one.labels.get("severity", msgspec.UNSET) for one in notices)
    return said


@every_terms
def test_a_level_that_changes_is_resolved_and_the_new_one_fires(terms: Lifecycle) -> None:
    """All sequences of five windows fire as rings without a level, one set of labels at a time."""
    for past in map("".join, product("WC.D", repeat=5)):
        standing: str | None = None
        plain = [SILENT if what == SILENT else DENIED if what == DENIED else RING for what in past]
        for number, notices in enumerate(levelled(past, terms)):
            for status, label in notices:
                if status == "firing":
                    assert standing is None
                    standing = label
                elif status in {"ongoing", "resolved"}:
                    assert label == standing
                    standing = None if status == "resolved" else label
            assert (standing is not None) == firing(plain[: number + 1], terms)
            if standing is not None and past[number] in SEVERE:
                assert standing == SEVERE[past[number]]
