"""Lifecycles: every sequence of windows up to a length, against a second implementation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import product

import msgspec
import pytest

from stream.decisions.lifecycle import State, fingerprint, step
from stream.decisions.templates import problem, render
from stream.model.lifecycles import EVERY_WINDOW, Lifecycle
from tests.support.published import alarm_of, decision_of

RING, SILENT, DENIED, UNANSWERED, LOST, HELD = "R", ".", "D", "u", "?", "h"
REASONS = {DENIED: "budget", UNANSWERED: "unanswered", LOST: "incomplete_records"}
STEPS = 2
HOLD = 2
TERMS = [
    Lifecycle(needed, among, resolve_after)
    for needed, among in ((1, 1), (2, 2), (3, 3), (1, 2), (2, 3))
    for resolve_after in (1, 2)
]
every_terms = pytest.mark.parametrize(
    "terms", TERMS, ids=lambda t: f"{t.needed}of{t.among}r{t.resolve_after}"
)


@cache
def decided(number, what, ledger="ledger"):
    """Return the decision of a window."""
    unanswered = int(what == UNANSWERED)
    return decision_of(number, denied=what == DENIED, unanswered=unanswered, ledger=ledger)


@cache
def fired(number, room="hall"):
    """Return an alarm that fired in that window."""
    return alarm_of(number, {"room": room})


def taken(state, decision, alarm, what, terms):
    """Return the state after a decision, with an alarm if it fired, and what was said."""
    alarms = [alarm] if what == RING else []
    state, notices = step(state, decision, alarms, terms, whole=what != LOST)
    return state, [notice.reason or notice.status for notice in notices]


def moved(state, number, what, terms):
    """Return the state after a window of one group, and what was said."""
    return taken(state, decided(number, what), fired(number), what, terms)


def firing(past, terms):
    """Tell whether a group fires after these windows: the definition, from the whole past."""
    answered = [what == RING for what in past if what in (RING, SILENT)]
    fires, begin = False, 0
    for at in range(1, len(answered) + 1):
        window = answered[begin:at]
        if fires and window[-terms.resolve_after :] == [False] * terms.resolve_after:
            fires, begin = False, at
        elif not fires and sum(window[-terms.among :]) >= terms.needed:
            fires, begin = True, at
    return fires


def told(last, *, before, now):
    """Return what is said of a window or a step, and of what it changed."""
    said = [REASONS[last]] if last in REASONS else []
    if now:
        said.append("ongoing" if before else "firing")
    elif before:
        said.append("resolved")
    return said


def expected(past, terms):
    """Return what is said after the last of these windows."""
    return told(past[-1], before=firing(past[:-1], terms), now=firing(past, terms))


def held_moved(state, number, what, terms, *, lasting=99):
    """Return the same of an alarm that holds, and is another one after so many windows."""
    until = decided(number + HOLD, SILENT).window_end
    alarm = msgspec.structs.replace(fired(number), held_until=until)
    changed = str(number // lasting)
    decision = msgspec.structs.replace(decided(number, what), fingerprint=changed)
    return taken(state, decision, alarm, what, terms)


def expected_held(past, terms, *, lasting=99):
    """Return what is said where silence in a held window is no silence: nobody asked."""
    seen = [
        HELD
        if what == SILENT and RING in past[max(at - HOLD, at // lasting * lasting) : at]
        else what
        for at, what in enumerate(past)
    ]
    return expected("".join(seen), terms)


def stepped(state, number, what, terms):
    """Return the state after a step of an early alarm, and what was said."""
    first = number - number % STEPS
    start, end = decided(first, SILENT).window_start, decided(first + STEPS - 1, SILENT).window_end
    decision = msgspec.structs.replace(decided(number, what), whole_start=start, whole_end=end)
    early = msgspec.structs.replace(
        fired(number),
        window_start=start,
        window_end=end,
        step_start=decision.window_start,
        step_end=decision.window_end,
    )
    return taken(state, decision, early, what, terms)


def expected_of_steps(past, terms):
    """Return what is said after the last of these steps: windows count, however they are cut."""
    before, now = (firing(windows_of(steps), terms) for steps in (past[:-1], past))
    return told(past[-1], before=before, now=now)


def windows_of(steps):
    """Return what windows of steps answered, one that is not over only where it fired."""
    found = ""
    for first in range(0, len(steps), STEPS):
        inside = steps[first : first + STEPS]
        if RING in inside:
            found += RING
        elif len(inside) == STEPS:
            found += SILENT if set(inside) == {SILENT} else DENIED
    return found


def disagreements(take, define, letters, longest, terms):
    """Yield every sequence of windows after whose last one something else is said."""

    def walk(state, past):
        for what in letters if len(past) < longest else "":
            after, said = take(state, len(past), what, terms)
            if said != define(past + what, terms):
                yield past + what
            else:
                yield from walk(after, past + what)

    return walk(State(), "")


@every_terms
@pytest.mark.parametrize(
    ("take", "define", "letters", "longest"),
    [
        (moved, expected, "R.D", 8),
        (moved, expected, "R.Du?", 4),
        # A held window is left out of every count. An alarm that fires within its hold, as after a
        # recovery, begins a new one; a changed one begins without holds.
        (held_moved, expected_held, "R.D", 7),
        (partial(held_moved, lasting=3), partial(expected_held, lasting=3), "R.D", 7),
        # An early alarm fires with its step, and is silent once all steps of a window were.
        (stepped, expected_of_steps, "R.D", 7),
        (stepped, expected_of_steps, "R.D?", 5),
    ],
    ids=["windows", "no answer", "held", "changed", "steps", "lost steps"],
)
def test_every_sequence_says_what_the_definition_says(terms, take, define, letters, longest):
    """All sequences of what windows or steps may bring, up to a length."""
    assert not list(disagreements(take, define, letters, longest, terms))


def _denial_is_silence(state, number, what, terms):
    after, said = moved(state, number, SILENT if what == DENIED else what, terms)
    return after, [REASONS[what], *said] if what == DENIED else said


def _goes_on_counting(state, number, what, terms):
    after, said = moved(state, number, what, terms)
    if said != ["resolved"]:
        return after, said
    cells = {key: replace(cell, memory=(True,), since="") for key, cell in state.cells.items()}
    return replace(after, cells=cells), said


def _forgets_what_was_lost(state, number, what, terms):
    after, said = stepped(state, number, what, terms)
    return replace(after, unclear=""), said


@pytest.mark.parametrize(
    ("broken", "define", "letters"),
    [
        (_denial_is_silence, expected, "R.D"),
        (_goes_on_counting, expected, "R.D"),
        (moved, expected_held, "R.D"),
        (moved, expected_of_steps, "R.?"),
        (_forgets_what_was_lost, expected_of_steps, "R.?"),
    ],
)
def test_broken_lifecycles_are_caught(broken, define, letters):
    """A denial taken for silence; alarms counted from before it resolved; held silence counted.

    Of steps: one that resolves at a silent step; one that forgets that a step may have fired
    unseen.
    """
    assert any(
        list(disagreements(broken, define, letters, 6, terms))
        for terms in (EVERY_WINDOW, Lifecycle(2, 3, 1))
    )


def test_copies_and_other_ledgers_pasts_change_nothing():
    """A decision counts once; another ledger goes on where windows are new."""
    terms = Lifecycle(2, 2, 1)
    state, _ = moved(State(), 4, RING, terms)
    for again in (decided(4, RING), decided(3, RING), decided(3, RING, "other")):
        assert step(state, again, [fired(3)], terms) == (state, ())
    twice = [fired(5), fired(5)]
    _, (notice,) = step(state, decided(5, RING, "other"), twice, terms)
    assert notice.status == "firing"


def test_groups_do_not_touch_each_other():
    """One fires while another rings for the first time; each has a mark that stays."""
    terms, state, said = Lifecycle(2, 2, 1), State(), []
    for number, rooms in enumerate([["hall"], ["hall", "lab"], ["lab"], []]):
        alarms = [fired(number, room) for room in rooms]
        state, notices = step(state, decided(number, RING), alarms, terms)
        said.append({notice.group["room"]: notice.status for notice in notices})
        assert all(each.fingerprint == fingerprint("crowd", each.group) for each in notices)
    assert said == [
        {},
        {"hall": "firing"},
        {"hall": "resolved", "lab": "firing"},
        {"lab": "resolved"},
    ]
    assert not state.cells, "nothing is kept of what is over"


def test_a_group_is_the_same_in_whatever_order_its_fields_are():
    """Who swaps two fields of GROUP BY resolves nothing, and moves no topic of MQTT that is ON."""
    state = State()
    for number, fields in enumerate((["room", "floor"], ["floor", "room"])):
        alarm = alarm_of(number, dict.fromkeys(fields, ""))
        state, (notice,) = step(state, decided(number, RING), [alarm], EVERY_WINDOW)
    assert (notice.status, [*notice.group]) == ("ongoing", ["room", "floor"])


def test_templates_say_public_fields_in_local_time():
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
def test_a_template_has_plain_known_fields(template):
    """No expression, no format, no attribute, nothing that is not listed."""
    assert problem(template, ("alarm", "room")) is not None
    assert problem("{{{room}}} of {alarm}", ("alarm", "room")) is None
    assert render("{room}, {other}", {"room": "hall"}) == "hall, {other}"


def test_names_in_templates_are_not_expressions():
    """Dots, brackets and digits are parts of a group field's name; nothing is read of a value."""
    group = {"site.room": "hall", "0": "zero", "r[0]": "first", "room": "lab"}
    template = "{site.room} {0} {r[0]} {room}, {room.upper} {room[0]} {1} {{}}"
    assert problem(template, (*group, "room.upper", "room[0]", "1")) is None
    assert render(template, group) == "hall zero first lab, {room.upper} {room[0]} {1} {}"


