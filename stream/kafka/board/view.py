"""What a page says, from what is known: words, bounded lists and strips, all of it published.

Everything that came from a topic is text here, and escaped where it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from stream.decisions.lifecycle import fingerprint
from stream.kafka.board.standing import Outcome
from stream.kafka.board.strips import Strips
from stream.model.numbers import decimal
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.decisions.lifecycle import Notice
    from stream.kafka.board.standing import Group, Seen, Standing, Standings
    from stream.kafka.board.strips import Strip
    from stream.model.alarms import Budget, KafkaSettings
    from stream.model.feeds import Domain
    from stream.model.subscriptions import BoardSetup

__all__ = ["MOST_LISTED", "AlarmView", "Firing", "Health", "Row", "View", "overdue", "view_of"]

MOST_LISTED: Final = 200
"""Groups of one alarm that are named at most; how many more there are is said."""

_MOST_FIRING: Final = 100  # on the page at once; how many more there are is said
_MOST_IN_WORDS: Final = 12  # groups of one window
_LONGEST_VALUE: Final = 120  # letters of one value
_LONGEST_TEXT: Final = 500  # letters of one annotation
_STRANGE: Final = "\N{REPLACEMENT CHARACTER}"
_REASONS: Final[Mapping[str, str]] = {
    "budget": "the privacy budget does not hold this window",
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
class Health:
    """How fresh the page is.

    Args:
        caught_up: whether all was read that was there at the start.
        away: whether Kafka does not answer.
        now_ms: when this was asked, in milliseconds since the epoch.
    """

    caught_up: bool
    away: bool
    now_ms: int


@dataclass(frozen=True, slots=True)
class Firing:
    """What fires now.

    Args:
        mark: the same for as long as it does.
        alarm: the alarm.
        values: its group; empty for the one over everything.
        since: from which window's start on.
        told: annotations.
        old: whether the next decision of the alarm is overdue.
    """

    mark: str
    alarm: str
    values: tuple[tuple[str, str], ...]
    since: str
    told: tuple[str, ...]
    old: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the map: a group, or any.

    Args:
        name: its values.
        strip: what is drawn.
        words: the same in words.
        fires: whether it fires now.
    """

    name: str
    strip: Strip
    words: str
    fires: bool


@dataclass(frozen=True, slots=True)
class AlarmView:
    """One alarm.

    Args:
        name: of it.
        anchor: an identifier for links and for what is open on the page.
        fields: what its groups are made of.
        rows: of the map, the one of any group first.
        more: how many further groups fired.
        first: start of the oldest window shown; empty where there is none.
        last: end of the newest.
        counts: windows by what became of them, in words.
        windows: newest first: when, a kind, and what in words.
        unfired: public groups without an alarm in these windows, so many as are listed.
        without: how many there are; ``None`` where that is not known.
        heard: when its last decision left; empty where none was heard of.
        due: by when the next one should have been there, where it is overdue.
    """

    name: str
    anchor: str
    fields: str
    rows: tuple[Row, ...]
    more: int
    first: str
    last: str
    counts: tuple[str, ...]
    windows: tuple[tuple[str, str, str], ...]
    unfired: tuple[str, ...]
    without: int | None
    heard: str
    due: str


@dataclass(frozen=True, slots=True)
class View:
    """One page.

    Args:
        health: how fresh it is.
        firing: what fires now.
        firings: how many do.
        alarms: by name.
        heard: when the last decision of any alarm left; empty where none was heard of.
        overdue: names of alarms whose next decision is.
        promise: what the budget promises: a term, and what it is.
        timezone: of all times.
        forgotten: whether alarms are left out.
        topics: what else analysts may read: a topic, what is in it, and its schema.
        links: what else they may see: a name and an address.
    """

    health: Health
    firing: tuple[Firing, ...]
    firings: int
    alarms: tuple[AlarmView, ...]
    heard: str
    overdue: tuple[str, ...]
    promise: tuple[tuple[str, str], ...]
    timezone: str
    forgotten: bool
    topics: tuple[tuple[str, str, str], ...]
    links: tuple[tuple[str, str], ...]


