"""What age costs a ledger: a year of hourly alarms, as if decided one after the other.

``python -m benchmarks.ledger_age --write`` puts the figures into ``reports/ledger-age.md``, in
place of those of the same database, unit and size alone; ``--rows 20000 --on sqlite`` is a short
version. A ledger is filled with the very entries that deciding its windows would leave
(:func:`tests.support.aged.age`), and is measured in processes of their own, so that the memory
which filling it took does not count. An empty one stands beside it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psycopg

from accountant.ledger.ledger import Ledger
from accountant.log.entries import read_checkpoint
from accountant.log.images import IMAGE
from accountant.units import PrivacyUnit
from benchmarks import report
from benchmarks.checkouts import processor_s
from stream.custody.archive import archive, archived_in
from tests.support.aged import age
from tests.support.ledgers import Series, settle
from tests.support.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALARMS = 200
HOUR_MS = 3_600_000
PERIOD_MS = 24 * HOUR_MS
YEAR = ALARMS * 24 * 365
WALL = 10**15
SIZES = (20_000, 200_000, YEAR)
DATABASES = ("sqlite", "postgresql")
AGAIN = 21
REPORT = Path(__file__).parent / "reports" / "ledger-age.md"
AIMS: Final = {
    "start_s": 2,
    "admit_p50_ms": 5,
    "decide_p50_ms": 5,
    "status_p50_ms": 10,
    "verify_since_yesterday_s": 5,
    "verify_s": 60,
    "verify_peak_mb": 300,
    "archive_s": 60,
    "archive_longest_s": 1,
    "archived_mb": 50,
    "archived_file_mb": 50,
}
"""What each figure may be at most for a year's charges."""

_BEGIN = "<!-- figures: `python -m benchmarks.ledger_age --write` writes from here -->"


class Figure(NamedTuple):
    """One measured figure.

    Args:
        name: with its unit.
        measured: by the clock, where it is a time.
        cpu: of it the work of this process and of the database's server; ``None`` where it is none.
    """

    name: str
    measured: float
    cpu: float | None = None


