"""Events of people who come to one room every other hour: counts that leave no doubt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["on_odd_hours"]


def on_odd_hours(
    folder: Path,
    *,
    people: int,
    days: int,
    more: Callable[[int], dict[str, object]] = lambda _person: {},
) -> str:
    """Write people who are in the hall on every odd hour from 2025-03-03 on; return the path.

    Args:
        folder: where.
        people: how many, 60 at most: each comes in a minute of its own.
        days: for how long.
        more: by person, further fields of its events.
    """
    path = folder / "events.jsonl"
    with path.open("w") as file:
        for hour in range(1, 24 * days, 2):
            for person in range(people):
                at = f"2025-03-{3 + hour // 24:02d}T{hour % 24:02d}:{person:02d}:00Z"
                event = {"person": f"p{person}", "room": "hall", **more(person), "ts": at}
                file.write(json.dumps(event) + "\n")
    return str(path)
