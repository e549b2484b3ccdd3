"""``tocsin run --workers N``: one process per core under one command.

The parent counts nothing and decides nothing: it starts N processes with its own command line, each
a worker as if it had been started alone, and goes when they go::

    parent ──▶ worker 0   metrics on the ports of the configuration
           ──▶ worker 1   two ports further
           told to end ─▶ every worker is told the same
           a worker ends ─▶ the others are told to end; the first failure gives the exit code
           the parent is killed ─▶ a pipe closes that every worker watches: they end

Workers share nothing but Kafka and the ledger, so all that is promised of several workers
(``tests/integration/test_crash_matrix.py``) holds of these.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING, Final

import click

from stream.config.yamlfile import load_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stream.model.alarms import Alarms, Settings

__all__ = ["Place", "check_workers", "run_workers", "worker_settings"]

_VARIABLE: Final = "TOCSIN_WORKER"
_PORTS_EACH: Final = 2
_MOST_PORT: Final = 65_535
_END_S: Final = 20.0
"""How long the others may take to end where nobody else counts: with a worker that failed, or when
the parent is gone. Who tells the parent to end has a patience of its own."""
_TOLD: Final = 143
"""How a worker ends that is told to before it is ready, or that its parent left alone."""
_BY_SIGNAL: Final = 128
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Place:
    """Which of several workers this process is.

    Args:
        index: from 0 on.
        lifeline: descriptor of a pipe that ends with the parent.
    """

    index: int
    lifeline: int

    @classmethod
    def taken(cls) -> Place | None:
        """Return the place that the parent gave this process, once; ``None`` where it has none."""
        given = os.environ.pop(_VARIABLE, None)
        if given is None:
            return None
        index, lifeline = map(int, given.split(","))
        return cls(index, lifeline)

    def environment(self) -> dict[str, str]:
        """Return the environment of a process that takes this place."""
        return {**os.environ, _VARIABLE: f"{self.index},{self.lifeline}"}

    def end_with_parent(self) -> None:
        """From now on, end when the parent is gone: in order, or else at once after a while."""
        os.set_inheritable(self.lifeline, False)
        Thread(target=self._watch, name="tocsin-lifeline", daemon=True).start()

    def _watch(self) -> None:
        while os.read(self.lifeline, 1):
            pass  # nobody writes: this returns when the last end for writing is closed
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_END_S)
        os._exit(_TOLD)


def worker_settings(settings: Settings, index: int) -> Settings:
    """Return the settings of worker ``index``: its own two ports, any free one where that is asked.

    Worker k listens 2k above the ports that the configuration names.
    """

    def of(address: tuple[str, int]) -> tuple[str, int]:
        host, port = address
        return host, port and port + _PORTS_EACH * index

    return replace(
        settings,
        public_address=of(settings.public_address),
        custodian_address=of(settings.custodian_address),
    )


def check_workers(alarms: Alarms, file: Path, count: int) -> None:
    """Refuse several workers where they could not run beside each other.

    Args:
        alarms: the checked configuration.
        file: where it stands.
        count: how many workers.

    Raises:
        ConfigError: pointing at the ledger, which is SQLite, or at the metrics' ports, which would
            be those of another worker or none.
    """
    if count == 1:
        return
    document = load_document(file, environ=os.environ)
    if alarms.settings.ledger_url.startswith("sqlite:"):
        raise document.place(("ledger",)).error(
            f"{count} workers cannot share a ledger in SQLite",
            "write ledger: postgresql://user:password@host/database, or run one worker",
        )
    each = [worker_settings(alarms.settings, index) for index in range(count)]
    addresses = [at for one in each for at in (one.public_address, one.custodian_address)]
    fixed = [address for address in addresses if address[1]]
    if len(set(fixed)) < len(fixed) or any(port > _MOST_PORT for _, port in fixed):
        raise document.place(("metrics",)).error(
            f"{count} workers do not find two ports each: worker k listens 2k above these",
            "put the two ports side by side, below 65536, as 9464 and 9465 are; or write port 0",
        )


def run_workers(count: int) -> int:
    """Start this process's command line ``count`` times, as workers, until all of them have ended.

    Returns:
        The exit code: that of the first worker that failed, 128 and the signal's number where a
        signal ended it; 0 where all ended in order.
    """
    lifeline, held = os.pipe()
    os.set_inheritable(lifeline, True)
    try:
        with _heard() as hearing:
            workers = _Workers()
            for index in range(count):
                workers.start(Place(index, lifeline))
            while workers.alive:
                workers.end_overdue()
                for number in hearing.signals(workers.patience_s):
                    if number in _PASSED_ON:
                        workers.tell(number)
                    workers.reap()
            return workers.code
    finally:
        os.close(lifeline)
        os.close(held)


@dataclass(slots=True)
class _Workers:
    """The processes that were started, by process id."""

    alive: dict[int, int] = field(default_factory=dict)
    code: int = 0
    ending: bool = False
    due_s: float | None = None

    def start(self, place: Place) -> None:
        """Start a worker; signals from the terminal reach it through the parent only."""
        argv = [sys.executable, *sys.orig_argv[1:]]
        pid = os.posix_spawn(sys.executable, argv, place.environment(), setpgroup=0)
        self.alive[pid] = place.index

    @property
    def patience_s(self) -> float | None:
        """How long to wait for the next signal; ``None`` for ever."""
        return None if self.due_s is None else max(self.due_s - time.monotonic(), 0)

    def tell(self, number: signal.Signals) -> None:
        """Send every worker a signal."""
        self.ending = self.ending or number != signal.SIGHUP
        for pid in self.alive:
            os.kill(pid, number)  # not reaped yet, so the process is ours

    def reap(self) -> None:
        """Take note of who has ended; with the first, all are to end, and in a while at that."""
        while self.alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            index = self.alive.pop(pid, None)
            if index is None:
                continue  # the first process of a container inherits those of others
            code = os.waitstatus_to_exitcode(status)
            code = _BY_SIGNAL - code if code < 0 else code
            if not (self.ending and code == _TOLD):  # told to before it was ready: no failure
                self.code = self.code or code
            if not self.ending:
                ends = "; the others are told to end" if self.alive else ""
                click.echo(f"worker {index} ended with exit code {code}{ends}", err=True)
                self.tell(signal.SIGTERM)
                self.due_s = time.monotonic() + _END_S

    def end_overdue(self) -> None:
        """Kill those who were told to end and have not."""
        if self.alive and self.due_s is not None and time.monotonic() >= self.due_s:
            self.tell(signal.SIGKILL)
            self.due_s += _END_S


class _Hearing:
    """Signals as they come, none lost between two looks."""

    def __init__(self, reader: int) -> None:
        self._reader = reader

    def signals(self, timeout_s: float | None) -> Sequence[signal.Signals]:
        """Wait for signals and return them in order; none when the time is over."""
        ready, _, _ = select.select([self._reader], [], [], timeout_s)
        return [signal.Signals(number) for number in os.read(self._reader, 512)] if ready else []


@contextmanager
def _heard() -> Iterator[_Hearing]:
    """Hear of children's ends and of what is to be passed on, instead of being interrupted."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    watched = {*_PASSED_ON, signal.SIGCHLD}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's background job
        watched.remove(signal.SIGINT)
    before = {number: signal.signal(number, _note) for number in watched}
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield _Hearing(reader)
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def _note(_number: int, _frame: object) -> None:
    """Do nothing: the pipe has the signal's number."""
