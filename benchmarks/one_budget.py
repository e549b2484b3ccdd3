"""What another alarm on the same budget costs: processor time by number of alarms.

Measured by ``benchmarks.aims``, an earlier commit beside this tree.

Everything is replayed over a SQLite ledger: a worker's decisions take the same way. One process
measures one number of alarms; its time is that of the processor, so other work on the machine
hardly counts.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.checkouts import apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KINDS = ("user", "event", "apart")
DECISIONS = 200
LEAST_WINDOWS = 2
POLLS = 3
ROOMS = 4
DAY = 24 * 60  # minutes
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)

FIGURES = {
    "decision_ms": "one decision, from the second window on",
    "first_start_ms": "start that registers the alarms",
    "next_start_ms": "start on a registered ledger",
    "poll_ms": "looking at all alarms, nothing being due",
    "status_ms": "the ledger's status and realised losses for the metrics page",
}

_CONFIG = """\
timezone: UTC
ledger: sqlite:///{folder}/ledger.db
feeds:
  badges:
    topic: building.badges
    codec: json
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [{rooms}]}}
      floor: {{domain: [{floors}]}}
      ts: timestamp
    history: {{from: 2024-01-01T00:00:00Z, until: {until}}}
budget:
{budget}
alarms:
"""
_ALARM = """\
  crowd-{number}:
    sql: |
      SELECT room FROM badges {where}
      GROUP BY room, TUMBLE(ts, INTERVAL '{minutes}' MINUTE)
      HAVING COUNT(*) > {threshold}
    max_fnr: 0.05
    tolerance: 9
    timing: {{grace: 0s}}
"""
_BUDGETS = {
    "user": "  privacy_unit: user\n  epsilon_max: '1000000'\n  period: 1d\n"
    "  contribution: {max_groups_per_window: 1, max_events_per_group: 1}",
    "event": "  privacy_unit: event\n  epsilon_max: '1000000'",
    "apart": "  privacy_unit: event\n  epsilon_max: '1'",
}


def beside(
    trees: Sequence[Path],
    *,
    rounds: int,
    numbers: Sequence[int],
) -> dict[str, list[float]]:
    """Return by figure the milliseconds of each tree, measured in turns; the median of rounds.

    Args:
        trees: checkouts.
        rounds: how often each is measured.
        numbers: of alarms.
    """
    taken: dict[str, list[list[float]]] = {}
    for _ in range(rounds):
        for kind in KINDS:
            for alarms in numbers:
                for at, tree in enumerate(trees):
                    figures = measured(tree, kind, alarms)
                    print(kind, alarms, at, figures, file=sys.stderr)
                    for figure, value in figures.items():
                        name = f"{kind}_{alarms}_alarms_{figure}"
                        taken.setdefault(name, [[] for _ in trees])[at].append(value)
    return {name: [statistics.median(each) for each in all_] for name, all_ in taken.items()}


def measured(tree: Path, kind: str, alarms: int, *minutes: int) -> dict[str, float]:
    """Return the figures of one number of alarms, in a process of its own.

    Args:
        tree: a checkout.
        kind: of ``KINDS``.
        alarms: how many.
        minutes: of a window shorter than an hour, of which a whole day is decided.
    """
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, float] = apart(tree, __file__, folder, kind, alarms, *minutes)
    return figures


def _inside(folder: Path, kind: str, alarms: int, minutes: int = 60) -> dict[str, float]:
    """Measure one number of alarms in this process, with the tree that it imports."""
    import scipy.optimize  # noqa: F401, PLC0415  # takes half a second whatever is planned

    from stream.build import open_ledger  # noqa: PLC0415  # of the tree that is measured
    from stream.config.loading import load  # noqa: PLC0415
    from stream.replay.replay import Replay  # noqa: PLC0415

    windows = max(DECISIONS // alarms, LEAST_WINDOWS) if minutes == 60 else DAY // minutes
    files = {"badges": [_write(folder, kind, alarms, windows, minutes)]}
    configuration = load(folder / "alarms.yaml", environ={})
    gc.disable()  # when it runs depends on what ran before
    found: dict[str, float] = {}
    with open_ledger(configuration) as ledger:
        began = time.process_time()
        replay = Replay(configuration, ledger, files)
        found["first_start_ms"] = _since(began)
        decisions = replay.run()
        ends = [time.process_time() for _ in decisions]
        if len(ends) != alarms * windows:
            raise RuntimeError("not every window was decided")
        # Behind the first window of every alarm: what is worked out once has been by then.
        found["decision_ms"] = (ends[-1] - ends[alarms - 1]) * 1000 / (len(ends) - alarms)
        began = time.process_time()
        again = Replay(configuration, ledger, files)
        found["next_start_ms"] = _since(began)
        judge: Any = again.runtime.judge
        began = time.process_time()
        for _ in range(POLLS):
            for query in judge.due():
                list(judge.decide_due(query))
        found["poll_ms"] = _since(began) / POLLS
        began = time.process_time()
        again.runtime.metrics.ledger(ledger.reports.status())
        again.runtime.metrics.realised(ledger.reports.realised)
        found["status_ms"] = _since(began)
    return found


def _since(began: float) -> float:
    return (time.process_time() - began) * 1000


def _write(folder: Path, kind: str, alarms: int, *sizes: int) -> Path:
    """Write a configuration and its events; return the events' file."""
    windows, minutes = sizes
    floors = [f"f{number}" for number in range(alarms)]
    text = _CONFIG.format(
        folder=folder,
        rooms=", ".join(f"r{number}" for number in range(ROOMS)),
        floors=", ".join(floors),
        until=(BEGIN + timedelta(minutes=windows * minutes)).isoformat(),
        budget=_BUDGETS[kind],
    )
    for number, floor in enumerate(floors):
        where = f"WHERE floor = '{floor}'" if kind == "apart" else ""
        own = {"number": f"{number:03}", "where": where, "threshold": 20 + number}
        text += _ALARM.format(**own, minutes=minutes)
    (folder / "alarms.yaml").write_text(text, encoding="utf-8")
    lines = [
        json.dumps(
            {
                "person": f"p{at}",
                "room": f"r{at % ROOMS}",
                "floor": floors[at % alarms],
                "ts": (BEGIN + timedelta(minutes=(at + 0.5) * minutes)).isoformat(),
            }
        )
        for at in range(windows)
    ]
    path = folder / "badges.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lines(
    found: Mapping[str, Sequence[float]],
    names: Sequence[str],
    numbers: Sequence[int],
) -> Iterable[str]:
    """Yield the tables: one a kind of budget."""
    titles = {
        "user": "Unit `user`",
        "event": "Unit `event`, all alarms on the same rows",
        "apart": "Unit `event`, every alarm on rows of its own",
    }
    for kind in KINDS:
        yield from ("", f"## {titles[kind]}", "")
        heads = [f"{alarms}, {name}" for alarms in numbers for name in names]
        yield f"""\
| processor time in ms, by alarms | {" | ".join(heads)} |
|---|{"--:|" * len(heads)}"""
        for figure, what in FIGURES.items():
            cells = [
                f"{value:,.2f}"
                for alarms in numbers
                for value in found[f"{kind}_{alarms}_alarms_{figure}"]
            ]
            yield f"| {what} | {' | '.join(cells)} |"


if __name__ == "__main__":
    where, which, *sizes = sys.argv[2:]
    print(json.dumps(_inside(Path(where), which, *map(int, sizes))))
