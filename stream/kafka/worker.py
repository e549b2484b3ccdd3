"""The Faust worker: ingest service, decide agent with a slow poll, publisher, metrics.

Faust hosts what it is good at: the worker, its services and the agent on the low-rate wake-up
topic. The bell only shortens the wait: a poll decides the same windows should a bell be lost. Any
unknown exception ends the process; everything that matters is in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import KW_ONLY, dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeVar

from faust.exceptions import FaustError
from mode import Service

from accountant.errors import DependencyError, TocsinError
from accountant.ledger.journal import START
from accountant.retrying import retrying
from operators.noise.source import NoiseSource
from stream.build import assemble, open_ledger
from stream.decisions.mechanisms import plans_of
from stream.decisions.schedule import first_start_ms
from stream.decisions.steps import no_step
from stream.kafka.clients import KAFKA_AWAY, faust_credentials, reaching
from stream.kafka.clock import HeldClock
from stream.kafka.connectivity import Dependencies
from stream.kafka.guard import check_feeds, check_unchanged, claim_feeds
from stream.kafka.host import App, Hooks, host
from stream.kafka.ingest import Ingest
from stream.kafka.nodes import tolerate_no_broker
from stream.kafka.publish import Publisher
from stream.kafka.refusals import note, noting_refusals
from stream.kafka.witness import Witness
from stream.logs.lines import Line, Log
from stream.metrics.journal import kind_of
from stream.metrics.readiness import KAFKA, LEDGER
from stream.metrics.registries import Metrics
from stream.metrics.server import serve
from stream.model.alarms import require_kafka
from stream.model.feeds import Clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import NoReturn

    from stream.build import Runtime
    from stream.decisions.records import Record
    from stream.decisions.steps import StepHook
    from stream.kafka.connectivity import Connectivity
    from stream.model.alarms import Alarms

__all__ = ["UNKNOWN_ERROR", "run"]

T = TypeVar("T")

UNKNOWN_ERROR: Final = 70
"""Exit code where something failed that nobody foresaw."""

_DEPENDENCY_S = 60.0
_RETRY_S = 1.0
_POLL_S = 1.0
_TURN_S = 1.0  # then alarms that were counted meanwhile are looked at again
_STATUS_S = 5.0
_LOG_S = 30.0
_BELL_S = 2.0

_GAVE_UP: Final = (
    "Kafka is unreachable, or did not complete a request",
    "start the broker, or correct kafka.bootstrap and kafka.security",
)
_AWAY: Final = (DependencyError, *KAFKA_AWAY)


def run(
    alarms: Alarms,
    *,
    released: Callable[[Record], None] | None = None,
    step: StepHook = no_step,
    log_check_s: float = _LOG_S,
    log: Log,
) -> int:
    """Run one worker until it is told to stop.

    Args:
        alarms: the checked configuration, with a ``kafka`` section.
        released: told every decision and alarm record that this worker published.
        step: told every named step of the protocol.
        log_check_s: how often to check that the feeds' logs are still the registered ones.
        log: where it says how it fares.

    Returns:
        The exit code. A failure after the start ends the process itself, with its code.

    Raises:
        ClockError: the clock is ahead of the brokers', or behind what the ledger saw.
        ConfigError: the configuration has no ``kafka`` section.
        DependencyError: Kafka or the ledger cannot be reached.
        LedgerError: the ledger, the log or the configuration is not the registered one.
    """
    hint = "add `kafka: {bootstrap: host:port}`, or replay files: tocsin run FILE --replay PATH"
    require_kafka(alarms, hint)  # said before a port, a ledger or a client is opened
    dependencies = Dependencies(log)
    clock = HeldClock(alarms)
    metrics = Metrics(alarms, plans_of(alarms))
    # The page is there before anything can be refused, and tells of earlier refusals.
    with serve(metrics, alarms.settings), contextlib.ExitStack() as stack:
        ledger = _reached(lambda: open_ledger(alarms, clock_ms=clock), dependencies.ledger)
        stack.enter_context(noting_refusals(ledger))
        stack.enter_context(reaching(*_GAVE_UP, KAFKA_AWAY))
        note(ledger, START)
        metrics.journal(ledger.journal.entries())
        metrics.readiness.answered(LEDGER)
        identities = _reached(lambda: check_feeds(alarms), dependencies.kafka)
        witness = Witness(alarms, ledger, identities, NoiseSource().token(16).hex(), clock)
        # Before anything is registered: what was lost is told by what the ledger does not know.
        if _reached(lambda: claim_feeds(witness), dependencies.kafka):
            log.info(Line.OWNED)
        runtime = assemble(
            alarms,
            ledger,
            identities=identities,
            first_start_ms=_first_starts_ms(alarms, clock()),
            clock_ms=clock,
            step=step,
            metrics=metrics,
        )
        # Not before: a start that may yet be refused is not ready.
        metrics.readiness.answered(KAFKA)
        publisher = partial(Publisher, runtime, witness.opened, released)
        tasks = _Tasks(runtime, publisher, log_check_s, log=log, dependencies=dependencies)
        tolerate_no_broker()
        return host(_app(tasks), Hooks(log, tasks.ready, tasks.lost))


def _reached(call: Callable[[], T], connectivity: Connectivity) -> T:
    """Return what a call to a dependency returns, trying again for a while."""

    def missed(error: DependencyError) -> bool:
        connectivity.missed(error)
        return True

    found = retrying(call, passing=missed)
    connectivity.found()
    return found


def _away(error: BaseException) -> DependencyError:
    return DependencyError(f"{_GAVE_UP[0]} ({type(error).__name__})", hint=_GAVE_UP[1])


@dataclass(eq=False)
class _Tasks:
    """The worker's long-running tasks, and what happens when one of them fails."""

    runtime: Runtime
    publisher: Callable[[], Publisher]
    log_check_s: float
    _: KW_ONLY
    log: Log
    dependencies: Dependencies

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._rung = asyncio.Event()

    def ready(self) -> None:
        """Say that everything runs."""
        alarms = len(self.runtime.alarms.by_name)
        self.log.info(Line.READY, version=version("tocsin"), alarms=alarms)

    def all(self, ring: Callable[[str], Awaitable[None]]) -> list[Callable[[], Awaitable[None]]]:
        """Return every task; ``ring`` sends a wake-up message."""
        ingest = partial(Ingest, self.runtime, ring=ring, log=self.log)
        return [
            lambda: ingest().run(),
            self.poll,
            lambda: self.publisher().run(),
            self.watch_log,
            self.watch_ledger,
        ]

    async def poll(self) -> None:
        """Decide whatever is due, at every bell and now and then, should one be lost."""
        while True:
            self._rung.clear()
            while await asyncio.to_thread(self._decide_due):
                pass
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), _POLL_S)

    async def watch_ledger(self) -> None:
        """Show the ledger's state to the custodian."""
        while True:
            await asyncio.to_thread(self._show_ledger)
            self.dependencies.ledger.found()
            await asyncio.sleep(_STATUS_S)

    async def watch_log(self) -> None:
        """Stop when a feed's log is no longer the registered one."""
        runtime = self.runtime
        while True:
            await asyncio.sleep(self.log_check_s)
            await asyncio.to_thread(check_unchanged, runtime.alarms, runtime.ledger)
            runtime.metrics.readiness.answered(KAFKA)

    def answer(self, bell: bytes) -> None:
        """Let what is due be decided, if a wake-up message names an alarm of ours."""
        if bell.decode(errors="replace") in self.runtime.alarms.running:
            self._rung.set()

    async def guarded(self, task: Callable[[], Awaitable[None]]) -> None:
        """Run a task; try again while a dependency is away, end the process on anything else.

        Every outage has a minute of its own: it ends when anybody finds the dependency again.
        """
        while True:
            try:
                return await _finished(task)
            except _AWAY as error:
                if self.dependencies.missed(error).unreachable_s > _DEPENDENCY_S:
                    self.lost(error)
            except Exception as error:  # noqa: BLE001  # promise 8: fail closed on the unknown
                self.lost(error)
            await asyncio.sleep(_RETRY_S)

    def lost(self, error: BaseException) -> NoReturn:
        """End the process: this error does not pass, or Faust does not survive it."""
        if isinstance(error, (*KAFKA_AWAY, asyncio.CancelledError)):
            error = _away(error)
        self._end(error, error.exit_code if isinstance(error, TocsinError) else UNKNOWN_ERROR)

    def _show_ledger(self) -> None:
        ledger, metrics = self.runtime.ledger, self.runtime.metrics
        metrics.ledger(ledger.reports.status())
        metrics.journal(ledger.journal.entries())
        metrics.realised(ledger.reports.realised)
        metrics.readiness.answered(LEDGER)

    def _decide_due(self) -> bool:
        """Decide what is due by now; tell whether there may be more, counted meanwhile."""
        judge = self.runtime.judge
        until_s = time.monotonic() + _TURN_S
        return any(time.monotonic() > until_s for _ in judge.decide_due(*judge.due()))

    def _end(self, error: BaseException, code: int) -> NoReturn:
        """End the process at once: nothing half-done may go on (promise 8).

        Whatever fails meanwhile: where no thread can be had, no note can be taken.
        """
        try:
            self.runtime.metrics.stopping()
            self.log.error(Line.FATAL, error=error, code=code)
            note(self.runtime.ledger, kind_of(error))
        finally:
            os._exit(code)


