"""One thread at a time, virtual time, and every delay drawn from a seed.

The event loop's clock moves only when nothing is left to do at an instant. What Tocsin calls in
threads of its own (the ledger, counting) runs on a *strand*: a thread that has the floor alone and
hands it back wherever the world may take time, so that what happens in which order follows from the
seed. Within a process the order of asyncio stands; how long the world takes is what is drawn.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

EPOCH_MS = 1_700_000_000_000
"""What the world's clock shows at the start, in milliseconds since 1970: a multiple of 10 s."""


class Killed(BaseException):
    """The process is dead: nothing of it goes on, and nothing may catch this."""


@dataclass(eq=False)
class Process:
    """A process of the simulated world, which may be killed at any point.

    Args:
        name: for traces.
        fuse: how many points it lives for; ``None`` for ever.
        ahead_ms: how far its wall clock is ahead of the world's.
    """

    name: str
    fuse: int | None = None
    ahead_ms: int = 0
    dead: bool = False
    ended: BaseException | int | None = None
    """What it ended with by itself: an error of its start, or an exit code."""
    points: int = 0
    tasks: dict[asyncio.Task[Any], None] = field(default_factory=dict)
    waits: dict[_Wait, None] = field(default_factory=dict)
    buried: list[Callable[[], None]] = field(default_factory=list)
    """Called once it is dead: what the world does for the dead, as expiring their sessions."""


WORLD = Process("world")
"""What is no process: sensors, faults, and the world's own view of files."""
PROCESS = ContextVar("process", default=WORLD)
"""Who is running."""


@dataclass(slots=True)
class Weather:
    """What may go wrong now: probabilities, how slow all is, and whether nobody reaches Kafka.

    Args:
        slowest_s: the longest that anything takes.
        away: no request to the brokers is answered.
        lost: of a record, that it is not appended and its sender is told so.
        unanswered: of a record, that it is appended and its sender is told that it was not.
        refused: of another request, that it fails.
        flying: of a record whose sender dies, that it arrives all the same.
        lost_bells: of a worker's word to another.
        unreachable: of a transaction, that it cannot begin.
        cut: of a commit, that the connection is cut before it.
        unsure: of a commit, that the connection is cut after it.
        unlocked: of a lock that another holds, that it is handed out all the same, as where a
            server drops a session.
    """

    slowest_s: float = 0.02
    away: bool = False
    lost: float = 0.0
    unanswered: float = 0.0
    refused: float = 0.0
    flying: float = 0.5
    lost_bells: float = 0.0
    unreachable: float = 0.0
    cut: float = 0.0
    unsure: float = 0.0
    unlocked: float = 0.0


class _Wait:
    """A strand that waits to be told to go on, once."""

    def __init__(self, strand):
        self._strand = strand
        self._over = False

    def end(self, *_):
        """Let it go on, unless it did; called by the loop."""
        if not self._over:
            self._over = True
            self._strand.resume()


class _Strand(threading.Thread):
    """A thread that runs while the loop's thread waits for it, and waits while that runs."""

    def __init__(self):
        super().__init__(name="strand", daemon=True)
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self.call = bool
        self.start()

    def resume(self):
        """Give it the floor until it hands it back."""
        self._go.release()
        self._back.acquire()

    def hand_back(self):
        """Let the loop's thread go on until ``resume``; called by the strand."""
        self._back.release()
        self._go.acquire()

    def run(self):
        """Make one call after the other, each up to its end; none of them raises."""
        self._go.acquire()
        while True:
            self.call()
            _IDLE.append(self)
            self.hand_back()


_IDLE = []


class _Loop(asyncio.BaseEventLoop):
    """An event loop whose clock jumps to the next thing to do."""

    def __init__(self, schedule):
        super().__init__()
        self._schedule = schedule
        self._now_s = 0.0
        self._selector = self
        self._clock_resolution = 1e-9

    def time(self):
        """Return seconds since the world began."""
        return self._now_s

    def select(self, timeout):
        """Let time pass; called where nothing is to do before it has.

        Raises:
            RuntimeError: nothing will ever happen again.
        """
        if timeout is None:
            raise RuntimeError("everybody waits for somebody else")
        self._now_s += timeout
        return []

    def run_in_executor(self, _executor, func, *args):
        """Run a function on a strand."""
        return self._schedule.in_thread(lambda: func(*args))

    def _process_events(self, _events):
        """There are no sockets."""

    def _write_to_self(self):
        """Nobody calls from a thread that the loop does not wait for."""


