"""What the ledger is pinned to, compared with what a caller brings."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from accountant.errors import (
    ConfigChangedError,
    LedgerCorruptError,
    LedgerError,
    LogChangedError,
)
from accountant.loss.gaussian import Gaussian
from accountant.units import PrivacyUnit, from_loss_units

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accountant.costs.charges import WindowKey
    from accountant.layouts import Layouts
    from accountant.log.state import Query
    from accountant.records import BudgetTerms, LogIdentity, QueryRegistration, Request
    from accountant.regions.shapes import Shape

__all__ = [
    "Neighbours",
    "Sources",
    "all_known",
    "in_turn",
    "never_watched",
    "requested",
    "same_budget",
    "same_fingerprint",
    "same_home",
    "same_log",
    "same_query",
    "same_shape",
    "same_share",
    "utc_text",
]

APPLY = "undo the change, or run `tocsin ledger FILE apply`"
OTHER_LEDGER = "sqlite:///.tocsin/NAME.db"
NEW_LEDGER = (
    f"undo the change, or write ledger: {OTHER_LEDGER} to start a new ledger, and run `tocsin "
    "ledger FILE take-ownership` with it (for files, add --replay); what was spent stays spent"
)
MOST_DIFFERENCES = 5
ONE_KIND = {"string", "integer", "boolean"}
"""Types that a cell of CSV may have, of which the ledger knows one: see ``shape_of``."""
KEYS = {
    **dict.fromkeys(("aggregates", "condition", "least", "members", "where"), "sql"),
    **dict.fromkeys(("aim.first_tolerances", "aim.tolerances"), "tolerance"),
    "aim.max_fnr": "max_fnr",
    "aim.max_fpr": "max_fpr",
    "aim.promise": "bounded_error",
    "aim.severities": "severity",
    "band": "decider, epsilon, tau or reference",
    "calendar": "window or `active`",
    "grace_ms": "grace",
    "hold_ms": "hold",
    "privacy.events_per_cell": "max_events_per_group",
    "privacy.period": "period",
    "privacy.predicates_per_window": "max_groups_per_window",
    "privacy.promise": "privacy",
    "privacy.share": "share",
    "privacy.unit": "privacy_unit",
    "privacy.windows_per_period": "max_windows_per_period",
}
"""What a configuration calls the parts of a definition."""


def same_budget(stored: BudgetTerms, given: BudgetTerms) -> None:
    """Refuse another unit, kind of privacy, epsilon_max, delta or period."""
    if stored != given:
        old, new = _terms(stored), _terms(given)
        changed = [f"{key} {old[key]!r} -> {new[key]!r}" for key in old if old[key] != new[key]]
        raise ConfigChangedError(
            f"budget {stored.scope!r} does not match the ledger's: "
            f"{', '.join(changed) or 'another limit'}",
            hint=NEW_LEDGER,
        )


def same_log(stored: LogIdentity, given: LogIdentity, layouts: Layouts) -> None:
    """Refuse another cluster or topic, and partitions that nobody has announced."""
    names = ("cluster_id", "topic_id", "topic")
    changed = [
        f"{name} {getattr(stored, name)!r} -> {getattr(given, name)!r}"
        for name in names
        if getattr(stored, name) != getattr(given, name)
    ]
    if given.partitions not in layouts.possible:
        changed.append(f"partitions {layouts.newest} -> {given.partitions}")
    if not changed:
        return
    hint = (
        f"correct the feed's topic, or write ledger: {OTHER_LEDGER} to start a new ledger; files "
        "and topics each have a ledger of their own"
    )
    if len(changed) == 1 and given.partitions > layouts.newest:
        hint = (
            f"run `tocsin topics add-partitions FILE {given.feed} --partitions {given.partitions}`"
            "; it keeps the ledger and its budget"
        )
    raise LogChangedError(
        f"the log of feed {given.feed!r} does not match the ledger's: {', '.join(changed)}",
        hint=hint,
    )


def same_query(stored: Query, given: QueryRegistration) -> None:
    """Refuse a retired query, another home, or another fingerprint."""
    _not_retired(stored)
    same_home(stored, given)
    if stored.fingerprint != given.fingerprint:
        changed = list(dict.fromkeys(_differences(stored.definition, given.definition)))
        named = ", ".join(changed[:MOST_DIFFERENCES]) or "how it is computed"
        raise ConfigChangedError(
            f"alarm {stored.query!r} differs from the ledger's in {named}", hint=APPLY
        )


def same_home(stored: Query, given: QueryRegistration) -> None:
    """Refuse another scope or feed: these never change under a name."""
    for name in ("scope", "feed"):
        old, new = getattr(stored, name), getattr(given, name)
        if old != new:
            raise ConfigChangedError(
                f"the {name} of alarm {stored.query!r} changed from {old!r} to {new!r}",
                hint="give the alarm a new name",
            )


class Sources:
    """Which feeds hold the same events: those that read one topic, or one file.

    Args:
        logs: of feeds, one or none of each.
        files: feeds and digests of files that were replayed as them.
    """

    def __init__(self, logs: Iterable[LogIdentity], files: Iterable[tuple[str, str]]) -> None:
        self._logs = {log.feed: log for log in logs}
        self._files: defaultdict[str, set[str]] = defaultdict(set)
        for feed, digest in files:
            self._files[digest].add(feed)

    def same_topic(self, feed: str) -> set[str]:
        """Return the feeds that read a feed's topic, itself among them."""
        mine = self._logs.get(feed)
        if mine is None:
            return {feed}
        return {feed} | {
            one.feed
            for one in self._logs.values()
            if one.cluster_id == mine.cluster_id
            and (one.topic == mine.topic or one.topic_id == mine.topic_id)
        }

    def same_events(self, feed: str) -> set[str]:
        """Return the feeds that hold events of a feed, itself among them."""
        beside = (feeds for feeds in self._files.values() if feed in feeds)
        return self.same_topic(feed).union(*beside)

    def topic_of(self, feed: str) -> str:
        """Return the name of a feed's topic; empty where it is not known."""
        mine = self._logs.get(feed)
        return "" if mine is None else mine.topic


