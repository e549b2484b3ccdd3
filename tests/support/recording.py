"""What this process stores, in the form of the workers' journals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accountant.ledger.counts import Counts

if TYPE_CHECKING:
    import pytest

    from accountant.records import Partial, PartialStatus

__all__ = ["record_partials"]


def record_partials(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a journal that every partial this process stores goes into, for ``add_up``."""
    counted: list[dict[str, Any]] = []
    put_partial = Counts.put_partial

    def recorded(self: Counts, partial: Partial) -> PartialStatus:
        counted.append(
            {
                "start_ms": partial.key.start_ms,
                "partition": partial.partition,
                "digest": partial.digest,
                "index": partial.index.tolist(),
                "value": partial.value.tolist(),
            }
        )
        return put_partial(self, partial)

    monkeypatch.setattr(Counts, "put_partial", recorded)
    return counted
