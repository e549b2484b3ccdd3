"""Alarms over noisy panes, replayed from YAML to the ledger, with chosen noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream.build import open_ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from tests.support.ledgers import must_verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from operators.noise.source import NoiseSource
    from stream.decisions.steps import StepHook
    from stream.model.alarms import Alarms

HEAD = """\
feeds:
  doors:
    topic: doors
    time: ts
    unit: person
    fields: {{person: string, room: {{type: string, domain: [{rooms}]}}, ts: timestamp}}
    history: {{from: "2024-01-01T00:00:00Z", until: "2024-01-01T{until}:00Z"}}
budget: {{privacy_unit: event, epsilon_max: "{wall}"}}
ledger: {ledger}
alarms:
"""


def alarm(
    name: str,
    window: str,
    having: str,
    *,
    tolerance: str = "2",
    mechanism: str = "panes",
    release: str | None = None,
) -> str:
    """Return one alarm as a file has it."""
    lines = (
        f"  {name}:",
        f"    sql: SELECT room FROM doors GROUP BY room, {window} HAVING {having}",  # noqa: S608  # a file's
        "    max_fnr: 0.05",
        f"    tolerance: {tolerance}",
        f"    mechanism: {f'{{{mechanism}: {{release: {release}}}}}' if release else mechanism}",
        "",
    )
    return "\n".join(lines)


def configured(
    folder: Path,
    *written: str,
    rooms: Sequence[str] = ("hall",),
    until: str = "00:03",
    wall: str = "1000",
    unit: str = "privacy_unit: event",
) -> Alarms:
    """Return a configuration in a folder of its own; ``unit`` is what its budget says of that."""
    folder.mkdir(exist_ok=True)
    file = folder / "alarms.yaml"
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    head = HEAD.format(rooms=", ".join(rooms), until=until, wall=wall, ledger=ledger)
    file.write_text(head.replace("privacy_unit: event", unit) + "".join(written))
    return load(file, environ={})


def rows(
    folder: Path,
    counts: Sequence[int],
    rooms: Sequence[str] = ("hall",),
    *,
    person: Sequence[int] = (),
    times: int = 2,
) -> Path:
    """Return a file in which every room has so many events in each minute, each of somebody else.

    ``person`` comes to every room in these minutes, so many times in each.
    """
    several = [
        [f"p{minute}n{at}" for at in range(count)] + ["q"] * times * (minute in person)
        for minute, count in enumerate(counts)
    ]
    lines = [
        f"2024-01-01T{minute // 60:02d}:{minute % 60:02d}:30Z,{room},{who}"
        for minute, people in enumerate(several)
        for who in people
        for room in rooms
    ]
    path = folder / "events.csv"
    path.write_text("\n".join(["ts,room,person", *lines, ""]))
    return path


def opened(alarms: Alarms) -> Ledger:
    """Return its ledger."""
    return open_ledger(alarms)


def replayed(
    alarms: Alarms,
    ledger: Ledger,
    events: Path,
    *,
    noise: NoiseSource | None = None,
    step: StepHook = lambda _step, _key: None,
) -> Iterator[StoredDecision]:
    """Replay a file, and yield the decisions of this run."""
    replay = Replay(alarms, ledger, {"doors": [events]}, step=step)
    if noise is not None:
        replay.runtime.judge._noise = noise
    yield from replay.run()


def decided(alarms: Alarms, events: Path, **options: Any) -> list[StoredDecision]:
    """Return all decisions of a replay that is not stopped, and find the ledger sound."""
    with opened(alarms) as ledger:
        decisions = list(replayed(alarms, ledger, events, **options))
        must_verify(ledger)
    return decisions
