"""The lifecycle of alarms: a pure function from what is published to firing and resolved.

Guarantee: :func:`step` sees one decision with its alarms, both published before, and the
configuration. It is post-processing: whoever reads the two topics can compute the same, and it
costs no privacy.

::

    for: 2           fired   .  x  x  .  D  x  .  .
    resolve_after: 2 state   .  .  F  F  F  F  F  r
                                   │     │        └ resolved: not fired twice in a row
                                   │     └ denied: nothing moves, and it is said
                                   └ firing: fired twice in a row

A group fires at whichever severity; where that changes, it is resolved at the old one and fires
at the new one, in one window.

A window that was denied, and a group that got no answer in a window, neither raise nor resolve:
they are left out of every count. So are windows that end by ``held_until`` of a group that
fired: it was not asked. Once resolved, a group begins anew. Of noisy panes nothing is said:
they are no alarm, and every window over a pane that was denied is denied itself.

An early alarm counts windows, too, and not the steps that it is decided in: it fires in a window at
whichever step, and has not fired in it only once the last step is over::

    step            1 2 3 4   1 2 3 4   1 2 3 4   1 2 3 4   1 2 3 4
    fired           . x . .   . . . x   . . . .   . D D D   . . . .     (resolve_after: 2)
    state           . F F F   F F F F   F F F F   F F F F   F F F r
                                              │         │         └ did not fire in a second window
                                              │         └ no answer: its last step was denied
                                              └ did not fire in this window
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from stream.decisions.records import identity
from stream.decisions.templates import FIELDS, problem, render
from stream.model.panes import is_panes
from stream.windows.instants import from_iso_utc
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.decisions.records import AlarmRecord, DecisionRecord
    from stream.model.lifecycles import Lifecycle

__all__ = ["Cell", "Notice", "State", "fingerprint", "follows", "step"]

Status = Literal["firing", "ongoing", "resolved", "denied"]
Key = tuple[tuple[str, str], ...]
Memory = tuple[bool, ...] | int
"""What the next answered windows of a group depend on: which of the last ones fired, newest last;
while it is firing, for how many in a row none did."""

_UNANSWERED: Final = "unanswered"
_INCOMPLETE: Final = "incomplete_records"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What one window changed for one group, or that it was denied.

    Its published schema is ``stream/decisions/schemas/notice.schema.json``.

    Args:
        notice_id: 32 hex digits, the same for every copy of this notice.
        fingerprint: 32 hex digits of alarm and group, the same for as long as both exist.
        status: ``firing`` and ``resolved`` once each in turn; ``ongoing`` after every further
            window that leaves it firing; ``denied`` of a window without an answer.
        alarm: the alarm's name in the configuration.
        group: the group's values by field; empty where the alarm has no group, and of denials.
        labels: rendered.
        annotations: rendered.
        alarm_id: of the last time that the group fired; empty of a denial.
        reason: why there was no answer: the decision's own word; ``unanswered`` where the run of
            the alarm was spent within the window; ``incomplete_records`` where alarms that the
            decision counts are not on their topic any more. ``None`` otherwise.
        since: start of the window, or of the step, with which it began to fire; empty of a denial.
        window_start: ISO 8601 UTC with milliseconds, inclusive.
        window_end: exclusive.
        next_start: start of the alarm's next window.
        ledger: of the decision.
        sequence: of the decision.
        severity: of the last time that it fired, where its alarm has levels: a label, too. When it
            changes, the old one is resolved and the new one fires.
    """

    notice_id: str
    fingerprint: str
    status: Status
    alarm: str
    group: dict[str, str]
    labels: dict[str, str]
    annotations: dict[str, str]
    alarm_id: str = ""
    reason: str | None = None
    since: str = ""
    window_start: str
    window_end: str
    next_start: str
    ledger: str
    sequence: int
    severity: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of one group.

    Args:
        memory: as :func:`_remembered` has it.
        since: start of the window with which it began to fire; empty where it does not.
        alarm_id: of the last time that it fired.
        through: end of the window that it last fired in; empty where it did not.
        held: until when windows are not asked of it; empty for no hold.
        severity: of the last time that it fired, where its alarm has levels.
    """

    memory: Memory = ()
    since: str = ""
    alarm_id: str = ""
    through: str = ""
    held: str = ""
    severity: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class State:
    """What is known of one alarm: as little as its next windows can need.

    Args:
        ledger: of its last decision.
        sequence: of its last decision.
        start: of its last window.
        unclear: end of the last window one of whose steps may have fired unseen; empty for none.
        cells: by group; those that are as new are not in it.
        fingerprint: of its last decision's configuration: another one holds nobody.
    """

    ledger: str = ""
    sequence: int = -1
    start: str = ""
    unclear: str = ""
    cells: Mapping[Key, Cell] = field(default_factory=dict)
    fingerprint: str = ""


def follows(state: State, decision: DecisionRecord) -> bool:
    """Tell whether a decision is news: copies, and what another ledger decided again, are not."""
    if decision.ledger == state.ledger:
        return decision.sequence > state.sequence
    return decision.window_start > state.start


def step(
    state: State,
    decision: DecisionRecord,
    alarms: Sequence[AlarmRecord],
    terms: Lifecycle,
    *,
    whole: bool = True,
    timezone: str = "UTC",
) -> tuple[State, tuple[Notice, ...]]:
    """Return the state after a window, and what is to be said of it.

    Called once for each decision of an alarm, in the order of the topic. Copies change nothing.

    Args:
        state: of this alarm before.
        decision: one of its decisions.
        alarms: those of the decision, copies among them at will.
        terms: of the lifecycle.
        whole: whether these are all of its alarms; where not, no alarm is no answer.
        timezone: in which templates say times.

    Returns:
        Notices in the order of groups, a denial first; none of panes.
    """
    if is_panes(decision.alarm) or not follows(state, decision):
        return state, ()
    denied = decision.outcome == "denied"
    answered = not denied and whole and not decision.unanswered
    # A group is the same in whatever order its fields are; while it is known it keeps the first,
    # which names it to those who are told of it.
    known = {frozenset(key): key for key in state.cells}
    fired: dict[Key, AlarmRecord] = {}
    for alarm in () if denied else alarms:
        key = tuple(alarm.group.items())
        fired[known.setdefault(frozenset(key), key)] = alarm
    notice = partial(_notice, decision, terms, timezone)
    end = decision.window_end if decision.whole_end is msgspec.UNSET else decision.whole_end
    unclear = state.unclear if answered else end
    over = decision.window_end == end != unclear
    notices = []
    if not answered:
        reason = decision.reason or (_INCOMPLETE if not whole else _UNANSWERED)
        notices.append(notice((), Cell(), "denied", reason))
    cells: dict[Key, Cell] = {}
    for key in sorted({*state.cells, *fired}):
        before = state.cells.get(key, Cell())
        if decision.fingerprint != state.fingerprint:
            before = replace(before, held="")
        cell = before
        if (key in fired or (over and end > before.held)) and before.through != end:
            cell = _moved(before, fired.get(key), terms, decision.window_start, end)
        goes_on = bool(before.since and cell.since) and before.severity == cell.severity
        if before.since and not goes_on:
            notices.append(notice(key, before, "resolved"))
        if cell.since:
            notices.append(notice(key, cell, "ongoing" if goes_on else "firing"))
        if cell.since or cell.memory:
            cells[key] = cell
    after = State(
        decision.ledger,
        decision.sequence,
        decision.window_start,
        unclear,
        cells,
        decision.fingerprint,
    )
    return after, tuple(notices)


def fingerprint(alarm: str, group: Mapping[str, str]) -> str:
    """Return what stands for an alarm and a group: 32 hex digits, in every window the same."""
    return identity(b"tocsin.lifecycle", [alarm, dict(group)])


def _remembered(memory: Memory, terms: Lifecycle, *, fired: bool) -> Memory:
    """Return what is remembered of a group after an answered window; nothing once it is resolved.

    Args:
        memory: before it.
        terms: of the lifecycle.
        fired: whether the group fired in it.
    """
    if isinstance(memory, int):
        quiet = 0 if fired else memory + 1
        return () if quiet == terms.resolve_after else quiet
    kept = (*memory, fired)
    if sum(kept) >= terms.needed:
        return 0
    if terms.needed == terms.among and not fired:  # a new row begins
        return ()
    while kept and not (kept[0] and len(kept) < terms.among):
        kept = kept[1:]
    return kept


def _moved(cell: Cell, alarm: AlarmRecord | None, terms: Lifecycle, start: str, end: str) -> Cell:
    """Return a group after it fired in a window that ends then, or did not fire in all of it."""
    memory = _remembered(cell.memory, terms, fired=alarm is not None)
    firing = isinstance(memory, int)
    if cell.since and not firing:
        return Cell()
    since = cell.since or (start if firing else "")
    if alarm is None:
        return replace(cell, memory=memory, since=since, through="")
    held = "" if alarm.held_until is msgspec.UNSET else max(cell.held, alarm.held_until)
    return Cell(memory, since, alarm.alarm_id, end, held, alarm.severity)


def _notice(  # noqa: PLR0917 -- most are given once for a window
    decision: DecisionRecord,
    terms: Lifecycle,
    timezone: str,
    key: Key,
    cell: Cell,
    status: Status,
    reason: str | None = None,
) -> Notice:
    """Word one notice of a window."""
    group, labels = dict(key), terms.labels
    mark = fingerprint(decision.alarm, group)
    of_labels = {"alarm": decision.alarm, **group}
    if status == "denied":  # of no group: what speaks of one cannot be said
        labels = {name: text for name, text in labels.items() if not problem(text, of_labels)}
    level = {"severity": cell.severity} if cell.severity else {}
    notice = Notice(
        notice_id=identity(
            b"tocsin.notice", [mark, status, decision.window_start, decision.window_end]
        ),
        fingerprint=mark,
        status=status,
        alarm=decision.alarm,
        group=group,
        labels={name: render(text, of_labels) for name, text in labels.items()} | level,
        annotations={},
        alarm_id=cell.alarm_id,
        reason=reason,
        since=cell.since,
        window_start=decision.window_start,
        window_end=decision.window_end,
        next_start=decision.next_start,
        ledger=decision.ledger,
        sequence=decision.sequence,
        severity=cell.severity,
    )
    if status == "denied" or not terms.annotations:
        return notice
    fields = {name: str(getattr(notice, name)) for name in FIELDS}
    for name in ("since", "window_start", "window_end"):
        fields[name] = moment_text(from_iso_utc(fields[name]), timezone)
    texts = terms.annotations.items()
    said = {name: render(text, fields | group) for name, text in texts}
    return msgspec.structs.replace(notice, annotations=said)
