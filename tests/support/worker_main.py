"""A real worker that writes down what it did and kills itself where it is told to.

Nothing is replaced: the journal is written around the real calls, and the kill is a SIGKILL of the
whole process, so no handler, flush or rollback of ours runs. The process is forked from one that
has imported this module and done nothing else: a worker is there at once, imports are paid once.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from accountant.errors import TocsinError
from accountant.ledger.counts import Counts
from accountant.ledger.ledger import Ledger
from operators.single.looks import EarlyAlarms
from stream.config.loading import load
from stream.kafka.worker import run
from stream.logs.lines import Log
from tests.support.recording import journalled

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from stream.decisions.steps import Step

BEFORE_COMMIT = "before_commit"
"""Inside the deciding transaction, its rows written, the commit not sent."""


class Journal:
    """One JSON line per thing that happened, written before the next thing happens.

    It outlives a killed process, not a power cut.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._lock = threading.Lock()

    def write(self, what: str, **fields: Any) -> None:
        """Append one line."""
        line = {"what": what, "pid": os.getpid(), "at_ns": time.time_ns(), **fields}
        with self._lock:
            os.write(self._file, json.dumps(line).encode() + b"\n")


class Fuse:
    """Kills the process at the given occurrence of the given step."""

    def __init__(self, journal: Journal, plan: str) -> None:
        self._journal = journal
        self._step, _, occurrence = plan.partition(":")
        self._left = int(occurrence or 1)
        self._lock = threading.Lock()

    def __call__(self, step: Step | str, key: WindowKey | None) -> None:
        """Note a step; die if it is the one."""
        fields = {} if key is None else {"alarm": key.query, "start_ms": key.start_ms}
        if step != "after_poll":
            self._journal.write("step", step=str(step), **fields)
        if step != self._step:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._journal.write("kill", step=str(step), **fields)
                os.kill(os.getpid(), signal.SIGKILL)


def instrument(journal: Journal, fuse: Fuse) -> None:
    """Journal every partial and decision; let the fuse see the commit of a decision."""
    settling = threading.local()
    put_partial, settle, deny = Counts.put_partial, Ledger.settle, Ledger.deny
    go_on = EarlyAlarms.go_on

    def recorded_partial(self, partial):
        fields = journalled(partial)
        # Once it is stored another thread may die at its step, before this one has told of it.
        journal.write("counted", **fields)
        status = put_partial(self, partial)
        journal.write("partial", **fields, status=str(status))
        return status

    def recorded(method):
        def call(self, key, **arguments):
            settling.key = key
            try:
                decision = method(self, key, **arguments)
            finally:
                settling.key = None
            journal.write(
                "decision",
                query=key.query,
                start_ms=key.start_ms,
                outcome=str(decision.outcome),
                reason=decision.reason,
                sequence=decision.sequence,
                alarm_count=decision.alarm_count,
            )
            return decision

        return call

    def recorded_look(self, statistics, *given, window, held):
        asked = go_on(self, statistics, *given, window=window, held=held)
        fired = asked.fired.nonzero()[0].tolist()
        journal.write("look", number=window, counts=statistics[0].tolist(), fired=fired)
        return asked

    def before_commit(_connection):
        if (key := getattr(settling, "key", None)) is not None:
            fuse(BEFORE_COMMIT, key)

    Counts.put_partial = recorded_partial  # type: ignore[method-assign]
    EarlyAlarms.go_on = recorded_look  # type: ignore[method-assign]
    Ledger.settle = recorded(settle)  # type: ignore[method-assign]
    Ledger.deny = recorded(deny)  # type: ignore[method-assign]
    event.listen(Engine, "commit", before_commit)


def start(
    config: Path, journal: Path, log: Path, *, plan: str = "", log_check_s: float = 30.0
) -> BaseProcess:
    """Start a worker in a process of its own.

    Args:
        config: the configuration.
        journal: where it writes down what it did.
        log: what it prints.
        plan: ``step:occurrence`` that it kills itself at; never where empty.
        log_check_s: how often it checks that the log is the registered one.
    """
    process = _NURSERY.Process(
        target=_work, args=(config, journal, log, plan, log_check_s), daemon=True
    )
    process.start()
    return process


# What a worker imports once it runs; and Faust asks in which module its agents are defined.
for _module in (
    "faust.app.router",
    "faust.assignor.partition_assignor",
    "faust.fixups.django",
    "faust.tables.manager",
    "faust.topics",
    "faust.transport.drivers.aiokafka",
    "psycopg",
):
    import_module(_module)
inspect.getmodule(inspect.currentframe())

_NURSERY = get_context("forkserver")
_NURSERY.set_forkserver_preload([__name__])


def _work(config, journal_path, log, plan, log_check_s):
    """Run the worker, and end with its exit code."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    journal = Journal(journal_path)
    fuse = Fuse(journal, plan)
    instrument(journal, fuse)
    try:
        alarms = load(config, environ=os.environ)
        sys.exit(run(alarms, step=fuse, log_check_s=log_check_s, log=Log(sys.stderr)))
    except TocsinError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
