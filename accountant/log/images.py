"""A state as bytes and back: what a start reads in place of all entries before it.

An image is worth nothing by itself: whoever reads one knows from the log that it was written after
the entry that it says, and one of another version is ignored and the entries are folded anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from accountant.layouts import Growth
from accountant.log.entries import Archived, Head, OfWindow
from accountant.log.state import Budget, PeriodTotal, Query, Reservation, State
from accountant.records import Answer, BudgetTerms, LogIdentity, SeenDecision

if TYPE_CHECKING:
    from accountant.costs.charges import WindowKey

__all__ = ["IMAGE", "VERSION", "dump", "load"]

VERSION: Final = 1
"""Of images; an entry may be one (``Snapshot``), so whoever raises it reads older ones."""
IMAGE: Final = "image"
"""The name under which the newest is kept."""


class _Budget(msgspec.Struct):
    terms: BudgetTerms
    frontier: OfWindow | None
    charges: tuple[Reservation, ...]
    refused: list[tuple[OfWindow, Answer]]
    totals: dict[int, PeriodTotal]
    recovered: list[SeenDecision]
    spent: list[Reservation]
    worst_units: int
    archived_ms: int | None
    archived_units: int
    archived_beside: int
    forgotten_ms: int


class _Image(msgspec.Struct):
    version: int
    ledger_id: str
    secret: bytes
    created_ms: int
    clock_set_ms: int | None
    clock_sets: int
    budgets: list[_Budget]
    queries: list[Query]
    logs: list[LogIdentity]
    growths: dict[str, list[Growth]]
    files: dict[str, list[str]]
    recovered: list[tuple[SeenDecision, int]]
    numbers: dict[str, int]
    archives: list[Archived]


_DECODER: Final = msgspec.json.Decoder(_Image)


def dump(state: State, *, live: bool = True) -> bytes:
    """Return a state as bytes.

    Args:
        state: any.
        live: with what ended windows hold, for windows to come. How much of that a state has is its
            own affair; without it, states that the same entries come to are the same bytes.
    """
    budgets = [
        _Budget(
            terms=one.terms,
            frontier=None if one.frontier is None else _of(one.frontier),
            charges=tuple(one.charges.values()) if live else tuple(one.open()),
            refused=[(_of(key), one.refused[key]) for key in sorted(one.refused)] if live else [],
            totals=dict(sorted(one.totals.items())),
            recovered=one.recovered,
            spent=one.spent,
            worst_units=one.worst_units,
            archived_ms=one.archived_ms,
            archived_units=one.archived_units,
            archived_beside=one.archived_beside,
            forgotten_ms=one.forgotten_ms if live else 0,
        )
        for one in state.budgets.values()
    ]
    image = _Image(
        version=VERSION,
        ledger_id=state.ledger_id,
        secret=state.secret,
        created_ms=state.created_ms,
        clock_set_ms=state.clock_set_ms,
        clock_sets=state.clock_sets,
        budgets=budgets,
        queries=list(state.queries.values()),
        logs=list(state.logs.values()),
        growths=state.growths,
        files=state.files,
        recovered=[(seen, state.recovered_ms[key]) for key, seen in state.recovered.items()],
        numbers=state.numbers,
        archives=state.archives,
    )
    return msgspec.json.encode(image)


def load(image: bytes, head: Head) -> State | None:
    """Return the state of an image; ``None`` where it is of another version, or none at all.

    Args:
        image: as :func:`dump` returned it.
        head: of the entry after which it was written.
    """
    try:
        found = _DECODER.decode(image)
    except ValueError:
        return None
    if found.version != VERSION:
        return None
    state = State(
        head=head,
        ledger_id=found.ledger_id,
        secret=found.secret,
        created_ms=found.created_ms,
        clock_set_ms=found.clock_set_ms,
        clock_sets=found.clock_sets,
        queries={one.query: one for one in found.queries},
        logs={one.feed: one for one in found.logs},
        growths=found.growths,
        files=found.files,
        recovered={seen.key: seen for seen, _ in found.recovered},
        recovered_ms={seen.key: at_ms for seen, at_ms in found.recovered},
        numbers=found.numbers,
        archives=found.archives,
    )
    for one in found.budgets:
        budget = state.budgets[one.terms.scope] = Budget(one.terms)
        mine = {q.query: q for q in found.queries if q.scope == one.terms.scope}
        budget.queries = mine
        drawn = {name: dict(query.drawn) for name, query in mine.items()}
        for charge in one.charges:
            budget.put(charge)
        for name, query in mine.items():
            query.drawn = drawn[name]
        budget.totals, budget.recovered, budget.spent = one.totals, one.recovered, one.spent
        budget.refused = {key.window: answer for key, answer in one.refused}
        budget.frontier = None if one.frontier is None else one.frontier.window
        budget.worst_units = one.worst_units
        budget.archived_ms, budget.forgotten_ms = one.archived_ms, one.forgotten_ms
        budget.archived_units, budget.archived_beside = one.archived_units, one.archived_beside
    return state


def _of(window: WindowKey) -> OfWindow:
    return OfWindow(window.query, window.start_ms, window.end_ms)
