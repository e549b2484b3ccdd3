"""What the page says, from what is known: words, bounded lists and strips, all of it published.

Everything that came from a topic is text here, and escaped where it is written. A strip is one row
of the map, drawn from numbers alone: one cell a window, the newest at the right. What a window was
is told by shape, and by colour besides: full where it fired, half where it had fired earlier in the
same window, a dash where it did not fire, a cross where it was denied, a circle where it is not
known; a dashed line where windows are lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import islice, product
from operator import contains
from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from stream.decisions.lifecycle import fingerprint
from stream.kafka.board.standing import Kind
from stream.model.numbers import decimal
from stream.planning.pages import template_of
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from stream.kafka.board.standing import Group, Seen, Standing, Standings
    from stream.model.alarms import Budget
    from stream.model.feeds import Domain
    from stream.model.subscriptions import BoardSetup

__all__ = ["MOST_LISTED", "SHAPES", "WIDTH", "AlarmView", "Row", "Writer", "overdue", "row_of"]

WIDTH: Final = 10
"""Of a cell of a strip, which is twice as high."""
SHAPES: Final[Mapping[str, str]] = {
    Kind.FIRED: "m1 1h8v18h-8z",
    Kind.EARLIER: "m1 11h8v8h-8z",
    Kind.NOT_FIRED: "m3 15h4",
    Kind.DENIED: "m2 5l6 10m0-10l-6 10",
    Kind.UNSURE: "m2 10a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "lost": "v20",
}
"""By kind, how a window is drawn from the upper left corner of its cell."""
MOST_LISTED: Final = 200
"""Groups of one alarm that are named at most; how many more there are is said."""

_MOST_FIRING: Final = 100  # on the page at once; how many more there are is said
_MOST_IN_WORDS: Final = 12  # groups of one window
_LONGEST_VALUE: Final = 120  # letters of one value
_STRANGE: Final = "\N{REPLACEMENT CHARACTER}"
_REASONS: Final[Mapping[str, str]] = {
    "budget": "the privacy budget, or this alarm's SVT run, is spent",
    "conflict": "a partition was counted twice with different results",
    "incomplete": "part of its events may not be kept any more",
    "incomplete_records": "some of its alarms are not on their topic any more",
    "not_admitted": "it was not part of the configuration when its turn came",
    "pane_gone": "a noisy pane that it is read from is not kept any more",
    "partition_corrupt": "a partition of its feed cannot be read on",
    "partition_missing": "a partition of its feed could not be read in time",
    "reconfigured": "it began before a change of the configuration",
    "reference_timeout": "its public reference did not come in time",
    "repartitioned": "its feed was given more partitions meanwhile",
    "step_missed": "an earlier step of its window has no answer",
    "too_old": "it was not decided in time",
    "transaction_open": "an open transaction blocks its feed",
    "unanswered": "the run of its alarm was spent before all were asked",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the map: a group, or any.

    Args:
        name: its values.
        fires: whether it fires now.
        paths: by kind, what is drawn.
        counts: by kind, how many windows are of it.
        last: the window that fired last; ``None`` where none did.
    """

    name: str
    fires: bool
    paths: Mapping[str, str]
    counts: Counter[str]
    last: Seen | None


@dataclass(frozen=True, slots=True)
class AlarmView:
    """One alarm.

    Args:
        standing: what is known of it.
        anchor: an identifier for links and for what is open on the page.
        late: whether its next decision is overdue.
        fields: what its groups are made of.
        rows: of the map, the one of any group first.
        more: how many further groups fired.
        unfired: public groups without an alarm in these windows, so many as are listed.
        without: how many there are; ``None`` where that is not known.
    """

    standing: Standing
    anchor: str
    late: bool
    fields: str
    rows: Sequence[Row]
    more: int
    unfired: Sequence[str]
    without: int | None


