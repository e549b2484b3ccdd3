"""What the benchmarks measured: the figures of ``README.md``, and reports of their own."""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.kafka.runtime import default_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

README = Path(__file__).parent / "README.md"

_BEGIN = "<!-- figures: `python -m benchmarks --write` writes from here -->"
_END = "<!-- to here -->"
_PACKAGES = ("aiokafka", "faust-streaming", "numpy", "pyarrow", "msgspec", "opendp", "sqlalchemy")


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the first table.

    Args:
        what: in words.
        value: name of the figure.
        beside: name of the figure it is compared with.
        than: what that one is, in words.
        ratio: name of the ratio.
        aim: what we aim at.
        unit: of the figure.
    """

    what: str
    value: str
    unit: str
    beside: str = ""
    than: str = ""
    ratio: str = ""
    aim: str = ""


_ROWS = (
    _Row(
        "Kafka to counted windows, JSON",
        "kafka_ingest.json_events_per_s",
        "events/s",
        "kafka_ingest.json_raw_events_per_s",
        "aiokafka alone",
        "kafka_ingest.json_ratio_to_raw",
        "0.5 of aiokafka alone",
    ),
    _Row(
        "Kafka to counted windows, Arrow batches",
        "kafka_ingest.arrow_events_per_s",
        "events/s",
        "kafka_ingest.arrow_raw_events_per_s",
        "aiokafka alone",
        "kafka_ingest.arrow_ratio_to_raw",
        "1,000,000 events/s",
    ),
    *(
        _Row(
            f"Discrete Laplace, t = {t}, beside {law}s",
            f"noise.discrete_laplace_per_s[t={t}]",
            "variates/s",
            f"noise.opendp_{law}_vector_laplace_per_s[t={t}]",
            f"OpenDP, {law}",
            f"noise.ratio_to_opendp_{law}[t={t}]",
            "100 times OpenDP" if law == "integer" else "",
        )
        for t in ("0.001", "0.1", "1")
        for law in ("integer", "float")
    ),
    _Row("TSLM alone, 1,000,000 groups", "noise.tslm_decisions_per_s", "decisions/s"),
    _Row(
        "Ledger, 100,000 groups a window",
        "end_to_end.groups_decided_per_s_ledger",
        "decisions/s",
    ),
    _Row(
        "Ledger and alarms on Kafka, 100,000 groups a window",
        "end_to_end.groups_decided_per_s_ledger_and_topic",
        "decisions/s",
    ),
    _Row("Ledger on SQLite", "ledger.sqlite_decisions_per_s", "windows/s"),
    _Row("Ledger on PostgreSQL", "ledger.postgresql_decisions_per_s", "windows/s"),
    _Row("Window cut to alarm, median", "end_to_end.window_close_to_alarm_median_ms", "ms"),
    _Row("Window cut to alarm, p99", "end_to_end.window_close_to_alarm_p99_ms", "ms"),
)


def markdown(results: Mapping[str, float], *, note: str) -> str:
    """Return the figures as Markdown.

    Args:
        results: figures by ``module.name``.
        note: where and when they were measured.
    """
    lines = [note, "", "| what | measured | beside it | ratio | aim |", "|---|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(_cells(row, results)) + " |" for row in _ROWS]
    lines += ["", "| also measured | |", "|---|--:|"]
    lines += [f"| `{name}` | {_number(value)} |" for name, value in _others(results)]
    return "\n".join(lines)


def machine() -> str:
    """Say when, of which commit, on what and with which versions, and how busy it was."""
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {_commit()}, {_processor()}, {os.cpu_count()} cores,"
        f" load average {os.getloadavg()[0]:.1f} at the start. Python {platform.python_version()},"
        f" Kafka {default_version()}, SQLite {sqlite3.sqlite_version}, {versions}."
    )


def written(path: Path, title: str, measured: Callable[[], Iterable[str]]) -> None:
    """Print a report as it is measured, and write it where the command line asks for it.

    Args:
        path: of the report.
        title: of it.
        measured: yields its lines.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--write", action="store_true", help=f"write {path.name}")
    options = parser.parse_args()
    lines = [f"# {title}\n\n{machine()}\n"]
    for line in measured():
        print(line, flush=True)
        lines.append(line)
    if options.write:
        path.write_text("\n".join(lines) + "\n", "utf-8")


def parts(text: str, begin: str) -> tuple[str, str, str]:
    """Split a page into what stands before its figures, the figures, and what follows.

    Raises:
        ValueError: the page has no place for figures.
    """
    before, _, rest = text.partition(begin)
    section, found, after = rest.partition(_END)
    if not found:
        raise ValueError("no figures section")
    return before, section, after


def replaced(text: str, section: str, begin: str = _BEGIN) -> str:
    """Return a page with another figures section.

    Raises:
        ValueError: the page has no such section.
    """
    before, _, after = parts(text, begin)
    return f"{before}{begin}\n\n{section}\n\n{_END}{after}"


def figures(text: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of a README's figures section by their first cell.

    Raises:
        ValueError: the README has no such section.
    """
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in parts(text, _BEGIN)[1].splitlines()
        if line.startswith("|") and not line.startswith("|-")
    ]
    return {row[0]: row[1:] for row in rows}


def _cells(row: _Row, results: Mapping[str, float]) -> tuple[str, str, str, str, str]:
    beside = f"{_number(results[row.beside])} ({row.than})" if row.beside else ""
    ratio = f"{results[row.ratio]:,.2f}" if row.ratio else ""
    return row.what, f"{_number(results[row.value])} {row.unit}", beside, ratio, row.aim


def _others(results: Mapping[str, float]) -> list[tuple[str, float]]:
    shown = {name for row in _ROWS for name in (row.value, row.beside, row.ratio)}
    return [(name, value) for name, value in results.items() if name not in shown]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _commit() -> str:
    """Name the commit. Reports that were just written are no change of what is measured."""

    def git(*words: str) -> str:
        return subprocess.check_output(["git", *words], cwd=README.parent, text=True).strip()

    changed = git("status", "--porcelain", ":/*.py")
    return git("rev-parse", "--short=8", "HEAD") + ", with changes" * bool(changed)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    named = (line.partition(":")[2].split() for line in lines if line.startswith("model name"))
    return " ".join(next(named, ["unknown"]))
