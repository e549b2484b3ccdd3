"""What age costs a ledger: a year of hourly alarms, as if decided one after the other.

``python -m benchmarks.ledger_age --write`` puts the figures into ``reports/ledger-age.md``; other
sizes than a year's are given as numbers of charges.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accountant.ledger.ledger import Ledger
from accountant.units import PrivacyUnit
from benchmarks import report
from stream.custody.archive import archive, problems
from tests.support.aged import age
from tests.support.ledgers import Series
from tests.support.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["ALARMS", "HOUR_MS", "YEAR", "main", "measure", "run"]

ALARMS = 200
HOUR_MS = 3_600_000
PERIOD_MS = 24 * HOUR_MS
YEAR = ALARMS * 24 * 365
WALL = 10**15
ADMISSIONS = 51
SIZES = (YEAR // 16, YEAR // 4, YEAR)
REPORT = Path(__file__).parent / "reports" / "ledger-age.md"
_BEGIN = "<!-- figures: `python -m benchmarks.ledger_age --write` writes from here -->"
_END = "<!-- to here -->"


def series(unit: PrivacyUnit) -> list[Series]:
    """Return the alarms."""
    period = PERIOD_MS if unit is PrivacyUnit.USER else 0
    return [
        Series(f"q{at:03}", size=HOUR_MS, step=HOUR_MS, period=period, units=1000)
        for at in range(ALARMS)
    ]


def measure(url: str, unit: PrivacyUnit, charges: int) -> Iterator[tuple[str, float]]:
    """Yield what each command takes on a ledger with so many charges, by name.

    Seconds of this process's own work stand beside those of the clock: on SQLite they are all of
    it, and another machine's load is not in them.
    """
    hours = charges // ALARMS
    with _opened(url) as ledger:
        age(ledger, unit, WALL, series(unit), hours)
    with _opened(url) as ledger:
        yield "file_mb", _file_mb(url)
        yield "admit_ms", _admit_ms(ledger, unit, hours)
        ledger.reports.status()
        yield "status_ms", min(_took(ledger.reports.status)[0] for _ in range(5)) * 1000
        noted = _yesterday(ledger)
        since_s, since_cpu_s = _took(lambda: _none(ledger.reports.verify(since={"s": noted})))
        yield "verify_since_yesterday_s", since_s
        yield "verify_since_yesterday_cpu_s", since_cpu_s
        verify_s, verify_cpu_s = _took(lambda: _none(ledger.reports.verify()))
        yield "verify_s", verify_s
        yield "verify_cpu_s", verify_cpu_s
        yield "verify_peak_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        before_ms = (hours - 24) * HOUR_MS
        with _transactions(ledger) as spans:
            compact_s, compact_cpu_s = _took(lambda: ledger.upkeep.compact("s", before_ms))
        yield "compact_s", compact_s
        yield "compact_cpu_s", compact_cpu_s
        yield "compact_transactions", len(spans)
        yield "compact_longest_ms", max(spans) * 1000
        yield "compacted_status_ms", min(_took(ledger.reports.status)[0] for _ in range(5)) * 1000
        yield "compacted_backup_mb", _backup_mb(ledger, url, "compacted.db")
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            with _transactions(ledger) as spans:
                took = _took(lambda: archive(ledger, folder, before_ms))
            yield "archive_s", took[0]
            yield "archive_cpu_s", took[1]
            yield "archive_longest_ms", max(spans) * 1000
            yield "archive_mb", sum(one.stat().st_size for one in folder.iterdir()) / 1e6
            yield "verify_archive_cpu_s", _took(lambda: _none(list(problems(ledger, folder))))[1]
        yield "archived_backup_mb", _backup_mb(ledger, url, "archived.db")


def _admit_ms(ledger: Ledger, unit: PrivacyUnit, hours: int) -> float:
    """Return the median time of admitting an hour's window of one alarm, with its commit."""
    took_s = []
    for one in series(unit)[:ADMISSIONS]:
        request = one.request(hours)
        took_s.append(_took(lambda request=request: ledger.admit("s", [request]))[0])
    return sorted(took_s)[len(took_s) // 2] * 1000


def _yesterday(ledger: Ledger) -> tuple[int, bytes]:
    """Return the link that was the last one a day of windows ago."""
    with ledger._store.read() as tx:  # noqa: SLF001  # it was not noted as nobody was there
        (scope,) = tx.scopes.all()
        number = max(scope.chain_link - 2 * 24 * ALARMS, 1)
        return number, tx.links.hash_of("s", number) or b""


def _took(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a call takes, and those that this process worked."""
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began_s, time.process_time() - began_cpu_s


def _none(problems: list[str]) -> None:
    if problems:
        raise RuntimeError(f"the benchmark's ledger does not add up: {problems[:3]}")


def _file_mb(url: str) -> float:
    path = url.removeprefix("sqlite:///")
    if path == url:
        return 0.0
    return sum(one.stat().st_size for one in Path(path).parent.glob("ledger.db*")) / 1e6


def _backup_mb(ledger: Ledger, url: str, name: str) -> float:
    """Return how large a copy is, which holds no space that is free."""
    if not url.startswith("sqlite"):
        return 0.0
    path = Path(url.removeprefix("sqlite:///")).with_name(name)
    ledger._store.backup(path)  # noqa: SLF001  # as `tocsin ledger FILE backup` does
    return path.stat().st_size / 1e6


@contextmanager
def _transactions(ledger: Ledger) -> Iterator[list[float]]:
    """Collect how long (s) each write transaction takes, its commit included."""
    spans: list[float] = []
    store, began = ledger._store, ledger._store.write  # noqa: SLF001  # measured where they begin

    @contextmanager
    def timed() -> Iterator[Any]:
        began_s = time.perf_counter()
        with began() as tx:
            yield tx
        spans.append(time.perf_counter() - began_s)

    store.write = timed  # type: ignore[method-assign]  # put back below
    try:
        yield spans
    finally:
        store.write = began  # type: ignore[method-assign]  # as above


def _opened(url: str) -> Ledger:
    return Ledger.open(url, clock_ms=lambda: time.time_ns() // 10**6, entropy=os.urandom)


def run(
    sizes: Sequence[int] = SIZES, units: Sequence[PrivacyUnit] = tuple(PrivacyUnit)
) -> dict[str, float]:
    """Return every figure by database, unit, size and name, printing each as it is there."""
    results: dict[str, float] = {}
    with Postgres(durable=True) as server:
        for size in sizes:
            for unit in units:
                with tempfile.TemporaryDirectory() as directory:
                    urls = {
                        "sqlite": f"sqlite:///{directory}/ledger.db",
                        "postgresql": server.new_database(),
                    }
                    for database, url in urls.items():
                        for name, value in measure(url, unit, size):
                            label = f"{database}_{unit.value}_{size}_charges_{name}"
                            results[label] = value
                            print(f"{label:64} {value:12.2f}", flush=True)
    return results


def main() -> None:
    """Measure, print, and write the report where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("charges", type=int, nargs="*", default=SIZES)
    parser.add_argument("--unit", type=PrivacyUnit, action="append")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    note = report.machine()
    results = run(options.charges, options.unit or tuple(PrivacyUnit))
    if options.write:
        _write(results, note)


def _write(results: dict[str, float], note: str) -> None:
    text = REPORT.read_text(encoding="utf-8")
    head, _, rest = text.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    table = ["", note, "", "| what | measured |", "|---|--:|"]
    table += [f"| `{name}` | {value:,.2f} |" for name, value in results.items()]
    lines = "\n".join([*table, ""])
    REPORT.write_text(f"{head}{_BEGIN}\n{lines}\n{_END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