def test_ids_tell_windows_and_statuses_apart_and_are_the_same_for_copies():
    """An id is a function of group, window and status."""
    windows = [(decided(n, what), [fired(n)] * (what == RING)) for n in (0, 1) for what in "RD"]
    first, again = (
        [step(State(), *window, EVERY_WINDOW)[1][0].notice_id for window in windows]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first)) == 4


SEVERE = {"W": "warning", "C": "critical"}


@every_terms
def test_a_level_that_changes_is_resolved_and_the_new_one_fires(terms):
    """All sequences of five windows fire as if without levels, one set of labels at a time."""
    for past in map("".join, product("WC.D", repeat=5)):
        plain = past.replace("W", RING).replace("C", RING)
        state, before = State(), None
        for number, what in enumerate(past):
            alarms = [msgspec.structs.replace(fired(number), severity=SEVERE.get(what, ""))]
            state, notices = step(state, decided(number, what), alarms * (what in SEVERE), terms)
            now = SEVERE.get(what, before) if firing(plain[: number + 1], terms) else None
            ends, begins = [("resolved", before)] * bool(before), [("firing", now)] * bool(now)
            said = [(one.status, one.labels.get("severity")) for one in notices if one.group]
            assert said == ([("ongoing", now)] * bool(now) if now == before else ends + begins)
            assert all(one.severity == one.labels["severity"] for one in notices if one.group)
            before = now
