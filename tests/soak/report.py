"""What a soak showed, as a page.

``python -m tests.soak.report FOLDER [--write]`` judges again what a soak left.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from tests.soak.alarms import FEEDS
from tests.soak.growth import grown, growth_beyond_bounds, ledger_growth, mebibytes
from tests.soak.timetable import Fault
from tests.soak.verdict import Soaked, Truth, Window, judge
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

REPORT = ROOT / "benchmarks" / "reports" / "soak.md"
_SHOWN = 40


def examined(folder: Path) -> tuple[list[str], str]:
    """Judge a folder; return what is wrong, and the page."""
    soaked = Soaked(folder)
    truth = Truth.of(soaked)
    wrong = [*judge(soaked, truth), *growth_beyond_bounds(soaked)]
    return wrong, page(soaked, truth, wrong)


def page(soaked: Soaked, truth: Truth, wrong: Sequence[str]) -> str:
    """Return a soak as Markdown."""
    lines = ["# Soak", "", *_about(soaked), ""]
    if wrong:
        lines += [
            f"**{len(wrong)} things are wrong:**",
            "",
            *(f"- {one}" for one in wrong[:_SHOWN]),
        ]
        lines += [f"- and {len(wrong) - _SHOWN} more"] if wrong[_SHOWN:] else []
    else:
        lines += [_HELD]
    for title, table in (
        ("Events", _events(truth)),
        ("Windows", _windows(soaked)),
        ("Milliseconds from a window's cut to its last alarm", _delays(soaked)),
        ("Memory, threads and files", _growth(soaked)),
        ("The ledger", _ledger(soaked)),
    ):
        lines += ["", f"## {title}", "", *table]
    return "\n".join([*lines, ""])


_HELD = """\
Every event counted once or has a reason; per alarm, window, partition and room the stored counts
equalled a recount of the log by another client and decoder, and the alarms said on which side of
the threshold they lie; every window was decided, once, in order; the logs, exported and replayed in
one piece, gave the same, with the same drops by reason on the custodian's page; `ledger verify` was
clean; nothing grew beyond its bound."""


def _about(soaked):
    pace, about = soaked.pace, soaked.about
    load_s = (about["load_ended_ms"] - about["load_began_ms"]) / 1000
    after_s = (about["caught_up_ms"] - about["load_ended_ms"]) / 1000
    text = (
        f"{load_s:.0f} s of load, {pace.events_per_s:,} events/s to two feeds (JSON, Arrow) of "
        "three partitions each, one of which is idle in turn; four alarms; two workers on "
        f"PostgreSQL; everything away for {pace.outage_s:.0f} s with a `decide_timeout` of "
        f"{pace.decide_timeout_s} s. The last window of the load was published {after_s:.0f} s "
        "after it."
    )
    return [f"`make soak`. {about['machine']}", "", *wrap(text, 100)]


def _events(truth):
    for feed in FEEDS:
        yield f"`{feed}`: {truth.events[feed]:,} events in the log."
    yield ""
    fates = {name: one.fates for name, one in truth.alarms.items()}
    total = sum(fates.values(), Counter[str]())
    rows = [
        [fate, *(f"{one[fate]:,}" for one in fates.values())] for fate, _ in total.most_common()
    ]
    yield from _table(["fate", *fates], rows)


def _windows(soaked):
    rows = []
    for name in soaked.alarms:
        told = [copies for (query, _), copies in soaked.decisions.items() if query == name]
        reasons = Counter(copies[0]["reason"] or "decided" for copies in told)
        repeats = sum(len(copies) - 1 for copies in told)
        what = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
        rows.append([name, f"{len(told):,}", what, f"{repeats:,}"])
    yield from _table(["alarm", "windows", "outcome", "decisions published again"], rows)


def _delays(soaked):
    around_ms = soaked.pace.around_s * 1000
    delays = _delay_by_cut(soaked)
    rows = [["all", "", *_spread([ms for _, ms in delays]), *[""] * 4]]
    for fault in soaked.lines("faults"):
        if fault["fault"] == Fault.ARCHIVING:
            continue
        at_ms, back_ms = fault["at_ms"], fault["back_ms"]
        before = [ms for cut, ms in delays if at_ms - around_ms <= cut and cut + ms < at_ms]
        during = [cut + ms - back_ms for cut, ms in delays if cut < back_ms and cut + ms >= at_ms]
        after = [ms for cut, ms in delays if back_ms <= cut < back_ms + around_ms]
        lasted_s = f"{(back_ms - at_ms) / 1000:.0f}"
        caught_up = f"{max(max(during, default=0), 0):,}"
        rows.append([fault["fault"], lasted_s, *_spread(before), caught_up, *_spread(after)])
    yield from wrap(
        f"Of that, {soaked.pace.publish_delay_ms:,} ms are `publish_delay`. Before: windows cut in "
        f"the {soaked.pace.around_s} s before a fault that left before it. Caught up: how long "
        "after all was back the last of those cut until then left. After: windows cut in the same "
        "time after all was back. A window without an alarm has left with its decision.",
        100,
    )
    yield ""
    spread = ["median", "p95", "most"]
    columns = ["fault", "lasted s", *spread, "caught up", *(f"after: {one}" for one in spread)]
    yield from _table(columns, rows)


def _delay_by_cut(soaked):
    """Return the cut (ms) of every window of the load, and how long it took until all had left."""
    first = {}  # copies that were published again do not count
    for line in [*soaked.lines("decisions"), *soaked.lines("alarms")]:
        record = (*Window.of(line), line.get("alarm_id"))
        first[record] = min(line["append_ms"], first.get(record, line["append_ms"]))
    left = defaultdict(int)
    for (name, start_ms, _), append_ms in first.items():
        cut_ms = soaked.alarms[name].cut_ms(start_ms)
        left[cut_ms, start_ms, name] = max(append_ms - cut_ms, left[cut_ms, start_ms, name])
    began_ms = soaked.about["load_began_ms"]
    return sorted((cut_ms, took_ms) for (cut_ms, *_), took_ms in left.items() if cut_ms >= began_ms)


def _spread(values):
    if not values:
        return ["", "", ""]
    return [f"{np.percentile(values, at):,.0f}" for at in (50, 95, 100)]


def _growth(soaked):
    rows = []
    for one in grown(soaked):
        write = (lambda value: f"{mebibytes(value)} MiB") if one.what == "rss" else "{:,.1f}".format
        figures = (one.levels[0], one.levels[-1], one.most, one.gained, one.a_fault)
        faults = str(len(one.levels) - 1)
        rows.append([str(one.worker), one.what, f"{one.calm_s:.0f}", faults, *map(write, figures)])
    if not rows:
        yield "No process lived long enough to be judged."
        return
    yield "After a warm-up, in the calm stretches between faults: median of the first and the last"
    yield "of them, what was gained in them, and by how much they differ from one to the next."
    yield ""
    columns = ["worker", "what", "calm s", "faults survived", "first", "last", "most"]
    columns += ["gained in ten minutes", "added by a fault"]
    yield from _table(columns, rows)


def _ledger(soaked):
    ledger = ledger_growth(soaked)
    yield f"{ledger.decisions:,} decisions, {ledger.bytes_a_decision:,.0f} bytes of database each."
    yield ""
    rows = [[table, f"{most:,}", f"{ledger.last[table]:,}"] for table, most in ledger.most.items()]
    yield from _table(["rows", "most", "at the end"], rows)


def _table(columns, rows):
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' for _ in columns)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> int:
    """Judge a folder again; 1 where something is wrong."""
    folder, *options = sys.argv[1:]
    wrong, text = examined(Path(folder))
    print(text)
    if options == ["--write"]:
        REPORT.write_text(text)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
