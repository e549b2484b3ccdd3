"""The Faust worker: ingest service, decide agent with a slow poll, publisher, metrics.

Faust hosts what it is good at: the worker, its services and the agent on the low-rate doorbell
topic. The bell only shortens the wait: a poll decides the same windows should a bell be lost. Any
unknown exception ends the process; everything that matters is in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import faust
import msgspec
import stamina
from aiokafka.errors import KafkaError
from faust.exceptions import FaustError
from mode import Service

from accountant.errors import DependencyError, TocsinError
from accountant.retrying import retrying
from stream.build import assemble, open_ledger, wall_clock_ms
from stream.decisions.steps import no_step
from stream.kafka.clients import faust_credentials
from stream.kafka.guard import check_feeds, check_ledger, check_unchanged
from stream.kafka.ingest import Ingest
from stream.kafka.publish import Publisher
from stream.metrics.server import serve
from stream.model.alarms import require_kafka

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from accountant.records import LogIdentity
    from stream.build import Runtime
    from stream.decisions.records import Alarm, DecisionRecord
    from stream.decisions.steps import StepHook
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["run"]

T = TypeVar("T")

_log = logging.getLogger("tocsin")

_UNKNOWN_ERROR = 70
_DEPENDENCY_S = 60.0
_RETRY_S = 1.0
_POLL_S = 1.0
_STATUS_S = 5.0
_LOG_S = 30.0
_BELL_S = 2.0

_trying_again = partial(
    stamina.retry_context,
    attempts=None,
    timeout=None,
    wait_initial=_RETRY_S,
    wait_max=_RETRY_S,
    wait_jitter=0,
)


def run(
    alarms: Alarms,
    *,
    released: Callable[[DecisionRecord | Alarm], None] | None = None,
    step: StepHook = no_step,
    log_check_s: float = _LOG_S,
) -> int:
    """Run one worker until it is told to stop.

    Args:
        alarms: the checked configuration, with a ``kafka`` section.
        released: told every decision and alarm record that this worker published.
        step: told every named step of the protocol.
        log_check_s: how often to check that the feeds' logs are still the registered ones.

    Returns:
        The exit code.

    Raises:
        DependencyError: Kafka or the ledger cannot be reached.
        LedgerError: the ledger, the log or the configuration is not the registered one.
    """
    identities = retrying(lambda: check_feeds(alarms))
    ledger = retrying(lambda: open_ledger(alarms))
    now_ms = wall_clock_ms()
    runtime = assemble(
        alarms,
        ledger,
        identities=identities,
        first_start_ms={q.id: _first_start_ms(q, now_ms) for q in alarms.queries.values()},
        step=step,
    )
    retrying(lambda: check_ledger(alarms, ledger))
    with (
        serve(runtime.metrics, alarms.settings),
        tempfile.TemporaryDirectory(prefix="tocsin-faust-", ignore_cleanup_errors=True) as folder,
    ):
        app = _app(_Tasks(runtime, identities, released, log_check_s), folder)
        worker = faust.Worker(app, loglevel="WARNING", quiet=True, redirect_stdouts=False)
        worker.spinner = None  # it hides the cursor, even in a file of JSON lines
        worker.execute_from_commandline()
    return 0


class _Tasks:
    """The worker's long-running tasks, and what happens when one of them fails."""

    def __init__(
        self,
        runtime: Runtime,
        identities: dict[str, LogIdentity],
        released: Callable[[DecisionRecord | Alarm], None] | None,
        log_check_s: float,
    ) -> None:
        self.runtime = runtime
        self._identities = identities
        self._released = released
        self._log_check_s = log_check_s
        self._executor = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tocsin-decide")
        self._deciding = asyncio.Lock()

    async def ingest(self, ring: Callable[[str], Awaitable[None]]) -> None:
        """Count events until cancelled."""
        await Ingest(self.runtime, identities=self._identities, ring=ring).run()

    async def publish(self) -> None:
        """Publish what is released until cancelled."""
        await Publisher(self.runtime, self._executor, self._released).run()

    async def poll(self) -> None:
        """Decide whatever is due, now and then, should a bell be lost."""
        while True:
            for query_id in self.runtime.alarms.queries:
                await self._decide(query_id)
            await asyncio.sleep(_POLL_S)

    async def watch_ledger(self) -> None:
        """Show the ledger's state to the custodian."""
        reports = self.runtime.ledger.reports
        while True:
            self.runtime.metrics.ledger(await self._in_thread(reports.status))
            await self._in_thread(lambda: self.runtime.metrics.realised(reports))
            await asyncio.sleep(_STATUS_S)

    async def watch_log(self) -> None:
        """Stop when a feed's log is no longer the registered one."""
        check = partial(check_unchanged, self.runtime.alarms, self._identities)
        while True:
            await asyncio.sleep(self._log_check_s)
            await self._in_thread(check)

    async def answer(self, bell: bytes) -> None:
        """Decide the windows of the query that a doorbell message names."""
        try:
            query_id = msgspec.json.decode(bell, type=_Bell).query
        except msgspec.MsgspecError:
            return  # not ours: the poll finds whatever is due
        if query_id in self.runtime.alarms.queries:
            await self.guarded(lambda: self._decide(query_id))

    async def guarded(self, task: Callable[[], Awaitable[None]]) -> None:
        """Run a task; try again while a dependency is away, end the process on anything else."""
        started_s, give_up_s = time.monotonic(), math.inf

        def away(error: Exception) -> bool:
            nonlocal give_up_s
            now_s = time.monotonic()
            if give_up_s == math.inf or now_s - started_s > _DEPENDENCY_S:
                give_up_s = now_s + _DEPENDENCY_S
            return isinstance(error, DependencyError | KafkaError) and now_s <= give_up_s

        try:
            async for attempt in _trying_again(on=away):
                with attempt:
                    started_s = time.monotonic()
                    await task()
        except KafkaError as error:
            self._end(error, DependencyError.exit_code)
        except TocsinError as error:
            self._end(error, error.exit_code)
        except Exception as error:  # noqa: BLE001  # promise 8: fail closed on the unknown
            self._end(error, _UNKNOWN_ERROR)
        except asyncio.CancelledError as error:
            this = asyncio.current_task()
            if this is None or this.cancelling():
                raise
            # Nobody cancelled this task: a client's did, and Faust would go on without us.
            self._end(error, _UNKNOWN_ERROR)

    async def _decide(self, query_id: str) -> None:
        async with self._deciding:
            await self._in_thread(lambda: self._decide_due(query_id))

    def _decide_due(self, query_id: str) -> None:
        started_s = time.monotonic()
        for decision in self.runtime.judge.decide_due(query_id):
            now_s = time.monotonic()
            self.runtime.metrics.decided(decision, now_s - started_s)
            started_s = now_s

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def _end(self, error: BaseException, code: int) -> None:
        """End the process at once: nothing half-done may go on (promise 8).

        An unknown error is named by type and place only: its text may quote an event.
        """
        self.runtime.metrics.refused(error)
        if isinstance(error, TocsinError):
            _log.critical("tocsin stops: %s", error)
        else:
            frames = "".join(traceback.format_tb(error.__traceback__))
            _log.critical("tocsin stops on %s at\n%s", type(error).__name__, frames)
        logging.shutdown()
        os._exit(code)


