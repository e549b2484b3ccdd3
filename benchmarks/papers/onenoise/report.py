"""OR and AND of 1 to 6 comparisons: a configuration, its plan, a replay, and what the ledger says.

Every condition is an alarm of each mechanism, all over one feed of made-up events. The rooms of one
kind are at the worst corner of a promise: the condition just holds, or is false with every
tolerance granted; those of the last kind are empty.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from click.testing import CliRunner
from pyarrow import parquet

from accountant.costs.levels import LevelCosts
from accountant.units import UNITS_PER_EPSILON
from benchmarks.papers.pages import prose, table
from stream.cli.main import main as tocsin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

MECHANISMS: Final = ("tslm", "dppwlm", "probe", "probe-ent")
SIZES: Final = tuple(range(1, 7))
THRESHOLD, TOLERANCE = 40, 5
_WINDOWS: Final = 25
_START_MS: Final = 1_735_689_600_000
_HOUR_MS: Final = 3_600_000
_KINDS: Final = {
    "OR": {"holds": (41, 0, 0, 0, 0, 0), "false": (30,) * 6},
    "AND": {"holds": (41,) * 6, "false": (30, 41, 41, 41, 41, 41)},
}
"""Per operator what the six kinds of events count where a room is true, and where it is not."""
_FILE: Final = """\
timezone: UTC
feeds:
  doors:
    topic: doors
    time: ts
    unit: event
    fields:
      event: string
      room: {{domain: [{rooms}]}}
      kind: string
      ts: timestamp
    history: {{from: 2025-01-01, until: 2025-01-02T01:00:00Z}}
budget: {{privacy_unit: event, epsilon_max: "1000"}}
alarms:
"""
_ALARM: Final = """\
  {name}:
    sql: |
      SELECT room FROM doors GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING {having}
    max_fnr: 0.05
    tolerance: {tolerance}
    mechanism: {{{mechanism}: {{max_fpr: 0.05}}}}
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What one alarm cost and got wrong.

    Args:
        reserved: epsilon of a cell at worst, as planned.
        limit: the least of any mechanism, as planned.
        near: realised epsilon, mean over the cells of the two corners.
        far: the same of the empty cells.
        missed: share of the true cells that did not ring.
        rang: share of the false ones that did.
        cells: of each corner.
    """

    reserved: float
    limit: float
    near: float
    far: float
    missed: float
    rang: float
    cells: int


def measured(
    rooms: int = 64, sizes: Sequence[int] = SIZES
) -> dict[tuple[str, int], dict[str, Found]]:
    """Plan, replay and read the ledger once; by operator and size, then by mechanism.

    Args:
        rooms: of every kind; as many cells of it in each of 25 windows.
        sizes: numbers of comparisons.
    """
    kinds = [f"{operator} {kind}" for operator, own in _KINDS.items() for kind in own]
    names = [f"{kind} {at}" for kind in (*kinds, "empty") for at in range(rooms)]
    asked = {
        f"{operator}{size}-{mechanism}": (operator, size, mechanism)
        for operator in _KINDS
        for size in sizes
        for mechanism in MECHANISMS
    }
    text = _FILE.format(rooms=", ".join(names)) + "".join(
        _ALARM.format(
            name=name,
            having=f" {operator} ".join(
                f"COUNT(*) FILTER (WHERE kind = '{each}') > {THRESHOLD}" for each in "abcdef"[:size]
            ),
            tolerance=TOLERANCE,
            mechanism=mechanism,
        )
        for name, (operator, size, mechanism) in asked.items()
    )
    with TemporaryDirectory() as folder:
        file, events = Path(folder) / "alarms.yaml", Path(folder) / "events.parquet"
        file.write_text(text, encoding="utf-8")
        parquet.write_table(_events(rooms), events)
        planned = {
            alarm["alarm"]: alarm
            for budget in _said("plan", "--json", str(file))
            for alarm in budget["alarms"]
        }
        rang = _said("run", str(file), "--replay", str(events), "--json")
        exported = _said("ledger", str(file), "export")
        charges = [one for one in exported if one["record"] == "ended" and "asked" in one]
    fired = {name: np.zeros((_WINDOWS, len(names)), np.bool_) for name in asked}
    for one in rang:
        if "group" in one:
            hour = int(np.datetime64(one["window_start"][:-1], "ms").astype(np.int64)) - _START_MS
            fired[one["alarm"]][hour // _HOUR_MS, names.index(one["group"]["room"])] = True
    lost = {name: np.zeros((_WINDOWS, len(names))) for name in asked}
    for one in charges:
        lost[one["alarm"]][(one["start_ms"] - _START_MS) // _HOUR_MS] = _epsilons(one, len(names))
    found: dict[tuple[str, int], dict[str, Found]] = {}
    for name, (operator, size, mechanism) in asked.items():
        at = kinds.index(f"{operator} holds") * rooms
        true, false = slice(at, at + rooms), slice(at + rooms, at + 2 * rooms)
        found.setdefault((operator, size), {})[mechanism] = Found(
            reserved=float(planned[name]["loss"]),
            limit=float(planned[name]["lower_bound"]),
            near=float(lost[name][:, at : at + 2 * rooms].mean()),
            far=float(lost[name][:, -rooms:].mean()),
            missed=float(1 - fired[name][:, true].mean()),
            rang=float(fired[name][:, false].mean()),
            cells=_WINDOWS * rooms,
        )
    return found


def reproduced(_source: Path, _runs: int, _folder: Path) -> Iterator[str]:
    """Yield the report's lines; events are made up, and replayed once."""
    yield from lines_of(measured())