class Neighbours:
    """What registered queries say of their feeds, ready to compare many others with.

    Args:
        queries: in the order in which they are to be named.
    """

    def __init__(self, queries: Iterable[Query]) -> None:
        self._readings: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._budgets: dict[tuple[str, str], None] = {}
        for query in queries:
            self.add(query)

    def add(self, query: Query | QueryRegistration) -> None:
        """Take note of one more."""
        for what, taken in _reading(query.definition):
            self._readings[query.feed, what].setdefault(taken, query.query)
        self._budgets.setdefault((query.feed, query.scope))

    def same_reading(self, sources: Sources, given: QueryRegistration) -> None:
        """Refuse to read a feed's events otherwise than its queries did, under any of its names.

        Windows are taken to share no event where their times do not overlap, nor cells where their
        values differ: an event that has two would be charged as two. Under unit ``user``, what was
        bounded for one unit is not for another.
        """
        names = sources.same_events(given.feed)
        for what, taken in _reading(given.definition):
            for feed in names:
                for before, other in self._readings[feed, what].items():
                    if before != taken:
                        raise ConfigChangedError(
                            f"alarm {given.query!r} takes {taken!r} for the {what} of feed "
                            f"{given.feed!r}, {other!r} takes {before!r}: one event would have two",
                            hint="undo the change: another ledger would not know of it",
                        )

    def one_budget(self, sources: Sources, given: QueryRegistration) -> None:
        """Refuse a second budget for one feed, also under the name of another one.

        Another privacy unit is another budget: a person would lose what both walls hold.
        """
        same = sources.same_events(given.feed)
        for feed, scope in self._budgets:
            if feed not in same or scope == given.scope:
                continue
            if feed == given.feed:
                raise ConfigChangedError(
                    f"feed {feed!r} is charged to budget {scope!r}, but {given.query!r} would "
                    f"charge {given.scope!r}: a feed has one budget",
                    hint=NEW_LEDGER,
                )
            topic = feed in sources.same_topic(given.feed)
            what = f"topic {sources.topic_of(given.feed)!r}" if topic else "a file"
            raise ConfigChangedError(
                f"feed {given.feed!r} reads {what} that is already charged to budget {scope!r} as "
                f"feed {feed!r}",
                hint=f"name the feed {feed!r}: what was spent on its events stays spent",
            )


def never_watched(
    feed: str, sources: Sources, queries: Iterable[Query | QueryRegistration]
) -> None:
    """Refuse a public reference on a feed, topic or file that a query protects, or ever did."""
    names = sources.same_events(feed)
    for other in queries:
        if other.feed in names:
            raise ConfigChangedError(
                f"feed {feed!r} cannot be a public reference: alarm {other.query!r} of this ledger "
                "protects its events",
                hint="use a feed without personal data as the reference",
            )


def same_shape(stored: Shape | None, given: QueryRegistration) -> None:
    """Refuse to go on where the rows that a query covers are stored otherwise than they are."""
    if stored != given.shape:
        raise LedgerCorruptError(
            f"the ledger's shape of alarm {given.query!r} does not match its configuration",
            hint="run one version of Tocsin only; if one runs, restore the newest backup",
        )


def same_share(stored_units: int, given: QueryRegistration) -> None:
    """Refuse to go on where the share that a query keeps is stored otherwise than it is."""
    if stored_units != given.share_units:
        raise LedgerCorruptError(
            f"the ledger's share of alarm {given.query!r} does not match its configuration",
            hint="run one version of Tocsin only; if one runs, restore the newest backup",
        )