def view_of(known: Standings, health: Health, setup: BoardSetup) -> View:
    """Return what a page says.

    Args:
        known: every alarm.
        health: how fresh they are.
        setup: how much is shown, in which time zone, and what is promised.
    """
    standings, timezone = known.all(), setup.subscription.timezone
    firing = [
        _firing_of(notice, timezone, old=_is_overdue(each, health))
        for each in standings
        for notice in each.firing
    ]
    heard_ms = max((each.published_ms for each in standings), default=0)
    return View(
        health=health,
        firing=tuple(firing[:_MOST_FIRING]),
        firings=sum(each.firings for each in standings),
        alarms=tuple(_alarm(each, health, setup) for each in standings),
        heard=_moment(heard_ms, timezone),
        overdue=overdue(standings, health),
        promise=tuple(_promise(setup.budget)),
        timezone=timezone,
        forgotten=known.forgotten,
        topics=tuple(_topics(setup.subscription.kafka)),
        links=tuple((_value(name), url) for name, url in setup.board.links.items()),
    )


def overdue(standings: Sequence[Standing], health: Health) -> tuple[str, ...]:
    """Return the names of alarms whose next decision should have been heard of."""
    return tuple(_value(each.alarm) for each in standings if _is_overdue(each, health))


def _is_overdue(standing: Standing, health: Health) -> bool:
    return 0 < standing.due_ms < health.now_ms


def _firing_of(notice: Notice, timezone: str, *, old: bool) -> Firing:
    said = notice.group | ({"severity": notice.severity} if notice.severity else {})
    values = tuple((_value(field), _value(value)) for field, value in said.items())
    since = _local(notice.since, timezone)
    told = tuple(_value(text, _LONGEST_TEXT) for text in notice.annotations.values())
    return Firing(notice.fingerprint, _value(notice.alarm), values, since, told, old)


def _alarm(standing: Standing, health: Health, setup: BoardSetup) -> AlarmView:
    seen, strips, timezone = standing.seen, Strips(standing.seen), setup.subscription.timezone
    firing = {tuple(notice.group.items()) for notice in standing.firing}
    named = _groups(firing, strips)
    shown = named[: setup.board.groups]
    rows = [_row("any", strips.any(), seen, timezone, fires=bool(firing))] if seen else []
    rows += [
        _row(_name(each), strips.of(each), seen, timezone, fires=each in firing) for each in shown
    ]
    domain = setup.groups.get(standing.alarm)
    unfired, without = _without(seen, named, domain)
    fields = [field for field, _ in named[0]] if named else domain.fields if domain else ()
    late = _is_overdue(standing, health)
    return AlarmView(
        name=_value(standing.alarm),
        anchor=fingerprint(standing.alarm, {}),
        fields=", ".join(map(_value, fields)),
        rows=tuple(rows),
        more=len(named) - len(shown),
        first=clock_text(seen[0].start_ms, timezone) if seen else "",
        last=clock_text(seen[-1].end_ms, timezone) if seen else "",
        counts=tuple(_counts(seen)),
        windows=tuple(_in_words(each, timezone) for each in reversed(seen)),
        unfired=unfired,
        without=without,
        heard=_moment(standing.published_ms, timezone),
        due=_moment(standing.due_ms, timezone) if late else "",
    )


def _groups(firing: set[Group], strips: Strips) -> list[Group]:
    """Return whoever fired in the windows shown, or fires: first what fires, then by how often."""
    found = {each for each in {*strips.fired, *firing} if each}  # without a group it is "any"

    def order(each: Group) -> tuple[bool, int, Group]:
        return each not in firing, -len(strips.fired.get(each, ())), each

    return sorted(found, key=order)


def _without(
    seen: Sequence[Seen], named: Sequence[Group], domain: Domain | None
) -> tuple[tuple[str, ...], int | None]:
    """Return which public groups had no alarm, and how many, where all alarms are known.

    Those of the configuration less those that were published, whose fields may be in any order.
    """
    if domain is None or not domain.fields or any(each.alarms > len(each.fired) for each in seen):
        return (), None
    known = dict(zip(domain.fields, map(frozenset, domain.values), strict=True))
    fired = [dict(one) for one in (*named, *(each for window in seen for each in window.earlier))]
    taken = {
        tuple(each[field] for field in known)
        for each in fired
        if each.keys() == known.keys() and all(each[field] in known[field] for field in known)
    }
    left = (values for values in product(*domain.values) if values not in taken)
    listed = (", ".join(map(_value, values)) for values in islice(left, MOST_LISTED))
    return tuple(listed), len(domain) - len(taken)