def lines_of(found: Mapping[tuple[str, int], Mapping[str, Found]]) -> Iterator[str]:
    """Yield the report's lines.

    Args:
        found: what was measured.
    """
    largest = max(size for _, size in found)
    every = [each for own in found.values() for each in own.values()]
    yield prose(f"""Alarms of 1 to {largest} comparisons `COUNT(*) FILTER (WHERE kind = 'a') >
{THRESHOLD}`, tolerance {TOLERANCE} each, `max_fnr` and `max_fpr` 0.05, unit `event`: one
configuration, one `tocsin plan`, one `tocsin run --replay` of made-up events, and the costs that
the ledger has. *Reserved* is the plan's epsilon, *limit* the least of any mechanism; *realised* is
the mean of a cell. Of every condition {every[0].cells} cells just hold and {every[0].cells} are
false with every tolerance granted (*close*; misses and false alarms are theirs, the worst there
are); as many count nothing (*empty*).""")
    yield prose(_summary(found, largest))
    for operator in dict.fromkeys(operator for operator, _ in found):
        yield f"## {operator}\n"
        yield from table(
            (
                "comparisons",
                "mechanism",
                "reserved",
                "limit",
                "times",
                "realised, close",
                "empty",
                "missed",
                "false alarms",
            ),
            (
                (
                    str(size),
                    f"`{mechanism}`",
                    f"{one.reserved:.3f}",
                    f"{one.limit:.3f}",
                    f"{one.reserved / one.limit:.3f}",
                    f"{one.near:.3f}",
                    f"{one.far:.3f}",
                    f"{one.missed:.3f}",
                    f"{one.rang:.3f}",
                )
                for (own, size), by in found.items()
                if own == operator
                for mechanism, one in by.items()
            ),
        )
        yield ""


def _summary(found: Mapping[tuple[str, int], Mapping[str, Found]], largest: int) -> str:
    every = [each for own in found.values() for each in own.values()]
    told = []
    for operator in dict.fromkeys(operator for operator, _ in found):
        by = found[operator, largest]
        score, levels, probe = by["tslm"], by["dppwlm"], by["probe"]
        told.append(
            f"{operator} of {largest} reserves {score.reserved:.3f} with `tslm` and"
            f" {probe.reserved:.3f} with `probe`, {probe.reserved / score.reserved:.1f} times as"
            f" much; close and empty cells realise {levels.near:.3f} and {levels.far:.3f} with"
            f" `dppwlm`, {probe.near:.3f} and {probe.far:.3f} with `probe`"
        )
    missed, rang = (max(getattr(each, name) for each in every) for name in ("missed", "rang"))
    return (
        f"**One noise for the whole condition costs what one comparison does.** {'. '.join(told)}."
        f" Of a condition {missed:.3f} are missed at most, and {rang:.3f} of the false ones ring;"
        f" chance moves a share of 0.05 by {(0.05 * 0.95 / every[0].cells) ** 0.5:.3f}."
    )


def _said(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(tocsin, arguments)
    if result.exit_code:
        raise RuntimeError(f"tocsin {arguments[0]} ended with {result.exit_code}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def _epsilons(charge: dict[str, Any], cells: int) -> NDArray[np.float64]:
    """Return what every cell of a settled window has lost."""
    if "costs" not in charge:
        return np.full(cells, charge["settled_units"] / UNITS_PER_EPSILON)
    costs = LevelCosts.decode(base64.b64decode(charge["costs"]))
    return np.asarray(costs.as_array() / UNITS_PER_EPSILON)


def _events(rooms: int) -> pa.Table:
    """Return one event a row, spread over the hours of a day and one."""
    room, kind, hour = [], [], []
    for operator, own in _KINDS.items():
        for name, counts in own.items():
            for at in range(rooms):
                for each, count in zip("abcdef", counts, strict=True):
                    room += [f"{operator} {name} {at}"] * (count * _WINDOWS)
                    kind += [each] * (count * _WINDOWS)
                    hour += np.repeat(np.arange(_WINDOWS), count).tolist()
    order = np.argsort(hour, kind="stable")
    times = _START_MS + np.array(hour, np.int64) * _HOUR_MS + 60_000
    return pa.table(
        {
            "event": [f"e{at}" for at in range(len(room))],
            "room": pa.array(room).take(order),
            "kind": pa.array(kind).take(order),
            "ts": pa.array(times[order], pa.timestamp("ms", "UTC")),
        }
    )
