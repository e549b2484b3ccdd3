"""What this process stores, also in the form of the workers' journals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accountant.ledger.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from accountant.records import Partial, PartialStatus


def stored_partials(monkeypatch: pytest.MonkeyPatch) -> list[Partial]:
    """Return a list that every partial this process stores is added to."""
    stored: list[Partial] = []
    put_partial = Counts.put_partial

    def noted(self: Counts, partial: Partial) -> PartialStatus:
        stored.append(partial)
        return put_partial(self, partial)

    monkeypatch.setattr(Counts, "put_partial", noted)
    return stored


def journalled(partials: Iterable[Partial]) -> list[dict[str, Any]]:
    """Return partials as workers journal them, for ``add_up``."""
    return [
        {
            "start_ms": one.key.start_ms,
            "partition": one.partition,
            "digest": one.digest,
            "index": one.index.tolist(),
            "value": one.value.tolist(),
        }
        for one in partials
    ]