class Schedule:
    """Who runs when.

    Args:
        seed: everything follows from it.
        trace: told what happens: world time in ms, who, what.
    """

    def __init__(self, seed, trace=None):
        self.random = random.Random(seed)
        self.loop = _Loop(self)
        self.loop.set_exception_handler(lambda *_: None)  # the dead leave errors behind
        self.loop.set_task_factory(self._task)
        self.weather = Weather()
        self.happened = Counter[str]()
        """Faults, by kind."""
        self._trace = trace

    # --- time

    def now_ms(self) -> int:
        """Return the world's clock, in milliseconds since 1970."""
        return EPOCH_MS + round(self.loop.time() * 1000)

    def wall_ms(self) -> int:
        """Return the wall clock of the process that asks."""
        return self.now_ms() + PROCESS.get().ahead_ms

    def delay_s(self) -> float:
        """Draw how long something takes: mostly little."""
        return self.weather.slowest_s * self.random.random() ** 3

    def happens(self, chance: float, kind: str) -> bool:
        """Draw whether a fault happens, and count it."""
        happens = chance > 0 and self.random.random() < chance
        self.happened[kind] += happens
        return happens

    def say(self, what: str) -> None:
        """Tell the trace what happens now."""
        if self._trace is not None:
            self._trace(self.now_ms(), PROCESS.get().name, what)

    # --- points at which a process may be killed, and others may run

    def point(self, name: str) -> None:
        """Be a point of the process that runs: it may end here.

        Raises:
            Killed: it does, or has before.
        """
        process = PROCESS.get()
        if process.dead:
            raise Killed
        process.points += 1
        if process.fuse is not None and process.points >= process.fuse:
            self.happened["crash"] += 1
            self.kill(process, f"crash at {name}")
            raise Killed

    def pause(self, name: str) -> None:
        """On a strand: take time, so that others may run meanwhile.

        Raises:
            Killed: the process ended.
        """
        self.point(name)
        if isinstance(threading.current_thread(), _Strand):
            self._wait(lambda wait: self.loop.call_later(self.delay_s(), wait.end))

    async def network(self, name: str) -> None:
        """In a coroutine: take as long as a request and its answer.

        Raises:
            Killed: the process ended.
        """
        self.point(name)
        await asyncio.sleep(self.delay_s())
        self.point(name)

    def sleep(self, seconds: float) -> None:
        """Stand in for ``time.sleep`` on a strand.

        Raises:
            Killed: the process ended.
        """
        self.point("sleep")
        self._wait(lambda wait: self.loop.call_later(seconds, wait.end))

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Stand in for ``asyncio.run`` on a strand: the world's loop runs it.

        Raises:
            Killed: the process ended.
        """
        task = self.loop.create_task(coroutine)
        self._wait(lambda wait: task.add_done_callback(wait.end))
        return task.result()

    def in_thread(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """Stand in for executors: run a call on a strand, and return what will be its result."""
        future = self.loop.create_future()

        def body():
            try:
                give, found = future.set_result, call()
            except BaseException as error:  # noqa: BLE001  # as an executor does
                give, found = future.set_exception, error
            if not future.cancelled():
                give(found)

        if PROCESS.get().dead:
            body()  # what the system does for the dead, as letting go of locks
        else:
            self.loop.call_later(self.delay_s(), self._on_strand, body)
        return future

    def spawn(self, process: Process, main: Callable[[], Any]) -> None:
        """Start a process: its main function runs on a strand of its own."""

        def body():
            PROCESS.set(process)
            try:
                process.ended = main()
            except Exception as error:  # noqa: BLE001  # an uncaught error ends a process
                process.ended = error
            except Killed:
                return
            self.kill(process, f"ended by itself: {process.ended!r}")

        self._on_strand(body)

    def kill(self, process: Process, why: str) -> None:
        """End a process at once, as kill -9 does: nothing of it has an effect from now on."""
        if not process.dead:
            self.say(f"{process.name}: {why}")
            process.dead = True
            self.loop.call_soon(self._bury, process, context=contextvars.Context())

    def _bury(self, process):
        for wait in list(process.waits):
            wait.end()
        for task in list(process.tasks):
            task.cancel()
        for call in process.buried:
            call()

    def _on_strand(self, body):
        strand = _IDLE.pop() if _IDLE else _Strand()
        context = contextvars.copy_context()  # a thread would begin with an empty one
        strand.call = lambda: context.run(body)
        strand.resume()

    def _wait(self, arrange):
        """Hand back the floor until what is arranged ends the wait, or the process ends."""
        strand, process = threading.current_thread(), PROCESS.get()
        wait = _Wait(strand)
        arrange(wait)
        process.waits[wait] = None
        strand.hand_back()
        process.waits.pop(wait)
        if process.dead:
            raise Killed

    def _task(self, loop, coroutine, context=None):
        task = asyncio.Task(coroutine, loop=loop, context=context)
        tasks = PROCESS.get().tasks
        tasks[task] = None
        task.add_done_callback(tasks.pop)
        return task