def _row(name: str, strip: Strip, seen: Sequence[Seen], timezone: str, *, fires: bool) -> Row:
    counts = strip.counts
    said = [f"fired in {counts.get('fired', 0)} of {_windows(len(seen))}"]
    said += [
        f"{words} {counts[kind]}"
        for kind, words in (
            ("earlier", "fired before in the same window:"),
            ("not-fired", "did not fire:"),
            ("denied", "denied:"),
            ("unsure", "not known:"),
        )
        if kind in counts
    ]
    if strip.last is not None:
        last = seen[strip.last]
        said.append(f"last fired {_span(last.start_ms, last.end_ms, timezone)}")
    return Row(name, strip, "; ".join(said), fires)


def _counts(seen: Sequence[Seen]) -> Iterator[str]:
    """Yield how many windows fired, did not fire and got no answer: never one for another."""
    answered = [each for each in seen if each.outcome is not Outcome.DENIED]
    fired = sum(1 for each in answered if each.alarms)
    not_fired = sum(1 for each in answered if each.outcome is Outcome.NOT_FIRED and not each.alarms)
    yield f"{_windows(fired)} with an alarm"
    yield f"{not_fired} without an alarm"
    for number, words in (
        (len(seen) - len(answered), "denied, without any answer"),
        (len(answered) - fired - not_fired, "no alarm, but not answered in full"),
        (sum(each.lost for each in seen), "not on the topic any more"),
    ):
        if number:
            yield f"{number} {words}"


def _windows(number: int) -> str:
    return f"{number} window{'' if number == 1 else 's'}"


def _in_words(window: Seen, timezone: str) -> tuple[str, str, str]:
    """Return when a window was, of what kind, and what became of it."""
    when = _span(window.start_ms, window.end_ms, timezone)
    why = _REASONS.get(window.reason, "")
    reason = f"{_value(window.reason)} ({why})" if why else _value(window.reason)
    if window.outcome is Outcome.DENIED:
        return when, "denied", f"denied: {reason}"
    said = []
    if window.alarms:
        named = [_name(each) for each in window.fired[:_MOST_IN_WORDS]]
        if window.alarms > len(named):
            named.append(f"{window.alarms - len(named)} more")
        said.append(f"fired: {', '.join(named)}")
    if window.outcome is Outcome.UNSURE:
        said.append(f"not all were answered: {reason}")
    kind = "fired" if window.alarms else window.outcome.value
    return when, kind, "; ".join(said) or "did not fire"


def _promise(budget: Budget | None) -> Iterator[tuple[str, str]]:
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
    if (gaussian := budget.gaussian) is not None:
        yield "delta", f"{float(gaussian.delta):g} (privacy: gdp)"
    yield "unit", f"{budget.unit.value}: {whose}"
    yield "period", period
    doubt = (
        ""
        if gaussian is None
        else f", but for {float(gaussian.delta):g} of probability, by Gaussian privacy;"
    )
    words = (
        f"With {whose} or without, nothing that these alarms say is more than e^{epsilon} times"
        f" as likely{doubt or ','} whatever else is known. A window that would go beyond is denied."
    )
    yield "promise", words


def _topics(kafka: KafkaSettings) -> Iterator[tuple[str, str, str]]:
    """Yield the public topics, what is in them, and the schemas that the board serves."""
    yield kafka.decisions_topic, "what became of every window", "decision.schema.json"
    yield kafka.alarms_topic, "every alarm", "alarm.schema.json"
    yield kafka.counts_topic, "noisy counts, of alarms that release them", "count.schema.json"


def _span(start_ms: int, end_ms: int, timezone: str) -> str:
    start, end = (clock_text(each, timezone) for each in (start_ms, end_ms))
    same = start.partition(" ")[0] == end.partition(" ")[0]
    return f"{start} to {end.partition(' ')[2] if same else end}"


def _name(group: Group) -> str:
    return ", ".join(_value(value) for _, value in group) or "all"


def _value(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Return a value as it is shown: an empty one can be seen, a long one has an end.

    What turns the order of letters round, or cannot be seen, is shown as what it is: a stranger.
    """
    seen = "".join(each if each.isprintable() else _STRANGE for each in text[:longest])
    return f"{seen}..." if len(text) > longest else seen or '""'


def _moment(time_ms: int, timezone: str) -> str:
    """Return when something left, to the second; nothing for what never did."""
    return moment_text(time_ms // 1_000 * 1_000, timezone) if time_ms else ""


def _local(instant: str, timezone: str) -> str:
    return moment_text(from_iso_utc(instant), timezone)