def same_fingerprint(stored: Query, fingerprint: str) -> None:
    """Refuse work done under another configuration, or for a retired query."""
    _not_retired(stored)
    if stored.fingerprint != fingerprint:
        raise ConfigChangedError(
            f"this worker's alarm {stored.query!r} does not match the ledger's",
            hint="restart the worker with the newest configuration",
        )


def in_turn(stored: Query, key: WindowKey, next_start_ms: int, *, deny: bool) -> None:
    """Refuse a window that is not the oldest undecided one of its query.

    While the cursor stands before an applied change, windows that start before the change can only
    be denied, and starts that the new calendar doesn't have may be stepped over.
    """
    if next_start_ms <= key.start_ms:
        raise ValueError("the next window starts after this one")
    boundary_ms = stored.effective_from_ms
    if boundary_ms is not None and key.start_ms < boundary_ms and not deny:
        raise ConfigChangedError(
            f"a window of alarm {key.query!r} starts before its change takes effect",
            hint="restart the worker: it denies such windows as `reconfigured`",
        )
    steps_over = boundary_ms is not None and stored.cursor_ms < min(boundary_ms, key.start_ms)
    if key.start_ms != stored.cursor_ms and not steps_over:
        raise LedgerError(
            f"a window of alarm {key.query!r} is out of order: it starts at "
            f"{utc_text(key.start_ms)}, not at {utc_text(stored.cursor_ms)}",
            hint="restart the worker: it continues with the oldest undecided window",
        )


def requested(stored: Query | None, request: Request, terms: BudgetTerms) -> None:
    """Refuse a request for a query that the scope doesn't have as it is."""
    query = request.charge.key.query
    if stored is None or stored.scope != terms.scope:
        raise LedgerError(
            f"alarm {query!r} is not registered for budget {terms.scope!r}",
            hint="restart the worker: it registers its alarms at the start",
        )
    same_fingerprint(stored, request.fingerprint)
    if (terms.unit is PrivacyUnit.USER) != bool(request.charge.periods):
        raise ValueError("a charge names its periods under unit user, and only there")


def all_known(drawing: Iterable[str], scope: str, known: Collection[str]) -> None:
    """Refuse to serve a budget for somebody who does not know all that draws on it."""
    others = sorted(set(drawing) - set(known))
    if others:
        raise LedgerError(
            f"budget {scope!r} also has {', '.join(map(repr, others))}, which this configuration "
            "does not declare",
            hint="declare all alarms of a budget in one file; after removing one, run `tocsin "
            f"ledger FILE remove-alarm {others[0]}`",
        )


def utc_text(time_ms: int) -> str:
    """Return an instant in UTC; one that no calendar has as the nearest that it has."""
    shown_ms = min(max(time_ms, 0), 253_402_300_799_999)
    shown = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=shown_ms)
    text = shown.isoformat(timespec="milliseconds").removesuffix("+00:00")
    return f"{text.removesuffix('.000')}Z"


def _terms(terms: BudgetTerms) -> dict[str, str]:
    """Return a budget's terms by the keys of a configuration."""
    gaussian = Gaussian.read(terms.promise)
    pure = from_loss_units(terms.epsilon_max_units)
    return {
        "privacy_unit": terms.unit.value,
        "privacy": "pure" if gaussian is None else "gdp",
        "epsilon_max": f"{float(pure if gaussian is None else gaussian.epsilon):.12g}",
        "delta": "none" if gaussian is None else f"{float(gaussian.delta):.12g}",
        "period": terms.period,
    }


def _not_retired(stored: Query) -> None:
    if stored.retired:
        raise ConfigChangedError(
            f"alarm {stored.query!r} was removed", hint="give the alarm a new name"
        )


def _reading(definition: str) -> Iterator[tuple[str, str]]:
    """Yield what a definition takes for the time, the unit and the types of its feed's events."""
    try:
        found = json.loads(definition)
    except json.JSONDecodeError:
        return
    feed = found.get("feed", {})
    if "time" in feed:
        yield "time", feed["time"]
    if found.get("privacy", {}).get("unit") == "user":
        yield "unit", feed["unit"]
        return
    for name, field in feed.get("fields", {}).items():
        if field["type"] in ONE_KIND:
            yield f"type of {name!r}", field["type"]


def _differences(old: str, new: str) -> Iterator[str]:
    """Yield the paths at which two JSON objects differ."""
    try:
        yield from _walk("", json.loads(old), json.loads(new))
    except json.JSONDecodeError:
        yield "its definition"


def _walk(path: str, old: Any, new: Any) -> Iterator[str]:
    if path not in KEYS and isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            below = f"{path}.{name}" if path else name
            yield from _walk(below, old.get(name), new.get(name))
    elif old != new:
        short = all(isinstance(value, str | int | float | None) for value in (old, new))
        key, unit = KEYS.get(path, path), " ms" if path.endswith("_ms") else ""
        yield f"{key} ({old!r}{unit} -> {new!r}{unit})" if short else key
