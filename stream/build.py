"""The composition root: the one place where clock, randomness, ledger and metrics are put together.

Both shells start here. Nothing below holds a global.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from accountant.errors import DependencyError
from accountant.ledger.ledger import Ledger
from operators.noise.source import NoiseSource
from stream.counting.partition import PartitionReader
from stream.decisions.judge import Judge
from stream.decisions.registration import registration, scopes_of, terms_of
from stream.decisions.steps import no_step
from stream.metrics.registries import Metrics
from stream.model.references import counted_on, public_feeds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from accountant.layouts import Layouts
    from accountant.records import LogIdentity
    from stream.decisions.steps import StepHook
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["Runtime", "assemble", "open_ledger", "wall_clock_ms"]


def wall_clock_ms() -> int:
    """Return the wall clock in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything a shell drives.

    Args:
        alarms: the checked configuration.
        ledger: open and registered.
        judge: decides what is due.
        metrics: both registries.
        clock_ms: the wall clock, or the replay's.
        step: told every named step of the protocol.
    """

    alarms: Alarms
    ledger: Ledger
    judge: Judge
    metrics: Metrics
    clock_ms: Callable[[], int]
    step: StepHook

    def reader(
        self,
        feed: Feed,
        partition: int,
        layouts: Layouts,
        topic_id: str,
    ) -> PartitionReader:
        """Return the reader of a partition, not begun; the custodian's page hears of what it reads.

        Args:
            feed: whose partition it is.
            partition: its number.
            layouts: over how many the feed is partitioned.
            topic_id: of the registered log.
        """
        alarms, budget = counted_on(feed, self.alarms)
        metrics = self.metrics
        return PartitionReader(
            feed=feed,
            partition=partition,
            layouts=layouts,
            topic_id=topic_id,
            alarms=alarms,
            budget=budget,
            hash_key=self.ledger.hash_key,
            public=feed.name in public_feeds(self.alarms),
            on_read=partial(metrics.events_read, feed.name),
            on_drops=partial(metrics.events_dropped, feed.name),
            on_people=metrics.people_counted,
        )


def open_ledger(alarms: Alarms, *, clock_ms: Callable[[], int] = wall_clock_ms) -> Ledger:
    """Open (or create) the ledger that a configuration names.

    Raises:
        DependencyError: the database cannot be reached.
        LedgerError: its schema is newer than this version.
    """
    _make_own_folder(alarms.settings.ledger_url)
    return Ledger.open(alarms.settings.ledger_url, clock_ms=clock_ms, entropy=NoiseSource().token)


def assemble(
    alarms: Alarms,
    ledger: Ledger,
    *,
    identities: Mapping[str, LogIdentity],
    first_start_ms: Mapping[str, int],
    clock_ms: Callable[[], int] = wall_clock_ms,
    step: StepHook = no_step,
    metrics: Metrics | None = None,
    files: Mapping[str, Collection[str]] | None = None,
) -> Runtime:
    """Register the configuration in the ledger and put a shell's parts together.

    Args:
        alarms: the checked configuration.
        ledger: open.
        identities: per feed name, the log it reads.
        first_start_ms: per alarm id, the start of its first window, used at first registration.
        clock_ms: the clock of timeouts.
        step: told every named step of the protocol.
        metrics: of the same configuration, where they are shown already.
        files: per feed name, digests of the files that are replayed as it.

    Raises:
        LedgerRolledBackError: the ledger is older than what was released from it.
        ConfigChangedError: the ledger was registered with another configuration.
        LogChangedError: a feed's log is not the registered one.
        LedgerError: an alarm that the configuration lacks draws on one of its budgets.
    """
    ledger.heads.check()
    budgets = [terms_of(alarms, scope) for scope in scopes_of(alarms)]
    queries = [registration(q, alarms, first_start_ms[q.id]) for q in alarms.running.values()]
    # What is refused leaves no trace: a new budget beside the old one would stay for good.
    public = sorted(public_feeds(alarms))
    ledger.pins.refuse_changes(budgets, identities.values(), queries, public, files)
    for terms in budgets:
        ledger.pins.register_budget(terms)
    for identity in identities.values():
        ledger.pins.register_log(identity)
    ledger.pins.register_files(files or {})
    ledger.pins.register_queries(queries)
    judge = Judge(
        alarms=alarms,
        ledger=ledger,
        noise=NoiseSource(),
        clock_ms=clock_ms,
        step=step,
    )
    return Runtime(
        alarms=alarms,
        ledger=ledger,
        judge=judge,
        metrics=metrics or Metrics(alarms, judge.plans),
        clock_ms=clock_ms,
        step=step,
    )


def _make_own_folder(url: str) -> None:
    """Make the folder ``.tocsin`` of a SQLite ledger; any other must exist.

    Where a ledger is kept elsewhere and the folder is gone (a volume that was not mounted), a new,
    empty ledger would forget what was spent.
    """
    folder = Path(url.removeprefix("sqlite:///")).parent
    if not url.startswith("sqlite:///") or folder.name != ".tocsin":
        return
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise DependencyError(
            f"the ledger's folder {folder} cannot be created: {error.strerror}",
            hint="write a path in `ledger` that is writable",
            ledger=True,
        ) from error
