"""What happened to a ledger, entry by entry, in words that a custodian can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from accountant.log import entries
from stream.decisions.records import epsilon_text
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.costs.charges import WindowKey
    from accountant.store.entry_rows import EntryRow

__all__ = ["entry_fields", "log_lines"]

_NAMES: Final = {"query": "alarm", "queries": "alarms", "promise": "privacy"}
_LONG: Final = 60
"""A value that takes more characters is not shown in a line."""


def entry_fields(row: EntryRow) -> dict[str, Any]:
    """Return an entry as a JSON-ready object.

    Its kind is under ``record``; losses are loss units, times milliseconds, bytes base64.
    """
    fields = _named(msgspec.json.decode(row.payload))
    return {"record": _kind(row), "seq": row.seq, **fields, "hash": row.hash.hex()}


def log_lines(
    rows: Iterable[EntryRow], timezone: str, alarm: str | None, since_ms: int | None
) -> Iterator[str]:
    """Yield a line for each entry: its number, its kind, and what it says.

    Args:
        rows: in order.
        timezone: whose clocks are shown.
        alarm: leave out what is about other alarms.
        since_ms: leave out what is not about a window that ends after it.
    """
    for row in rows:
        entry = entries.decode(row.kind, row.payload)
        windows = list(_windows_of(entry))
        what = [
            f"{one.query!r} {moment_text(one.start_ms, timezone)} to "
            f"{moment_text(one.end_ms, timezone)}: {said}"
            for one, said in windows
            if alarm in {None, one.query} and (since_ms is None or one.end_ms > since_ms)
        ]
        if not windows and since_ms is None and alarm in {None, getattr(entry, "query", alarm)}:
            what = [_said(row)]
        if what:
            yield f"{row.seq} {_kind(row)} {'; '.join(what)}"


def _kind(row: EntryRow) -> str:
    """Return an entry's kind: the ledger registers a query, which is an alarm to its reader."""
    return "alarm" if row.kind == entries.Registered.kind else row.kind


def _named(value: Any) -> Any:
    """Return what an entry says with an alarm called so wherever the ledger says query."""
    if isinstance(value, dict):
        return {_NAMES.get(name, name): _named(of) for name, of in value.items()}
    return [_named(each) for each in value] if isinstance(value, list) else value


def _windows_of(entry: entries.Entry) -> Iterator[tuple[WindowKey, str]]:
    """Yield the windows that an entry is about, and what it says of each."""
    match entry:
        case entries.Admitted():
            for asked in entry.windows:
                loss = epsilon_text(asked.units * min(asked.cells_per_unit, asked.cells))
                yield asked.window, f"{asked.answer}, {loss} at worst"
        case entries.Answered():
            for given in entry.windows:
                yield given.window, given.answer
        case entries.Ended():
            lost = f"{entry.alarm_count} alarm(s), {epsilon_text(entry.loss_units)} lost"
            said = entry.reason or lost
            yield entry.window, f"number {entry.sequence}, {entry.outcome}, {said}"
        case entries.Recovered():
            for seen in entry.decisions:
                yield seen.key, f"taken over, {epsilon_text(seen.loss_units)} spent"


def _said(row: EntryRow) -> str:
    """Return what an entry says, name by name; long values are left to ``export``."""
    if row.kind == entries.Snapshot.kind:
        return "of all that came before"
    flat: dict[str, Any] = {}
    for name, value in _named(msgspec.json.decode(row.payload)).items():
        flat |= value if isinstance(value, dict) else {name: value}
    short = {name: value for name, value in flat.items() if len(str(value)) <= _LONG}
    return ", ".join(f"{name} {value}" for name, value in short.items())
