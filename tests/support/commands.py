"""What tests of the command line share: a small configuration, its events, and the command."""

from __future__ import annotations

import json
from string import Template
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from stream.build import open_ledger
from stream.cli.main import main
from tests.support.files import write_rows
from tests.support.ledgers import must_verify

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from stream.model.alarms import Alarms

HOUR_MS = 3_600_000

CONFIG = Template("""\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: [lab, hall]}
      n: {type: integer, clip: [0, 10]}
      ts: timestamp
    history: {from: 1970-01-01, until: 1970-01-02}
budget: {privacy_unit: $unit, epsilon_max: "$epsilon_max"$period$shortfall}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING $aggregate
    max_fnr: 0.05
    tolerance: $tolerance
""")


def configuration(
    folder: Path,
    *,
    unit: str = "event",
    epsilon_max: str = "4",
    aggregate: str = "COUNT(*) > 30",
    tolerance: int | str = 1,
    denials: bool = False,
    more: str = "",
) -> str:
    """Write a configuration, where denied windows may be wanted, and return its path.

    ``more`` are further lines of the alarm, without their indentation.
    """
    text = CONFIG.substitute(
        unit=unit,
        epsilon_max=epsilon_max,
        period=", period: lifetime" * (unit == "user"),
        shortfall=", on_shortfall: deny" * denials,
        aggregate=aggregate,
        tolerance=tolerance,
    )
    path = folder / "alarms.yaml"
    path.write_text(text + "".join(f"    {line}\n" for line in more.splitlines()))
    return str(path)


def events(folder: Path, name: str = "badges.jsonl") -> str:
    """Write two hundred people in the hall at 05:00, and nobody else; return the path."""
    rows = ({"person": f"p{i}", "room": "hall", "n": 1, "ts": 5 * HOUR_MS + i} for i in range(200))
    return str(write_rows(folder / name, rows))


def visits(folder: Path, hours: list[dict[str, list[int]]]) -> str:
    """Write, per hour and room, one event with each ``n``, everyone being somebody else."""
    rows = (
        {"person": f"{room}{i}", "room": room, "n": n, "ts": hour * HOUR_MS + i}
        for hour, rooms in enumerate(hours)
        for room, values in rooms.items()
        for i, n in enumerate(values)
    )
    return str(write_rows(folder / "visits.jsonl", rows))


def tocsin(*arguments: object, code: int | None = None) -> Result:
    """Run the command in this process; where a code is given, it has to end with it."""
    result = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert code is None or result.exit_code == code, result.output
    return result


def json_lines(result: Result, code: int = 0) -> list[dict[str, Any]]:
    """Return standard output of a command that ended with a code as JSON objects, one a line."""
    assert result.exit_code == code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def ledger_must_verify(alarms: Alarms) -> None:
    """Fail with what ``verify`` finds in the ledger of a configuration."""
    with open_ledger(alarms) as ledger:
        must_verify(ledger)
