"""Reports on a ledger: its status, what contradicts its charges, everything for the custodian.

``problems`` uses none of the maintained totals: it adds the charges up again, over time with
:mod:`accountant.overlap` and over periods, and compares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from accountant.entries import FINAL, HELD, ChargeRow, ChargeState
from accountant.overlap import Held, worst_instant
from accountant.records import Admission, LedgerStatus, Outcome, QueryStatus, ScopeStatus
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.entries import QueryRow, ScopeRow
    from accountant.rows import Transaction

__all__ = ["export", "problems", "status"]

PERIODS_SHOWN = 64

Rows = list[dict[str, Any]]


def status(tx: Transaction) -> LedgerStatus:
    """Return how much of every wall is left, and how far every query is."""
    counts, numbers = tx.counts(), tx.sequences()
    return LedgerStatus(
        ledger_id=tx.ledger().ledger_id,
        scopes={scope.terms.scope: _scope_status(tx, scope) for scope in tx.scopes()},
        queries={
            query.query: _query_status(query, counts, numbers.get(query.query, 0))
            for query in tx.queries()
        },
    )


def problems(tx: Transaction) -> list[str]:
    """Return what contradicts the charges, one sentence each; empty when all is well."""
    try:
        return _problems(tx)
    except (ValueError, TypeError, KeyError) as error:
        return [f"a row cannot even be read: {error}"]


def export(tx: Transaction) -> Iterator[dict[str, Any]]:
    """Yield every row but partials, marks and the hash key, with its kind under ``record``."""
    row = tx.ledger()
    yield {"record": "ledger", "ledger_id": row.ledger_id, "clock_ms": row.clock_ms}
    kinds = ("scopes", "logs", "queries", "charges", "decisions", "adopted")
    for kind in (*kinds, "sequences", "gaps", "totals"):
        for one in tx.rows(kind):
            readable = {
                name: value.decode("utf-8", "backslashreplace")
                if isinstance(value, bytes)
                else value
                for name, value in one.items()
            }
            yield {"record": kind, **readable}


def _problems(tx: Transaction) -> list[str]:
    charges = {charge.key: charge for charge in tx.charge_rows()}
    decisions = list(tx.rows("decisions"))
    adopted = list(tx.rows("adopted"))
    found = [
        *_sequence_problems(tx, decisions),
        *(line for charge in charges.values() for line in _charge_problems(charge)),
        *_decision_problems(charges, decisions),
        *_cursor_problems(tx, charges, decisions),
    ]
    for scope in tx.scopes():
        mine = [one for one in charges.values() if one.scope == scope.terms.scope]
        theirs = [one for one in adopted if one["scope"] == scope.terms.scope]
        check = _event_problems if scope.terms.unit is PrivacyUnit.EVENT else _user_problems
        found += check(tx, scope, mine, theirs)
        found += _frontier_problems(scope, mine)
    return found


def _scope_status(tx: Transaction, scope: ScopeRow) -> ScopeStatus:
    name = scope.terms.scope
    waiting = tx.open_charges(name)
    periods: dict[int, int] = {}
    if scope.terms.unit is PrivacyUnit.USER:
        periods = {at: units for at, units in tx.totals(name).items() if units}
        spent = max(periods.values(), default=0)
        periods = dict(sorted(periods.items())[-PERIODS_SHOWN:])
    else:
        spent = scope.settled_worst_units
        if waiting:
            since_ms = min(one.key.start_ms for one in waiting)
            near = [one.held for one in tx.charges_after(name, since_ms)]
            near += [held for _, held in tx.adopted_after(name, since_ms)]
            spent = max(spent, worst_instant(near))
    return ScopeStatus(
        scope=name,
        unit=scope.terms.unit,
        epsilon_max_units=scope.terms.epsilon_max_units,
        spent_units=spent,
        periods=periods,
        reservations=len(waiting),
    )


def _query_status(
    query: QueryRow, counts: list[tuple[str, str, str | None, int, int]], sequence: int
) -> QueryStatus:
    mine = [one for one in counts if one[0] == query.query]
    return QueryStatus(
        query=query.query,
        scope=query.scope,
        cursor_ms=query.cursor_ms,
        decided=sum(n for _, outcome, _, n, _ in mine if outcome == Outcome.DECIDED),
        denied={str(why): n for _, outcome, why, n, _ in mine if outcome == Outcome.DENIED},
        unpublished=sum(waiting for *_, waiting in mine),
        sequence=sequence,
        retired=query.retired,
    )


def _sequence_problems(tx: Transaction, decisions: Rows) -> Iterator[str]:
    numbers = tx.sequences()
    used: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in decisions:
        used[one["query"]][one["sequence"]] += 1
    for gap in tx.rows("gaps"):
        used[gap["query"]].update(range(gap["first_sequence"], gap["last_sequence"] + 1))
    for query in sorted(numbers.keys() | used.keys()):
        last, mine = numbers.get(query, 0), used[query]
        missing = [number for number in range(1, last + 1) if number not in mine]
        if missing:
            yield f"{len(missing)} number(s) of {query!r} have no decision, first {missing[0]}"
        for number, times in sorted(mine.items()):
            if times > 1 or not 1 <= number <= last:
                yield f"number {number} of {query!r} is used {times} time(s) up to {last}"


def _charge_problems(charge: ChargeRow) -> Iterator[str]:
    where = _where(charge)
    worst = charge.units * min(charge.cells_per_unit, charge.cells)
    if charge.loss_units != worst or charge.units < 0:
        yield f"{where}: its loss is {charge.loss_units} units, its cost says {worst}"
    if charge.settled_units is not None and not 0 <= charge.settled_units <= charge.units:
        yield f"{where}: it settled at {charge.settled_units} units, {charge.units} were reserved"
    if (charge.state is ChargeState.SETTLED) != (charge.settled_units is not None):
        yield f"{where}: it is {charge.state.value}, settled at {charge.settled_units}"
    if charge.state in HELD and charge.admission is not Admission.RESERVED:
        yield f"{where}: it is {charge.state.value} but was {charge.admission.value}"


def _decision_problems(charges: dict[Any, ChargeRow], decisions: Rows) -> Iterator[str]:
    by_window = {(one["query"], one["start_ms"], one["end_ms"]): one for one in decisions}
    for charge in charges.values():
        key = charge.key
        decision = by_window.pop((key.query, key.start_ms, key.end_ms), None)
        settled = charge.state is ChargeState.SETTLED
        decided = decision is not None and decision["outcome"] == Outcome.DECIDED
        if settled != decided:
            yield f"{_where(charge)}: it is {charge.state.value}, its decision says otherwise"
        if decision is None:
            continue
        if decision["epsilon_units"] != (charge.settled_units or 0):
            yield f"{_where(charge)}: its decision states another epsilon than its charge"
        if not decided and (decision["alarm_count"] or charge.state in HELD):
            yield f"{_where(charge)}: it was denied, yet it holds loss or alarms"
    for query, start_ms, end_ms in by_window:
        yield f"window [{start_ms}, {end_ms}) of {query!r} is decided without a charge"


def _cursor_problems(
    tx: Transaction, charges: dict[Any, ChargeRow], decisions: Rows
) -> Iterator[str]:
    cursors = {query.query: query for query in tx.queries()}
    turns: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in decisions:
        turns[one["query"]].append((one["sequence"], one["start_ms"]))
    for query, order in turns.items():
        starts = [start_ms for _, start_ms in sorted(order)]
        if starts != sorted(set(starts)):
            yield f"windows of {query!r} were decided twice or out of order"
        if starts and starts[-1] >= cursors[query].cursor_ms:
            yield f"the cursor of {query!r} stands before a decided window"
    for charge in charges.values():
        query_row = cursors[charge.key.query]
        over = charge.key.start_ms < query_row.cursor_ms or query_row.retired
        if charge.state is ChargeState.RESERVED and over:
            yield f"{_where(charge)}: still reserved, though its query is past it"


def _event_problems(
    _tx: Transaction, scope: ScopeRow, charges: list[ChargeRow], adopted: Rows
) -> Iterator[str]:
    name, wall = scope.terms.scope, scope.terms.epsilon_max_units
    held = worst_instant(one.held for one in charges)
    if held > wall:
        yield f"budget {name!r}: {held} units are held at one instant, the wall is {wall}"
    settled = [one.held for one in charges if one.state in FINAL]
    settled += [Held(one["start_ms"], one["end_ms"], one["loss_units"]) for one in adopted]
    worst = worst_instant(settled)
    if worst != scope.settled_worst_units:
        yield (
            f"budget {name!r}: {scope.settled_worst_units} units stand as settled, "
            f"the charges say {worst}"
        )


def _user_problems(
    tx: Transaction, scope: ScopeRow, charges: list[ChargeRow], adopted: Rows
) -> Iterator[str]:
    name, wall = scope.terms.scope, scope.terms.epsilon_max_units
    own: Counter[int] = Counter()
    for charge in charges:
        own.update(dict.fromkeys(charge.periods, charge.held_units))
    for period_ms, units in sorted(own.items()):
        if units > wall:
            yield f"budget {name!r}: {units} units are held in period {period_ms}, above {wall}"
    total = Counter(own)
    for seen in tx.adopted_periods(name) if adopted else ():
        total.update(seen)
    stored = tx.totals(name)
    for period_ms in sorted(stored.keys() | total.keys()):
        if stored.get(period_ms, 0) != total[period_ms]:
            yield (
                f"budget {name!r}: period {period_ms} stands at {stored.get(period_ms, 0)} units, "
                f"the charges say {total[period_ms]}"
            )


def _frontier_problems(scope: ScopeRow, charges: list[ChargeRow]) -> Iterator[str]:
    for charge in charges:
        served = scope.frontier is not None and charge.key <= scope.frontier
        if not served and charge.admission is not Admission.MISSED:
            yield f"{_where(charge)}: it was served beyond the frontier"


def _where(charge: ChargeRow) -> str:
    key = charge.key
    return f"window [{key.start_ms}, {key.end_ms}) of {key.query!r}"