class Meter:
    """Measures calls: by the clock, and in work done.

    Args:
        server: process id of the database's server; 0 where this process is all there is.
    """

    def __init__(self, server: int) -> None:
        self._server = server

    def took(self, call: Callable[[], object]) -> tuple[float, float]:
        """Return the seconds that a call takes, and the processor's seconds."""
        began_cpu_s = self._cpu_s()
        took_s = _clock_s(call)  # without looking for the server's processes
        return took_s, self._cpu_s() - began_cpu_s

    def often(self, name: str, calls: Sequence[Callable[[], object]]) -> Iterator[Figure]:
        """Yield the median and the 99th percentile of some calls, in ms."""
        whole = self._cpu_s()
        took_s = sorted(map(_clock_s, calls))
        cpu_ms = (self._cpu_s() - whole) * 1000 / len(calls)
        yield Figure(f"{name}_p50_ms", took_s[len(calls) // 2] * 1000, cpu_ms)
        yield Figure(f"{name}_p99_ms", took_s[len(calls) * 99 // 100] * 1000)

    def _cpu_s(self) -> float:
        return time.process_time() + (processor_s(self._server) if self._server else 0.0)


def series(unit: PrivacyUnit) -> list[Series]:
    """Return the alarms."""
    period = PERIOD_MS if unit is PrivacyUnit.USER else 0
    return [
        Series(f"q{at:03}", size=HOUR_MS, step=HOUR_MS, period=period, units=1000)
        for at in range(ALARMS)
    ]


def worked(url: str, unit: PrivacyUnit, charges: int, server: int) -> list[Figure]:
    """Return what a worker's calls take on a ledger with so many charges, and its memory.

    Args:
        url: of the ledger, which was filled.
        unit: of its budget.
        charges: that it holds.
        server: as for :class:`Meter`.
    """
    return _told(_of_worker(url, unit, charges // ALARMS, Meter(server)))


def kept(url: str, charges: int, server: int) -> list[Figure]:
    """Return what a custodian's commands take; the arguments are those of :func:`worked`."""
    return _told(_of_custodian(url, charges // ALARMS, Meter(server)))


def _told(figures: Iterator[Figure]) -> list[Figure]:
    found: list[Figure] = []
    for figure in figures:
        print(f"{figure.name:32} {figure.measured:12.2f} {figure.cpu or 0:12.2f}", flush=True)
        found.append(figure)
    return found


def _of_worker(url: str, unit: PrivacyUnit, hours: int, meter: Meter) -> Iterator[Figure]:
    yield Figure("stored_mb", _stored_mb(url))
    yield Figure("start_s", *meter.took(lambda: _opened(url).close()))
    every = series(unit)
    with _opened(url) as ledger:
        ledger.admit("s", [every[0].request(hours)])  # connects
        settle(ledger, every[0], hours)
        yield from meter.often("admit", [_admitted(ledger, one, hours) for one in every[1:]])
        yield from meter.often("decide", [_settled(ledger, one, hours) for one in every[1:]])
        yield from meter.often("status", [ledger.reports.status] * AGAIN)
    yield Figure("worker_mb", _peak_mb())


def _of_custodian(url: str, hours: int, meter: Meter) -> Iterator[Figure]:
    with _opened(url) as ledger:
        verify = ledger.reports.verify
        yield Figure("verify_s", *meter.took(lambda: _none(verify())))
        yield Figure("verify_peak_mb", _peak_mb())
        noted = _yesterday(ledger)
        since = meter.took(lambda: _none(verify(since=noted)))
        yield Figure("verify_since_yesterday_s", *since)
        with ledger._store.write() as tx:  # noqa: SLF001  # as another version's image is ignored
            tx.kept.drop(name=IMAGE)
    yield Figure("start_without_image_s", *meter.took(lambda: _opened(url).close()))
    with _opened(url) as ledger, tempfile.TemporaryDirectory() as directory:
        folder, before_ms = Path(directory), (hours - 24) * HOUR_MS
        with transactions(ledger) as spans:
            took = meter.took(lambda: archive(ledger, folder, before_ms))
        yield Figure("archive_s", *took)
        yield Figure("archive_transactions", len(spans))
        yield Figure("archive_longest_s", *max(spans))
        yield Figure("archive_mb", sum(one.stat().st_size for one in folder.iterdir()) / 1e6)
        looked = meter.took(
            lambda: _none(ledger.reports.verify(archived=archived_in(ledger, folder)))
        )
        yield Figure("verify_archive_s", *looked)
        yield Figure("archived_mb", _packed_mb(ledger, url, "archived.db"))
        yield Figure("archived_file_mb", _stored_mb(url))
    yield Figure("archived_start_s", *meter.took(lambda: _opened(url).close()))


def _admitted(ledger: Ledger, one: Series, hours: int) -> Callable[[], object]:
    request = one.request(hours)
    return lambda: ledger.admit("s", [request])


def _settled(ledger: Ledger, one: Series, hours: int) -> Callable[[], object]:
    return lambda: settle(ledger, one, hours)


def _yesterday(ledger: Ledger) -> tuple[int, bytes]:
    """Return the entry that was the last one a day of windows ago."""
    last, _ = read_checkpoint(ledger.reports.status().checkpoint)
    number = max(last - 24 * ALARMS, 1)
    (row,) = ledger.archives.entries(number, number)
    return number, row.hash


def _peak_mb() -> float:
    """Return the most memory that this process held; of who started it, nothing counts."""
    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    return int(most) * 1024 / 1e6


def _none(problems: list[str]) -> None:
    if problems:
        raise RuntimeError(f"the benchmark's ledger does not add up: {problems[:3]}")


def _stored_mb(url: str) -> float:
    """Return how much space a ledger takes, with what is free in it."""
    path = url.removeprefix("sqlite:///")
    if path != url:
        return sum(one.stat().st_size for one in Path(path).parent.glob("ledger.db*")) / 1e6
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return float(row[0] if row else 0) / 1e6


def _packed_mb(ledger: Ledger, url: str, name: str) -> float:
    """Return how much a ledger takes that holds no space which is free."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///")).with_name(name)
        ledger._store.backup(path)  # noqa: SLF001  # as `tocsin ledger FILE backup` does
        return path.stat().st_size / 1e6
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
    return _stored_mb(url)


@contextmanager
def transactions(ledger: Ledger) -> Iterator[list[tuple[float, float]]]:
    """Collect how long (s) each write transaction takes, its commit included, and its own work."""
    spans: list[tuple[float, float]] = []
    store, began = ledger._store, ledger._store.write  # noqa: SLF001  # measured where they begin

    @contextmanager
    def timed() -> Iterator[Any]:
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        with began() as tx:
            yield tx
        spans.append((time.perf_counter() - began_s, time.process_time() - began_cpu_s))

    store.write = timed  # type: ignore[method-assign]  # put back below
    try:
        yield spans
    finally:
        store.write = began  # type: ignore[method-assign]  # as above


def _clock_s(call: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    call()
    return time.perf_counter() - began_s


def _opened(url: str) -> Ledger:
    return Ledger.open(url, clock_ms=lambda: time.time_ns() // 10**6, entropy=os.urandom)


def _filled(url: str, unit: PrivacyUnit, charges: int) -> None:
    with _opened(url) as ledger:
        age(ledger, unit, WALL, series(unit), charges // ALARMS)
    if not url.startswith("sqlite"):  # as its own daemon leaves rows that came one by one
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")


def run(
    sizes: Sequence[int] = SIZES,
    units: Sequence[PrivacyUnit] = tuple(PrivacyUnit),
    databases: Sequence[str] = DATABASES,
) -> Iterator[tuple[str, str, list[Figure]]]:
    """Yield what was measured: of which ledger, when and where, and the figures."""
    with Postgres(durable=True) if "postgresql" in databases else nullcontext() as server:
        for size, unit, database in product(sizes, units, databases):
            title, note = f"{database}, unit {unit.value}, {size:,} charges", report.machine()
            print(title, flush=True)
            with tempfile.TemporaryDirectory() as directory:
                urls, pid = [f"sqlite:///{directory}/{name}/ledger.db" for name in "ab"], 0
                for name in "ab":
                    (Path(directory) / name).mkdir()
                if server is not None and database == "postgresql":
                    urls, pid = [server.new_database(), server.new_database()], server.pid
                yield title, note, _figures(urls, unit, size, pid)


def _figures(urls: list[str], unit: PrivacyUnit, size: int, server: int) -> list[Figure]:
    """Fill a ledger, and measure it and an empty one, each time in a process of its own."""
    url, empty = urls
    _filled(url, unit, size)
    found = _apart(worked, url, unit, size, server)
    found += _apart(kept, url, size, server)
    _filled(empty, unit, 0)
    mine = {one.name: one for one in _apart(worked, empty, unit, 0, server)}
    names = ("start_s", "admit_p50_ms", "decide_p50_ms", "worker_mb")
    return [*found, *(mine[name]._replace(name=f"empty_{name}") for name in names)]


def _apart(measure: Callable[..., list[Figure]], *given: object) -> list[Figure]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, *given).result()


def written(text: str, title: str, note: str, figures: Sequence[Figure]) -> str:
    """Return the report with the figures of one ledger: in place of its own, or behind the others.

    Args:
        text: the report.
        title: of which ledger.
        note: when and where.
        figures: what was measured.

    Raises:
        ValueError: the report has no place for figures.
    """
    _, section, _ = report.parts(text, _BEGIN)
    kept = dict(re.findall(r"^### (.*)\n((?:(?!### ).*\n)*)", section, flags=re.MULTILINE))
    rows = [f"\n{note}\n", "| what | measured | of it work | aim for a year |", "|---|--:|--:|--:|"]
    for name, measured, cpu in figures:
        work = "" if cpu is None else f"{cpu:,.2f}"
        rows.append(f"| `{name}` | {measured:,.2f} | {work} | {AIMS.get(name, '')} |")
    kept[title] = "\n".join([*rows, "", ""])
    whole = "".join(f"### {name}\n{one}" for name, one in kept.items())
    return report.replaced(text, whole.removesuffix("\n\n"), _BEGIN)


def main() -> None:
    """Measure, print, and write the report where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help="charges; 200 are an hour's")
    parser.add_argument("--unit", type=PrivacyUnit, action="append")
    parser.add_argument("--on", choices=DATABASES, action="append", help="the database")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    asked = (options.rows or SIZES, options.unit or tuple(PrivacyUnit), options.on or DATABASES)
    for title, note, figures in run(*asked):
        if options.write:
            text = REPORT.read_text("utf-8")
            REPORT.write_text(written(text, title, note, figures), "utf-8")


if __name__ == "__main__":
    main()
