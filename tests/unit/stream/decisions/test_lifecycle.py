"""Lifecycles: every sequence of windows up to a length, against a second implementation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import pytest

from stream.decisions.lifecycle import Notice, State, fingerprint, step
from stream.decisions.templates import problem, render
from stream.model.lifecycles import EVERY_RING, Lifecycle
from tests.support.published import alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream.decisions.records import Alarm, DecisionRecord

RING, SILENT, DENIED, UNANSWERED = "R", ".", "D", "u"
TERMS = [
    Lifecycle(needed, among, resolve_after)
    for needed, among in ((1, 1), (2, 2), (3, 3), (1, 2), (2, 3))
    for resolve_after in (1, 2)
]


@cache
def decided(number: int, what: str, *, ledger: str = "ledger") -> DecisionRecord:
    """Return the decision of a window."""
    unanswered = int(what == UNANSWERED)
    return decision_of(number, denied=what == DENIED, unanswered=unanswered, ledger=ledger)


@cache
def rang(number: int, room: str = "hall") -> Alarm:
    """Return a ring in that window."""
    return alarm_of(number, {"room": room})


def moved(state: State, number: int, what: str, terms: Lifecycle) -> tuple[State, list[str]]:
    """Return the state after a window of one predicate, and what was said."""
    alarms = [rang(number)] if what == RING else []
    state, notices = step(state, decided(number, what), alarms, terms)
    return state, [notice.status for notice in notices]


def expected(past: Sequence[str], terms: Lifecycle) -> list[str]:
    """Return what is said after the last of these windows: the definition, from the whole past."""
    answered: list[bool] = []
    fires, before, begin, silent_since = False, False, 0, 0
    for what in past:
        before = fires
        if what in (DENIED, UNANSWERED):
            continue
        answered.append(what == RING)
        if fires:
            tail = answered[silent_since:]
            quiet = len(tail) - (max((i + 1 for i, one in enumerate(tail) if one), default=0))
            if quiet == terms.resolve_after:
                fires, begin = False, len(answered)
        elif sum(answered[begin:][-terms.among :]) >= terms.needed:
            fires, silent_since = True, len(answered)
    said = ["denied"] if past[-1] in (DENIED, UNANSWERED) else []
    if fires:
        said.append("ongoing" if before else "firing")
    elif before:
        said.append("resolved")
    return said


def disagreements(
    letters: str, longest: int, terms: Lifecycle, take: Callable[..., tuple[State, list[str]]]
) -> Iterator[str]:
    """Yield every sequence of windows after whose last one something else is said."""

    def walk(state: State, past: str) -> Iterator[str]:
        for what in letters if len(past) < longest else "":
            after, said = take(state, len(past), what, terms)
            if said != expected(past + what, terms):
                yield past + what
            else:
                yield from walk(after, past + what)

    return walk(State(), "")


@pytest.mark.parametrize("terms", TERMS, ids=lambda t: f"{t.needed}of{t.among}r{t.resolve_after}")
def test_every_sequence_says_what_the_definition_says(terms: Lifecycle) -> None:
    """All sequences of rings, silence and denials up to eight windows long; of runs, up to five."""
    assert not list(disagreements(RING + SILENT + DENIED, 8, terms, moved))
    assert not list(disagreements(RING + SILENT + DENIED + UNANSWERED, 4, terms, moved))


def _denial_is_silence(
    state: State, number: int, what: str, terms: Lifecycle
) -> tuple[State, list[str]]:
    after, said = moved(state, number, SILENT if what == DENIED else what, terms)
    return after, ["denied", *said] if what == DENIED else said


def _goes_on_counting(
    state: State, number: int, what: str, terms: Lifecycle
) -> tuple[State, list[str]]:
    after, said = moved(state, number, what, terms)
    if said != ["resolved"]:
        return after, said
    cells = {key: replace(cell, silent=0, since="") for key, cell in state.cells.items()}
    return replace(after, cells=cells), said


@pytest.mark.parametrize("broken", [_denial_is_silence, _goes_on_counting])
def test_broken_lifecycles_are_caught(broken: Callable[..., tuple[State, list[str]]]) -> None:
    """One takes a denial for silence; one goes on counting rings from before it resolved."""
    terms = Lifecycle(2, 3, 1)
    assert list(disagreements(RING + SILENT + DENIED, 6, terms, broken))


def test_copies_and_other_ledgers_pasts_change_nothing() -> None:
    """A decision counts once; another ledger goes on where windows are new."""
    terms = Lifecycle(2, 2, 1)
    state, _ = moved(State(), 4, RING, terms)
    for again in (decided(4, RING), decided(3, RING), decided(3, RING, ledger="other")):
        assert step(state, again, [rang(3)], terms) == (state, ())
    state, notices = step(state, decided(5, RING, ledger="other"), [rang(5)], terms)
    assert [notice.status for notice in notices] == ["firing"]
    twice = [rang(6), rang(6)]
    assert len(step(state, decided(6, RING, ledger="other"), twice, terms)[1]) == 1


def test_predicates_do_not_touch_each_other() -> None:
    """One fires while another rings for the first time; each has a mark that stays."""
    terms, state, said = Lifecycle(2, 2, 1), State(), []
    for number, rooms in enumerate([["hall"], ["hall", "lab"], ["lab"], []]):
        alarms = [rang(number, room) for room in rooms]
        state, notices = step(state, decided(number, RING), alarms, terms)
        said.append([(notice.predicate["room"], notice.status) for notice in notices])
        for notice in notices:
            assert notice.fingerprint == fingerprint("crowd", notice.predicate)
    assert said == [
        [],
        [("hall", "firing")],
        [("hall", "resolved"), ("lab", "firing")],
        [("lab", "resolved")],
    ]
    assert not state.cells, "nothing is kept of what is over"


def test_lost_alarms_are_no_silence() -> None:
    """Where the topic does not hold what the decision counts, nothing is resolved for it."""
    state, _ = moved(State(), 0, RING, EVERY_RING)
    found = step(state, decided(1, SILENT), [], EVERY_RING, whole=False)[1]
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
    _, (notice,) = step(State(), decided(0, RING), [rang(0)], terms, timezone="Asia/Tokyo")
    assert notice.labels == {"severity": "page", "where": "crowd/hall"}
    assert notice.annotations == {"summary": "hall is full at 1970-01-01 10:00 JST {firing}"}
    _, (denied,) = step(State(), decided(0, DENIED), [], terms)
    assert (denied.labels, denied.annotations) == ({"severity": "page"}, {})
    assert isinstance(denied, Notice)


@pytest.mark.parametrize(
    "template", ["{", "{}", "{room!r}", "{room:>9}", "{room.x}", "{0}", "{other}", "{room[0]}"]
)
def test_a_template_has_plain_known_fields(template: str) -> None:
    """No expression, no format, no attribute, nothing that is not listed."""
    assert problem(template, ("alarm", "room")) is not None
    assert problem("{{{room}}} of {alarm}", ("alarm", "room")) is None
    assert render("{room}, {other}", {"room": "hall"}) == "hall, {other}"


def test_ids_tell_windows_and_statuses_apart_and_are_the_same_for_copies() -> None:
    """An id is a function of predicate, window and status."""
    ids = set()
    for what in (RING, DENIED):
        for number in (0, 1):
            alarms = [rang(number)] if what == RING else []
            again = [step(State(), decided(number, what), alarms, EVERY_RING)[1] for _ in range(2)]
            assert again[0] == again[1]
            ids.add(again[0][0].notice_id)
    assert len(ids) == 4


def test_steps_after_an_early_ring_are_no_silence() -> None:
    """It rings once in its window; the first step of the next one may be silent."""
    window_end = decided(2, SILENT).window_end
    early = msgspec.structs.replace(
        rang(0),
        step_start=rang(0).window_start,
        step_end=rang(0).window_end,
        window_end=window_end,
    )
    said = []
    state = State()
    for number in range(4):
        alarms = [early] if number == 0 else []
        what = RING if number == 0 else SILENT
        state, notices = step(state, decided(number, what), alarms, EVERY_RING)
        said.append([notice.status for notice in notices])
    assert said == [["firing"], ["ongoing"], ["ongoing"], ["resolved"]]