def _first_start_ms(query: Query, now_ms: int) -> int:
    """Return the first window to decide: the next to start, or the first of a declared history."""
    calendar = query.calendar
    since_ms = query.feed.history[0] if query.feed.history else now_ms
    return calendar.bounds(calendar.next_active(calendar.first_starting_at(since_ms)))[0]


class _Bell(msgspec.Struct):
    """A doorbell message: which query to look at, and nothing that was counted."""

    query: str


def _app(tasks: _Tasks, folder: str) -> faust.App:
    kafka = require_kafka(tasks.runtime.alarms)
    session_s = kafka.session_timeout_ms / 1000
    app = faust.App(
        f"{kafka.group}-decide",
        broker=[f"kafka://{host}" for host in kafka.bootstrap.split(",")],
        broker_credentials=faust_credentials(kafka),
        broker_session_timeout=session_s,
        broker_heartbeat_interval=max(session_s / 3, 0.5),
        broker_request_timeout=max(session_s + 1, 40.0),
        consumer_auto_offset_reset="latest",
        producer_acks=-1,
        topic_disable_leader=True,
        topic_allow_declare=False,
        store="memory://",
        web_enabled=False,
        autodiscover=False,
        datadir=folder,
    )
    bells = app.topic(kafka.doorbell_topic, key_serializer="raw", value_serializer="raw")

    async def ring(query: str) -> None:
        bell = bells.send(key=query.encode(), value=msgspec.json.encode(_Bell(query)))
        with contextlib.suppress(FaustError, TimeoutError):  # counting never waits for a bell
            await asyncio.wait_for(bell, _BELL_S)

    @app.agent(bells, concurrency=1, name="decide")
    async def decide(stream: Any) -> None:
        async for event in stream.noack().events():
            await tasks.answer(event.value)
            event.ack()

    class Hosted(Service):  # type: ignore[misc]  # mode is not followed by mypy
        """Starts with the Faust worker, is cancelled before its clients close."""

        @Service.task
        async def ingest(self) -> None:
            await tasks.guarded(lambda: tasks.ingest(ring))

        @Service.task
        async def poll(self) -> None:
            await tasks.guarded(tasks.poll)

        @Service.task
        async def publish(self) -> None:
            await tasks.guarded(tasks.publish)

        @Service.task
        async def watch_log(self) -> None:
            await tasks.guarded(tasks.watch_log)

        @Service.task
        async def watch_ledger(self) -> None:
            await tasks.guarded(tasks.watch_ledger)

    app.service(Hosted)
    return app
