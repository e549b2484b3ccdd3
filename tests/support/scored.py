"""Alarms of any condition over values and kinds, from their text; unit event or user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream.model.alarms import Alarms

UNITS = {
    "event": "privacy_unit: event",
    "user": "privacy_unit: user, period: lifetime, contribution: {max_groups_per_window: 2,"
    " max_events_per_group: 3}",
}
_FILE = """\
feeds:
  doors:
    topic: doors
    time: ts
    unit: person
    fields:
      person: string
      kind: string
      x: {{type: integer, clip: [0, 4]}}
      room: {{domain: [{rooms}]}}
      ts: timestamp
    history: {{from: "2024-01-01T00:00:00Z", until: "2024-01-01T00:0{minutes}:00Z"}}
budget: {{{unit}, epsilon_max: "100"}}
ledger: sqlite:///{ledger}
alarms:
  one:
    sql: SELECT room FROM doors GROUP BY room, {window} HAVING {having}
    max_fnr: 0.05
    {lines}
"""


def scored(
    folder: Path,
    having: str,
    *lines: str,
    unit: str = "event",
    window: str = "TUMBLE(ts, INTERVAL '1' MINUTE)",
    rooms: Sequence[str] = ("hall",),
    minutes: int = 1,
) -> Alarms:
    """Return a configuration with the alarm ``one``.

    Args:
        folder: of its file and its ledger.
        having: the condition.
        lines: further keys of the alarm, as YAML.
        unit: what its budget says of that: a key of ``UNITS``, or the text.
        window: of GROUP BY.
        rooms: the domain.
        minutes: of the feed's history, at most 9.
    """
    text = _FILE.format(
        rooms=", ".join(rooms),
        minutes=minutes,
        unit=UNITS.get(unit, unit),
        ledger=folder / "ledger.db",
        window=window,
        having=having,
        lines="\n    ".join(lines),
    )
    path = folder / "alarms.yaml"
    path.write_text(text)
    return load(path, environ={})
