"""What contradicts the charges of a ledger, found without any total that it keeps.

The charges are added up again, over rows with :mod:`accountant.loss.overlap` and over periods, the
chain is followed link by link, and every decision is held against its charge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accountant.audit import runchecks
from accountant.budget.filter import EventFilter
from accountant.charging import admission, vouching
from accountant.charging.standing import Standings
from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.loss.overlap import worst_loss
from accountant.records import Answer, Outcome
from accountant.regions.shapes import row_classes
from accountant.store import chain
from accountant.store.tables.charged import (
    ENDED,
    FINAL,
    ChargeRow,
    ChargeState,
    LinkKind,
    PeriodTotal,
)
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.store.tables.charged import LinkRow
    from accountant.store.tables.decided import AdoptedRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["problems"]

Rows = list[dict[str, Any]]


def problems(tx: Transaction, anchors: Mapping[str, Mapping[int, bytes]]) -> list[str]:
    """Return what contradicts the charges, one sentence each; empty when all is well.

    Args:
        tx: a transaction that sees one snapshot.
        anchors: links noted elsewhere, by budget: number and hash.
    """
    try:
        return _problems(tx, anchors)
    except (ValueError, TypeError, KeyError) as error:
        return [f"a row cannot even be read: {error}"]


def _problems(tx: Transaction, anchors: Mapping[str, Mapping[int, bytes]]) -> list[str]:
    charges = {charge.key: charge for charge in tx.charges.each()}
    decisions = list(tx.decisions.raw())
    unreadable = _unreadable_costs(charges.values())
    runs = {run.query: run for run in tx.runs.each()}
    found = [
        *unreadable.values(),
        *_sequence_problems(tx, decisions),
        *(line for charge in charges.values() for line in _charge_problems(charge)),
        *_decision_problems(charges, decisions),
        *(
            f"{_where(charge)}: {line}"
            for charge in charges.values()
            for line in runchecks.charge_problems(charge, runs.get(charge.key.query))
        ),
        *runchecks.run_problems(runs, tx.queries.all(), charges, decisions),
        *_cursor_problems(tx, charges, decisions),
    ]
    for key in unreadable:
        charges[key] = replace(charges[key], costs=None)
    for scope in tx.scopes.all():
        mine = sorted(
            (one for one in charges.values() if one.scope == scope.terms.scope),
            key=lambda one: one.key,
        )
        standings = Standings(tx, scope)
        if scope.terms.unit is PrivacyUnit.EVENT:
            found += _event_problems(scope, standings, mine)
        else:
            found += _user_problems(tx, scope, standings, mine)
        found += _frontier_problems(scope, mine)
        if not unreadable:
            found += _pending_problems(tx, scope)
        found += _chain_problems(tx, scope, mine, anchors.get(scope.terms.scope, {}))
    return found


def _unreadable_costs(charges: Iterable[ChargeRow]) -> dict[WindowKey, str]:
    found: dict[WindowKey, str] = {}
    for charge in charges:
        try:
            if charge.costs is not None:
                LevelCosts.decode(charge.costs)
        except ValueError as error:
            found[charge.key] = f"{_where(charge)}: its costs cannot be read: {error}"
    return found


def _sequence_problems(tx: Transaction, decisions: Rows) -> Iterator[str]:
    numbers = tx.sequences.last()
    used: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in decisions:
        used[one["query"]][one["sequence"]] += 1
    for gap in tx.sequences.gaps.each():
        used[gap.query].update(range(gap.first_sequence, gap.last_sequence + 1))
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
    settled = charge.state is ChargeState.SETTLED
    if {charge.settled_units is not None, charge.settled_loss_units is not None} != {settled}:
        yield f"{where}: it is {charge.state.value}, settled at {charge.settled_units}"
    elif settled:
        yield from _settlement_problems(charge)
    granted = charge.state in {ChargeState.RESERVED, ChargeState.SETTLED}
    answered = charge.admission is not Answer.PENDING
    if (granted and charge.admission is not Answer.RESERVED) or (
        answered is (charge.state is ChargeState.PENDING)
    ):
        yield f"{where}: it is {charge.state.value} but was {charge.admission.value}"


def _settlement_problems(charge: ChargeRow) -> Iterator[str]:
    """Compare a settlement with the costs of its cells and with what was reserved."""
    worst, loss = charge.settled_units or 0, charge.settled_loss_units or 0
    cost: CellCosts = UniformCost(worst, charge.cells)
    if charge.costs is not None:
        try:
            cost = LevelCosts.decode(charge.costs)
        except ValueError:
            return  # said already
    if (cost.worst_units, cost.cells) != (worst, charge.cells) or (
        cost.largest_sum_units(charge.cells_per_unit) != loss
    ):
        yield f"{_where(charge)}: it settled at {worst} and {loss} units, its cells say otherwise"
    reserved = charge.worst_cell_units
    if worst > reserved:
        yield f"{_where(charge)}: it settled at {worst} units, {reserved} were reserved"


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
        stated = charge.settled_units if charge.in_run else charge.units
        if decision["epsilon_units"] != (stated if decided else 0):
            yield f"{_where(charge)}: its decision states another epsilon than its charge"
        if not decided and (decision["alarm_count"] or charge.state is not ChargeState.RELEASED):
            yield f"{_where(charge)}: it was denied, yet it holds loss or alarms"
    for (query, start_ms, end_ms), decision in by_window.items():
        if not decision["archived"]:
            yield f"window [{start_ms}, {end_ms}) of {query!r} is decided without a charge"


def _cursor_problems(
    tx: Transaction, charges: dict[Any, ChargeRow], decisions: Rows
) -> Iterator[str]:
    cursors = {query.query: query for query in tx.queries.all()}
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
        if charge.state not in ENDED and over:
            yield f"{_where(charge)}: still {charge.state.value}, though its query is past it"


def _event_problems(
    scope: ScopeRow, standings: Standings, charges: list[ChargeRow]
) -> Iterator[str]:
    # Whatever was granted fitted above all that came before it at worst, so above what that became.
    judge = EventFilter(scope.terms.epsilon_max_units, [])
    for charge in charges:
        standing = standings.of(charge)
        if standing is None or charge.state not in {ChargeState.RESERVED, ChargeState.SETTLED}:
            continue
        shape = standings.shape(charge.key.query, charge.fingerprint)
        if judge.answer(charge.asked, shape) is not Answer.RESERVED:
            yield f"{_where(charge)}: with the windows before it, it passes the wall"
        judge.hold(standing)
    ended = [standings.of(one) for one in charges if one.state in FINAL]
    final = [one.held for one in (*ended, *standings.adopted()) if one is not None]
    least = most = worst_loss(final)
    shapes = {one.shape for one in final}
    if row_classes(frozenset(shapes)) is None:
        # A bound depends on how many regions are looked at together; settling looks at fewer.
        least = max(worst_loss([one for one in final if one.shape == shape]) for shape in shapes)
    least, most = (max(each, scope.compacted_worst_units) for each in (least, most))
    if not least <= scope.settled_worst_units <= most:
        yield (
            f"budget {scope.terms.scope!r}: {scope.settled_worst_units} units stand as settled, "
            f"the charges say {most}"
        )


def _user_problems(
    tx: Transaction, scope: ScopeRow, standings: Standings, charges: list[ChargeRow]
) -> Iterator[str]:
    name, wall = scope.terms.scope, scope.terms.epsilon_max_units
    held, final = Counter(tx.totals.compacted(name)), Counter(tx.totals.compacted(name))
    for charge in charges:
        held.update(dict.fromkeys(charge.periods, charge.total.held))
        final.update(dict.fromkeys(charge.periods, charge.total.final))
    for period_ms, units in sorted(held.items()):
        if units > wall and not standings.adopted():
            yield f"budget {name!r}: {units} units are held in period {period_ms}, above {wall}"
    for seen in standings.adopted():
        held.update(dict.fromkeys(seen.periods, seen.held.loss_units))
        final.update(dict.fromkeys(seen.periods, seen.held.loss_units))
    stored = tx.totals.of(name)
    for period_ms in sorted(stored.keys() | held.keys()):
        kept = stored.get(period_ms, PeriodTotal())
        if kept != (held[period_ms], final[period_ms]):
            yield (
                f"budget {name!r}: period {period_ms} stands at {kept.held} units held and "
                f"{kept.final} final, the charges say {held[period_ms]} and {final[period_ms]}"
            )


def _pending_problems(tx: Transaction, scope: ScopeRow) -> Iterator[str]:
    for charge, _ in admission.answers(tx, scope):
        yield f"{_where(charge)}: it is pending, though its answer is determined"


def _chain_problems(
    tx: Transaction, scope: ScopeRow, charges: list[ChargeRow], anchors: Mapping[int, bytes]
) -> Iterator[str]:
    """Follow the chain, and ask it for every charge and adopted decision."""
    adopted = {one.digest: one for one in tx.adopted.after(scope.terms.scope)}
    told: dict[WindowKey, LinkKind] = {}
    vouched: set[str | None] = set()
    for link in tx.links.each(scope=scope.terms.scope):
        if link.kind is LinkKind.ADOPTED:
            vouched.add(link.told)
        elif link.kind is LinkKind.STATE:
            continue
        elif told.get(link.key) in {link.kind, LinkKind.ENDED}:
            yield f"{_window(link.key)}: link {link.link} tells of it once more"
        else:
            told[link.key] = link.kind
    yield from _link_problems(tx, scope, {one.key: one for one in charges}, adopted, anchors)
    for charge in charges:
        kind = LinkKind.ENDED if charge.state in ENDED else LinkKind.SERVED
        if told.get(charge.key) is not kind:
            yield f"{_where(charge)}: the chain does not tell how it is {charge.state.value}"
    if tx.links.last_state(scope.terms.scope) != vouching.state_text(tx, scope):
        yield (
            f"budget {scope.terms.scope!r}: its terms, its queries' rows or what compaction left "
            "are not what its chain vouches for"
        )
    if not scope.base_link:  # compaction drops the links of adopted decisions, and keeps these
        for digest in sorted(adopted.keys() - vouched):
            yield f"{_window(adopted[digest].key)}: the chain does not tell of its adoption"


def _link_problems(
    tx: Transaction,
    scope: ScopeRow,
    charges: Mapping[WindowKey, ChargeRow],
    adopted: Mapping[str, AdoptedRow],
    anchors: Mapping[int, bytes],
) -> Iterator[str]:
    """Compare hashes; a link that does not fit is named and taken as it stands."""
    budget = f"budget {scope.terms.scope!r}"
    number, last = scope.base_link, scope.base_hash
    if anchors.get(number, last) != last:
        yield f"{budget}: link {number} is not the one that was noted"
    for link in tx.links.each(scope=scope.terms.scope):
        number += 1
        if link.link != number:
            yield f"{budget}: link {number} of the chain is missing"
            number = link.link
        happened = _happened(link, charges, adopted)
        what = f"{budget}, its state" if link.kind is LinkKind.STATE else _window(link.key)
        if happened is None:
            yield f"{what}: link {number} tells of it, and it is not there"
        elif chain.extend(link.scope, number - 1, last, [happened])[0].hash != link.hash:
            yield f"{what}: it is not what link {number} of the chain vouches for"
        if anchors.get(number, link.hash) != link.hash:
            yield f"{budget}: link {number} is not the one that was noted"
        last = link.hash
    if (number, last) != (scope.chain_link, scope.chain_hash):
        yield f"{budget}: its chain ends at link {scope.chain_link}, not there"
    if anchors and max(anchors) > number:
        yield f"{budget}: link {max(anchors)} was noted, the chain is shorter"


def _happened(
    link: LinkRow, charges: Mapping[WindowKey, ChargeRow], adopted: Mapping[str, AdoptedRow]
) -> chain.Happening | None:
    if link.kind is LinkKind.ADOPTED:
        row = adopted.get(link.told or "")
        return None if row is None else chain.of_adopted(row)
    if link.kind is LinkKind.STATE:
        return None if link.told is None else chain.of_state(link.told)
    charge = charges.get(link.key)
    return None if charge is None else chain.of_charge(charge, link.kind)


def _frontier_problems(scope: ScopeRow, charges: list[ChargeRow]) -> Iterator[str]:
    for charge in charges:
        served = scope.frontier is not None and charge.key <= scope.frontier
        if not served and charge.admission is not Answer.MISSED:
            yield f"{_where(charge)}: it was served beyond the frontier"


def _where(charge: ChargeRow) -> str:
    return _window(charge.key)


def _window(key: WindowKey) -> str:
    return f"window [{key.start_ms}, {key.end_ms}) of {key.query!r}"