async def _finished(task: Callable[[], Awaitable[None]]) -> None:
    """Run a task to its end.

    Raises:
        DependencyError: a client cancelled it, which is how some give up; nobody else did.
    """
    try:
        await task()
    except asyncio.CancelledError as error:
        this = asyncio.current_task()
        if this is None or this.cancelling():
            raise
        raise _away(error) from error


def _first_starts_ms(alarms: Alarms, now_ms: int) -> dict[str, int]:
    """Return the first window of each alarm: the next to start, or the first of a history.

    What `history` says is for replays and for topics that are loaded: the log of a live feed need
    not reach back so far, and to decide its past would keep a new worker busy for minutes.
    """
    starts_ms = {}
    for alarm in alarms.running.values():
        loaded = alarm.feed.history if alarm.feed.clock is Clock.WATERMARKS else None
        starts_ms[alarm.id] = first_start_ms(alarm, loaded[0] if loaded else now_ms)
    return starts_ms


def _app(tasks: _Tasks) -> App:
    kafka = require_kafka(tasks.runtime.alarms)
    session_s = kafka.session_timeout_ms / 1000
    app = App(
        f"{kafka.group}-decide",
        broker=[f"kafka://{place}" for place in kafka.bootstrap.split(",")],
        broker_credentials=faust_credentials(kafka),
        broker_session_timeout=session_s,
        broker_heartbeat_interval=max(session_s / 3, 0.5),
        broker_request_timeout=max(session_s + 1, 40.0),
        consumer_auto_offset_reset="latest",
        topic_disable_leader=True,
        topic_allow_declare=False,
        web_enabled=False,
    )
    bells = app.topic(kafka.wakeup_topic, key_serializer="raw", value_serializer="raw")

    async def ring(alarm: str) -> None:
        # Which alarm to decide, and nothing that was counted.
        bell = bells.send(key=alarm.encode(), value=alarm.encode())
        with contextlib.suppress(FaustError, TimeoutError):  # counting never waits for a bell
            await asyncio.wait_for(bell, _BELL_S)

    @app.agent(bells, concurrency=1, name="decide")
    async def decide(stream: Any) -> None:
        async for event in stream.noack().events():
            tasks.answer(event.value)
            event.ack()

    class Hosted(Service):  # type: ignore[misc]  # mode is not followed by mypy
        """Starts with the Faust worker, is cancelled before its clients close."""

        async def on_start(self) -> None:
            """Called by mode."""
            # Kafka's clients wait for it silently: whether it is there is asked beside them.
            look_for_kafka = partial(tasks.dependencies.look_for_kafka, kafka)
            self.add_future(tasks.guarded(look_for_kafka))
            for task in tasks.all(ring):
                self.add_future(tasks.guarded(task))

    app.service(Hosted)
    return app
