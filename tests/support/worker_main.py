"""A real worker that writes down what it did and kills itself where it is told to.

``python -m tests.support.worker_main CONFIG JOURNAL [STEP:OCCURRENCE]``. Nothing is replaced: the
journal is written around the real calls, and the kill is a SIGKILL of the whole process, so no
handler, flush or rollback of ours runs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from accountant.errors import TocsinError
from accountant.ledger.counts import Counts
from accountant.ledger.ledger import Ledger
from stream.config.loading import load
from stream.kafka.worker import run

if TYPE_CHECKING:
    from accountant.costs.charges import WindowKey
    from accountant.records import Partial, PartialStatus, StoredDecision
    from stream.decisions.steps import Step

BEFORE_COMMIT = "before_commit"
"""Inside the deciding transaction, its rows written, the commit not sent."""


class Journal:
    """One JSON line per thing that happened, on disk before the next thing happens."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._lock = threading.Lock()

    def write(self, what: str, **fields: Any) -> None:
        """Append one line and force it to disk."""
        line = {"what": what, "pid": os.getpid(), "at_ns": time.time_ns(), **fields}
        with self._lock:
            os.write(self._file, json.dumps(line).encode() + b"\n")
            os.fsync(self._file)


class Fuse:
    """Kills the process at the given occurrence of the given step."""

    def __init__(self, journal: Journal, plan: str) -> None:
        self._journal = journal
        self._step, _, occurrence = plan.partition(":")
        self._left = int(occurrence or 1)
        self._lock = threading.Lock()

    def __call__(self, step: Step | str, key: WindowKey | None) -> None:
        """Note a step; die if it is the one."""
        fields = {} if key is None else {"query": key.query, "start_ms": key.start_ms}
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

    def recorded_partial(self: Counts, partial: Partial) -> PartialStatus:
        status = put_partial(self, partial)
        journal.write(
            "partial",
            query=partial.key.query,
            start_ms=partial.key.start_ms,
            partition=partial.partition,
            complete=partial.complete,
            index=partial.index.tolist(),
            value=partial.value.tolist(),
            digest=partial.digest,
            status=str(status),
        )
        return status

    def recorded(method: Any) -> Any:
        def call(self: Ledger, key: WindowKey, **arguments: Any) -> StoredDecision:
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

    def before_commit(_connection: Any) -> None:
        if (key := getattr(settling, "key", None)) is not None:
            fuse(BEFORE_COMMIT, key)

    Counts.put_partial = recorded_partial  # type: ignore[method-assign]
    Ledger.settle = recorded(settle)  # type: ignore[method-assign]
    Ledger.deny = recorded(deny)  # type: ignore[method-assign]
    event.listen(Engine, "commit", before_commit)


def main() -> int:
    """Run the worker and return its exit code."""
    config, journal_path, *plan = sys.argv[1:]
    journal = Journal(Path(journal_path))
    fuse = Fuse(journal, plan[0] if plan else "")
    instrument(journal, fuse)
    try:
        return run(
            load(Path(config), environ=os.environ),
            step=fuse,
            log_check_s=float(os.environ.get("TOCSIN_TEST_LOG_CHECK_S", "30")),
        )
    except TocsinError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
