"""What is known of every alarm from what was published: its last windows, and what fires.

A pure function of public topics and of public configuration, so that a board that was killed knows
the same again once it has read back. What is shown is bounded, whatever is published: so many
alarms, windows of each, and groups named of each window. Other alarms are kept, for as long as a
board reads back: their lifecycles go on, and they are shown once they are heard of.

::

    windows kept   ▸ .  F  F  .  D  F  ?  .      F fired, . did not, D denied, ? answered in part
                     oldest          newest

No alarm is an answer, and a denial is none: they are told apart here and never added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from stream.decisions.lifecycle import State, follows
from stream.kafka.notify.messages import due_ms
from stream.model.panes import is_panes
from stream.windows.instants import from_iso_utc

if TYPE_CHECKING:
    from stream.decisions.lifecycle import Notice
    from stream.decisions.records import DecisionRecord
    from stream.kafka.public.pairing import Window
    from stream.model.subscriptions import Subscription

__all__ = ["Group", "Kind", "Seen", "Standing", "Standings"]

Group = tuple[tuple[str, str], ...]
"""Values by field, in the order of the alarm's SQL."""

_MOST_ALARMS: Final = 64
_MOST_NAMED: Final = 256  # groups of one window; how many more fired is known all the same


class Kind(StrEnum):
    """What a window was for a group."""

    FIRED = "fired"
    EARLIER = "earlier"
    """It had fired in an earlier step of the same window."""
    NOT_FIRED = "not-fired"
    DENIED = "denied"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Seen:
    """One window as it was published.

    Args:
        start_ms: inclusive, in milliseconds since the epoch.
        end_ms: exclusive.
        outcome: what it was for who did not fire.
        reason: why there is no full answer: the decision's own word, ``unanswered`` or
            ``incomplete_records``; empty where there is one.
        fired: groups, so many as are named.
        earlier: of a cumulative window, groups that fired in an earlier step of it.
        alarms: how many fired.
        lost: how many windows before it are not on the topic any more.
        held: groups that were not asked, since they had fired before, so many as are named.
    """

    start_ms: int
    end_ms: int
    outcome: Kind
    reason: str
    fired: frozenset[Group]
    earlier: frozenset[Group]
    alarms: int
    lost: int
    held: frozenset[Group] = frozenset()

    def kind(self, group: Group) -> Kind:
        """Return what it was for a group: not known of one that may have fired without a name."""
        if group in self.fired:
            return Kind.FIRED
        if group in self.earlier:
            return Kind.EARLIER
        unsure = group in self.held or self.alarms > len(self.fired)
        return Kind.UNSURE if unsure and self.outcome is Kind.NOT_FIRED else self.outcome

    @property
    def kind_of_any(self) -> Kind:
        """What it was for all groups together."""
        if self.alarms:
            return Kind.FIRED
        if self.outcome is Kind.NOT_FIRED and (self.earlier or self.held):
            return Kind.EARLIER if self.earlier else Kind.UNSURE
        return self.outcome


@dataclass(frozen=True, slots=True)
class Standing:
    """One alarm.

    Args:
        alarm: its name.
        seen: its last windows, newest last.
        firing: notices of what fires now, so many as are named.
        firings: how many fire.
        published_ms: when its last decision left; 0 where none was heard of.
        due_ms: by when the next one is overdue; 0 where none was heard of.
        state: of its lifecycle.
    """

    alarm: str
    seen: tuple[Seen, ...] = ()
    firing: tuple[Notice, ...] = ()
    firings: int = 0
    published_ms: int = 0
    due_ms: int = 0
    state: State = field(default_factory=State)


@dataclass(eq=False)
class Standings:
    """All alarms that were heard of, and those that are configured.

    Args:
        subscription: lifecycles and time zone.
        windows: how many are kept of each alarm.
    """

    subscription: Subscription
    windows: int

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._heard: dict[str, Standing] = {}
        self.changes = 0
        """Rises whenever what is known changes."""

    def take(self, window: Window) -> None:
        """Take a window, in the order of its alarm; copies and panes change nothing."""
        decision, alarm = window.decision, window.decision.alarm
        before = self._heard.get(alarm, Standing(alarm))
        if is_panes(alarm) or not follows(before.state, decision):
            return
        state, notices = window.after(before.state, self.subscription)
        firing = [each for each in notices if each.status in {"firing", "ongoing"}]
        self.changes += 1
        self._heard.pop(alarm, None)  # the one heard of last is the last of the mapping
        self._heard[alarm] = replace(
            before,
            seen=(*before.seen, _seen(window, before.state))[-self.windows :],
            firing=tuple(firing[:_MOST_NAMED]),
            firings=len(firing),
            published_ms=window.published_ms,
            due_ms=due_ms(decision, window.published_ms),
            state=state,
        )

    def forget(self, now_ms: int, lookback_ms: int) -> None:
        """Forget alarms that reading back would not find any more, and that are overdue.

        An alarm that was renamed or removed is heard of no more, and not overdue for ever.

        Args:
            now_ms: milliseconds since the epoch.
            lookback_ms: how far back a board reads at its start.
        """
        for alarm, standing in list(self._heard.items()):
            if standing.due_ms < now_ms and standing.published_ms < now_ms - lookback_ms:
                del self._heard[alarm]
                self.changes += 1

    @property
    def forgotten(self) -> bool:
        """Whether there are more alarms than are shown: those heard of last are."""
        return len(self._heard) > _MOST_ALARMS

    def all(self) -> tuple[Standing, ...]:
        """Return all that is shown by name, configured ones of which nothing was heard, too.

        What fires is, and what was to be heard of first: one that is overdue is heard of last.
        """
        by_due = sorted(self._heard, key=lambda name: self._heard[name].due_ms)
        names = {
            *list(self.subscription.lifecycles)[:_MOST_ALARMS],
            *list(self._heard)[-_MOST_ALARMS:],
            *by_due[:_MOST_ALARMS],
            *(name for name, one in self._heard.items() if one.firings),
        }
        return tuple(self._heard.get(name, Standing(name)) for name in sorted(names))


def _seen(window: Window, before: State) -> Seen:
    decision = window.decision
    denied = decision.outcome == "denied"
    fired = [] if denied else [tuple(alarm.group.items()) for alarm in window.alarms]
    outcome, reason = _outcome(decision, whole=window.whole)
    # Who fired in an earlier step of a window is not asked again until it is over.
    earlier = {group for group, cell in before.cells.items() if cell.through == decision.whole_end}
    end = decision.whole_end or decision.window_end
    same = decision.fingerprint == before.fingerprint
    held = sorted(group for group, cell in before.cells.items() if same and cell.held >= end)
    return Seen(
        start_ms=from_iso_utc(decision.window_start),
        end_ms=from_iso_utc(decision.window_end),
        outcome=outcome,
        reason=reason,
        fired=frozenset(fired[:_MOST_NAMED]),
        earlier=frozenset(sorted(earlier.difference(fired))[:_MOST_NAMED]),
        alarms=0 if denied else decision.alarms,
        lost=decision.sequence - before.sequence - 1 if before.ledger == decision.ledger else 0,
        held=frozenset(held[:_MOST_NAMED]),
    )


def _outcome(decision: DecisionRecord, *, whole: bool) -> tuple[Kind, str]:
    if decision.outcome == "denied":
        return Kind.DENIED, decision.reason or ""
    if not whole:
        return Kind.UNSURE, "incomplete_records"
    return (Kind.UNSURE, "unanswered") if decision.unanswered else (Kind.NOT_FIRED, "")
