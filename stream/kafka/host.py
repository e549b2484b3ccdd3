"""Faust as the host of a worker: how it starts, is told to end, reads again, and fails.

Faust ends with exit code 1 and a traceback whatever happened, waits for clients whose broker is
away, prints local variables on SIGUSR1 and opens a debugger on SIGUSR2. Here it ends as a worker
shall: at once where something failed, for the ledger holds all that matters; within seconds where
it was told to.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import faust
from aiokafka.errors import KafkaError
from mode.threads import ServiceThread

from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from stream.logs.lines import Log

__all__ = ["ENDED_BY", "App", "Hooks", "host"]

ENDED_BY: Final = {signal.SIGINT: 1, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Exit codes of what was told to end before it was ready."""

_WATCH_S: Final = 1.0
_STOP_S: Final = 8
"""How long clients may take to say goodbye: less than the 10 s that containers are given."""


class App(faust.App):  # type: ignore[misc]  # Faust is not followed by mypy
    """A Faust app that keeps nothing in files, and so makes no folder that could be left behind."""

    def _create_directories(self) -> None:
        """Make none: there are no tables."""


class Hooks(NamedTuple):
    """What a hosted worker is asked and told.

    Args:
        log: where it is said that it ends.
        ready: called once everything has started and the agents listen.
        lost: ends the process, told why Faust cannot go on; called in any thread.
    """

    log: Log
    ready: Callable[[], None]
    lost: Callable[[BaseException], NoReturn]


def host(app: App, hooks: Hooks) -> int:
    """Run an app, with its services, until the process is told to end.

    Returns:
        The exit code, 0.
    """
    # It would print the error, which may quote a message, and its traceback; ``lost`` hears of it.
    ServiceThread.on_crash = lambda *_, **__: None
    worker = _Worker(app, hooks)
    try:
        worker.execute_from_commandline()
    except SystemExit:
        if not worker.told:
            hooks.lost(worker.crash_reason or RuntimeError())
    hooks.log.info(Line.STOPPED, code=0)
    return 0


def _lost_its_group(app: App) -> bool:
    """Tell whether the task that keeps Faust's consumer in its group has ended."""
    place: Any = app
    for name in ("_consumer", "_thread", "_consumer", "_coordinator", "_coordination_task"):
        place = getattr(place, name, None)  # there is no public way to ask
    return place is not None and place.done()


class _Worker(faust.Worker):  # type: ignore[misc]  # Faust is not followed by mypy
    """Faust's worker, with signals and crashes as Tocsin has them."""

    def __init__(self, app: App, hooks: Hooks) -> None:
        super().__init__(app, quiet=True, redirect_stdouts=False, override_logging=False)
        self.spinner = None  # it hides the cursor, even in a file of JSON lines
        self.told = False
        self._hooks = hooks
        self._ready = False

    async def start(self) -> None:
        """Start everything; what fails meanwhile ends the process."""
        watching = asyncio.create_task(self._watch_group())
        try:
            await super().start()
        except Exception as error:  # noqa: BLE001  # promise 8: fail closed on the unknown
            self._crash(error)
        finally:
            watching.cancel()

    async def _watch_group(self) -> None:
        """End the process should Faust's consumer lose its group for good while everything starts.

        Later Faust hears of it with the next fetch; until then it would wait for ever.
        """
        while not self._ready:
            await asyncio.sleep(_WATCH_S)
            if _lost_its_group(self.app):
                self._crash(KafkaError("the group is lost"))

    async def on_startup_finished(self) -> None:
        """Called by Faust once everything runs."""
        self._ready = True
        self._hooks.ready()

    def install_signal_handlers(self) -> None:
        """Take SIGTERM, SIGINT and SIGHUP; called before anything is started."""
        for number in ENDED_BY:
            if signal.getsignal(number) is not signal.SIG_IGN:  # of a background job, of nohup
                self.loop.add_signal_handler(number, self._end, number)
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)

    def _end(self, number: signal.Signals) -> None:
        if self.told:
            return
        self.told = True
        self._hooks.log.info(Line.STOPPING, signal=number.name)
        if not self._ready:
            os._exit(ENDED_BY[number])  # what has begun to start cannot always be stopped in order
        signal.signal(signal.SIGALRM, self._cut_off)
        signal.alarm(_STOP_S)
        self._schedule_shutdown(number)

    def _cut_off(self, *_: object) -> None:
        self._hooks.log.warning(Line.CUT_OFF, code=0)
        os._exit(0)

    def _crash(self, reason: BaseException) -> None:
        """End the process; called for the root of all services, in the thread of any of them."""
        if not self.told:
            self._hooks.lost(reason)
