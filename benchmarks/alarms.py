"""How fast events are counted for 1, 10 and 100 alarms on one feed, in one thread: no broker.

Time is the processor's. The alarms of a row differ as it says and are alike in all else: one
filter, one group-by over 40 rooms, windows of a minute. Every event is decoded, counted and cut
into partials; with as many alarms there are as many partials a window.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from accountant.layouts import Layouts
from benchmarks.checkouts import ROOT, apart
from stream.config.loading import load
from stream.counting.partition import PartitionReader
from stream.events.decoder import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from stream.model.alarms import Alarms

EVENTS = 200_000
ROOMS = 40
PIECE = 20_000  # what a worker hands on at once
PEOPLE = 20_000
START_MS = 1_700_000_040_000  # a whole minute
SPREAD_MS = 5 * 60_000
ALARMS = (1, 10, 100)
UNITS = ("event", "user")
ROUNDS = 3
TRIES = 2

HAVING = ("COUNT(*)", "COUNT(DISTINCT person)", "SUM(amount)")
KINDS: dict[str, Callable[[int], tuple[str, str, int]]] = {
    "thresholds": lambda at: ("open", "COUNT(*)", 100 + at),
    "statistics": lambda at: ("open", HAVING[at % len(HAVING)], 100 + at),
    "filters": lambda at: (f"open AND floor <> {at}", "COUNT(*)", 100),
}
"""By what differs: filter, aggregate and threshold of alarm ``at``."""
ALARM = Template(
    """\
  alarm$at:
    sql: |
      SELECT room FROM badges WHERE $where
      GROUP BY room, TUMBLE(ts, INTERVAL '1' MINUTE)
      HAVING $aggregate > $threshold
    max_fnr: 0.05
    tolerance: 20
    timing: {grace: 1s}
"""
)


def run() -> dict[str, float]:
    """Return events per second of processor time by what differs and the number of alarms."""
    return {name: rate for name, (rate,) in beside([ROOT]).items()}


def beside(
    trees: Sequence[Path], *, rounds: int = ROUNDS, once: Collection[str] = ()
) -> dict[str, list[float]]:
    """Return the same for each tree, measured in turns; the best of some rounds.

    Args:
        trees: checkouts.
        rounds: how often each is measured.
        once: what is measured in the first round alone, of ``KINDS``.
    """
    found: dict[str, list[float]] = {}
    for turn in range(rounds):
        for unit in UNITS:
            for kind in KINDS if not turn else [kind for kind in KINDS if kind not in once]:
                for count in ALARMS:
                    best = found.setdefault(f"{unit}_{kind}[{count}]", [0.0] * len(trees))
                    for at, tree in enumerate(trees):
                        best[at] = max(best[at], rate_of(tree, unit, kind, count))
                    print(unit, kind, count, best, file=sys.stderr)
    return found


def table(found: Mapping[str, Sequence[float]], names: Sequence[str]) -> Iterator[str]:
    """Yield what ``beside`` found as a table of Markdown, a line at a time.

    Args:
        found: by what differs and the number of alarms, a rate of each tree.
        names: of the trees.
    """
    heads = " | ".join(f"{count} alarms" if count > 1 else "1 alarm" for count in ALARMS)
    yield f"""\
| events/s of processor time; alarms differ in | unit | | {heads} | 1 to 100 |
|---|---|---|{"--:|" * (len(ALARMS) + 1)}"""
    for kind in KINDS:
        for unit in UNITS:
            for at, name in enumerate(names):
                rates = [found[f"{unit}_{kind}[{count}]"][at] for count in ALARMS]
                cells = " | ".join(f"{rate:,.0f}" for rate in rates)
                yield f"| {kind} | {unit} | {name} | {cells} | {rates[0] / rates[-1]:.2f} |"


def rate_of(tree: Path, unit: str, kind: str, count: int, *more: object) -> float:
    """Measure one number of alarms in a process of its own, with the files of a tree.

    Args:
        tree: a checkout.
        unit: of privacy.
        kind: of ``KINDS``.
        count: of alarms.
        more: codec, numbers of rooms and of events, where they are not the usual ones.
    """
    return float(apart(tree, __file__, unit, kind, count, *more))


def _inside(unit: str, kind: str, count: str, *more: str) -> float:
    codec, *sizes = more or ("json", str(ROOMS), str(EVENTS))
    rooms, events = map(int, sizes)
    records = _records(rooms, events, codec)
    alarms = _alarms(unit, [KINDS[kind](at) for at in range(int(count))], rooms, codec)
    return events / min(_seconds(alarms, records) for _ in range(TRIES))


def _records(rooms: int, events: int, codec: str) -> list[Record]:
    rows: list[dict[str, Any]] = [
        {
            "person": f"person-{at * 7919 % PEOPLE:06d}",
            "room": f"room-{at % rooms}",
            "floor": at % 200,
            "amount": at % 9,
            "open": at % 10 > 0,
            "ts": START_MS + at * SPREAD_MS // events,
        }
        for at in range(events)
    ]
    if codec == "json":
        packed = [(row["ts"], msgspec.json.encode(row)) for row in rows]
    else:
        pieces = [rows[at : at + PIECE // 2] for at in range(0, events, PIECE // 2)]
        packed = [(piece[-1]["ts"], _arrow(piece)) for piece in pieces]
    return [
        Record(at, append_ms, log_append=True, value=value)
        for at, (append_ms, value) in enumerate(packed)
    ]


def _arrow(rows: list[dict[str, Any]]) -> bytes:
    table = pa.Table.from_pylist(rows)
    at = table.column_names.index("ts")
    table = table.set_column(at, "ts", table["ts"].cast(pa.timestamp("ms", tz="UTC")))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _alarms(unit: str, asked: list[tuple[str, str, int]], groups: int, codec: str) -> Alarms:
    rooms = ", ".join(f"room-{at}" for at in range(groups))
    caps = ", period: 1d, contribution: {max_groups_per_window: 1, max_events_per_group: 1}"
    text = f"""\
ledger: sqlite:///unused.db
feeds:
  badges:
    topic: badges
    codec: {codec}
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [{rooms}]}}
      floor: integer
      amount: {{type: integer, clip: [0, 9]}}
      open: boolean
      ts: timestamp
budget: {{privacy_unit: {unit}, epsilon_max: "1000000"{caps if unit == "user" else ""}}}
alarms:
"""
    for at, (where, aggregate, threshold) in enumerate(asked):
        text += ALARM.substitute(at=at, where=where, aggregate=aggregate, threshold=threshold)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alarms.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, environ={})


def _seconds(alarms: Alarms, records: list[Record]) -> float:
    reader = PartitionReader(
        feed=alarms.feeds["badges"],
        partition=0,
        layouts=Layouts(1),
        topic_id="log",
        alarms=list(alarms.by_name.values()),
        budget=alarms.budget,
        hash_key=bytes(32),
    )
    reader.begin(dict.fromkeys(alarms.by_name, START_MS))
    before_s = time.process_time()
    for first in range(0, len(records), PIECE):
        reader.read(records[first : first + PIECE])
        for _ in reader.partials():
            pass
    return time.process_time() - before_s


if __name__ == "__main__":
    print(_inside(*sys.argv[2:]))
