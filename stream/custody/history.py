"""What happened to a ledger, entry by entry, as objects that a custodian can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from accountant.log import entries

if TYPE_CHECKING:
    from accountant.store.entry_rows import EntryRow

__all__ = ["entry_fields"]

_NAMES: Final = {"query": "alarm", "queries": "alarms", "promise": "privacy"}


def entry_fields(row: EntryRow) -> dict[str, Any]:
    """Return an entry as a JSON-ready object.

    Its kind is under ``record``; losses are loss units, times milliseconds, bytes base64.
    """
    # The ledger registers a query, which is an alarm to its reader.
    kind = "alarm" if row.kind == entries.Registered.kind else row.kind
    fields = _named(msgspec.json.decode(row.payload))
    return {"record": kind, "seq": row.seq, **fields, "hash": row.hash.hex()}


def _named(value: Any) -> Any:
    """Return what an entry says with an alarm called so wherever the ledger says query."""
    if isinstance(value, dict):
        return {_NAMES.get(name, name): _named(of) for name, of in value.items()}
    return [_named(each) for each in value] if isinstance(value, list) else value