class Writer:
    """Writes the page.

    Args:
        setup: how much is shown, in which time zone, and what is promised.
    """

    def __init__(self, setup: BoardSetup) -> None:
        self._setup = setup
        self._view = template_of(__package__, "view.html")
        self._page = template_of(__package__, "board.html")

    def view(self, known: Standings, *, now_ms: int, caught_up: bool, away: bool) -> str:
        """Return the part of the page that changes.

        Args:
            known: every alarm.
            now_ms: when this was asked, in milliseconds since the epoch.
            caught_up: whether all was read that was there at the start.
            away: whether Kafka does not answer.
        """
        timezone = self._setup.subscription.timezone
        alarms = self.alarms(known, now_ms)
        firing = ((each, notice) for each in alarms for notice in each.standing.firing)

        def clock(time_ms: int) -> str:
            return clock_text(time_ms, timezone)

        def moment(time_ms: int) -> str:
            return moment_text(time_ms // 1_000 * 1_000, timezone)

        def span(window: Seen) -> str:
            start, end = clock(window.start_ms), clock(window.end_ms)
            same = start.partition(" ")[0] == end.partition(" ")[0]
            return f"{start} to {end.partition(' ')[2] if same else end}"

        return self._view.render(
            alarms=alarms,
            firing=tuple(islice(firing, _MOST_FIRING)),
            firings=sum(each.standing.firings for each in alarms),
            heard_ms=max((each.standing.published_ms for each in alarms), default=0),
            forgotten=known.forgotten,
            overdue=[shown(each.standing.alarm) for each in alarms if each.late],
            caught_up=caught_up,
            away=away,
            promise=tuple(promise(self._setup.budget)),
            timezone=timezone,
            kafka=self._setup.subscription.kafka,
            links=self._setup.board.links,
            shapes=SHAPES,
            width=WIDTH,
            clock=clock,
            moment=moment,
            since=lambda instant: moment_text(from_iso_utc(instant), timezone),
            span=span,
            shown=shown,
            words=words,
        )

    def page(self, html: str) -> str:
        """Return the whole page around what :meth:`view` returned."""
        return self._page.render(view=html)

    def alarms(self, known: Standings, now_ms: int) -> tuple[AlarmView, ...]:
        """Return what is shown of every alarm, by name."""
        standings = known.all()
        late = overdue(standings, now_ms)
        return tuple(self._alarm(each, late=each.alarm in late) for each in standings)

    def _alarm(self, standing: Standing, *, late: bool) -> AlarmView:
        seen, domain = standing.seen, self._setup.groups.get(standing.alarm)
        firing = {tuple(notice.group.items()) for notice in standing.firing}
        fired = Counter(group for window in seen for group in window.fired)
        # First what fires, then by how often; without a group it is "any".
        named = sorted(
            (each for each in {*fired, *firing} if each),
            key=lambda each: (each not in firing, -fired[each], each),
        )
        rows = []
        if seen:
            rows.append(row_of("any", seen, [each.kind_of_any for each in seen], bool(firing)))
        for group in named[: self._setup.board.groups]:
            kinds = [each.kind(group) for each in seen]
            rows.append(row_of(_name(group), seen, kinds, group in firing))
        fields = [field for field, _ in named[0]] if named else domain.fields if domain else ()
        unfired, without = _without(seen, named, domain)
        return AlarmView(
            standing=standing,
            anchor=fingerprint(standing.alarm, {}),
            late=late,
            fields=", ".join(map(shown, fields)),
            rows=rows,
            more=max(0, len(named) - self._setup.board.groups),
            unfired=unfired,
            without=without,
        )


def overdue(standings: Iterable[Standing], now_ms: int) -> tuple[str, ...]:
    """Return the names of alarms whose next decision should have been heard of."""
    return tuple(each.alarm for each in standings if 0 < each.due_ms < now_ms)


def row_of(name: str, seen: Sequence[Seen], kinds: Sequence[Kind], fires: bool) -> Row:
    """Return the row of what windows were.

    Args:
        name: of who it is.
        seen: the windows, newest last.
        kinds: what each was for them.
        fires: whether they fire now.
    """
    paths: dict[str, str] = defaultdict(str)
    last = None
    for at, (window, kind) in enumerate(zip(seen, kinds, strict=True)):
        for each in (kind, "lost") if window.lost else (kind,):
            paths[each] += f"M{at * WIDTH} 0{SHAPES[each]}"
        last = window if kind is Kind.FIRED else last
    return Row(name, fires, paths, Counter(kinds), last)


def _without(
    seen: Sequence[Seen], named: Sequence[Group], domain: Domain | None
) -> tuple[tuple[str, ...], int | None]:
    """Return which public groups had no alarm, and how many, where all alarms are known.

    Those of the configuration less those that were published, whose fields may be in any order.
    """
    if domain is None or not domain.fields or any(each.alarms > len(each.fired) for each in seen):
        return (), None
    known = tuple(map(frozenset, domain.values))
    fired = {*named, *(group for window in seen for group in window.earlier)}
    found = {
        tuple(map(dict(group).__getitem__, domain.fields))
        for group in fired
        if {field for field, _ in group} == {*domain.fields}
    }
    taken = {each for each in found if all(map(contains, known, each))}
    left = (values for values in product(*domain.values) if values not in taken)
    listed = (", ".join(map(shown, values)) for values in islice(left, MOST_LISTED))
    return tuple(listed), len(domain) - len(taken)


def words(window: Seen) -> str:
    """Return what became of a window, in words."""
    why = _REASONS.get(window.reason, "")
    reason = f"{shown(window.reason)} ({why})" if why else shown(window.reason)
    if window.outcome is Kind.DENIED:
        return f"denied: {reason}"
    said = []
    if window.alarms:
        named = [_name(each) for each in sorted(window.fired)[:_MOST_IN_WORDS]]
        if window.alarms > len(named):
            named.append(f"{window.alarms - len(named)} more")
        said.append(f"fired: {', '.join(named)}")
    if window.outcome is Kind.UNSURE:
        said.append(f"not all were answered: {reason}")
    return "; ".join(said) or ("not all were asked" if window.held else "did not fire")


def promise(budget: Budget | None) -> Iterator[tuple[str, str]]:
    """Yield what anybody may know of a budget: its terms, and nothing of what was spent."""
    if budget is None:
        return
    epsilon = decimal(budget.epsilon_max)
    whose, period = "all events of one person", "lifetime"
    if budget.unit is PrivacyUnit.EVENT or budget.periods is None:
        whose = "one event of one feed"
    elif budget.periods.calendar is not None:
        whose = "all events of one person in one period"
        period = budget.periods.describe().removeprefix("tumbling windows of ")
    yield "epsilon_max", epsilon
    doubt = ","
    if (gaussian := budget.gaussian) is not None:
        delta = f"{float(gaussian.delta):g}"
        yield "delta", f"{delta} (privacy: gdp)"
        doubt = f", but for {delta} of probability, by Gaussian privacy;"
    yield "unit", f"{budget.unit.value}: {whose}"
    yield "period", period
    yield (
        "promise",
        (
            f"With {whose} or without, nothing that these alarms say is more than e^{epsilon} times"
            f" as likely{doubt} whatever else is known. A window that would go beyond is denied."
        ),
    )


def _name(group: Group) -> str:
    return ", ".join(shown(value) for _, value in group) or "all"


def shown(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Return a value as it is shown: an empty one can be seen, a long one has an end.

    What turns the order of letters round, or cannot be seen, is shown as what it is: a stranger.
    """
    seen = "".join(each if each.isprintable() else _STRANGE for each in text[:longest])
    return f"{seen}..." if len(text) > longest else seen or '""'
