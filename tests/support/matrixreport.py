"""The report of the crash matrix: a section for each configuration, rewritten by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.report import machine
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

REPORT = ROOT / "benchmarks" / "reports" / "crash-matrix.md"

_HEAD = """\
# Crash matrix

`make crash`: real Kafka, PostgreSQL, two workers that are killed at every step of the protocol and
at random times. In every section, per window the counts equalled a plain recount of the log, one
decision existed, nothing was drawn after it was stored, every alarm of every stored decision was on
the topic, repeats carried the same `alarm_id`, and `ledger verify` was clean.
"""


def write_section(title: str, report: Mapping[str, Any]) -> None:
    """Put what a run found into its section, and leave the others as they are.

    Args:
        title: of the section.
        report: what was counted.
    """
    _, *sections = REPORT.read_text().split("\n## ")
    kept = {one.partition("\n")[0]: one.partition("\n")[2].strip() for one in sections}
    kept[title] = "\n".join(
        [
            machine(),
            "",
            "| what | how many |",
            "| --- | --- |",
            *(f"| {what} | {value} |" for what, value in report.items()),
        ]
    )
    parts = [_HEAD, *(f"## {name}\n\n{text}\n" for name, text in kept.items())]
    REPORT.write_text("\n".join(parts))
