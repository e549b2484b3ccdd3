"""Two workers, started again whenever one ends as an orchestrator does, and how each ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tests.soak.loops import Loop
from tests.soak.worker import set_clock
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

WORKERS = 2
_AGAIN_S = 1.0
_LOOK_S = 0.1
_TOLD = 4_000  # characters of a log's end that are kept with an exit


@dataclass(frozen=True, slots=True)
class Life:
    """One process of one of the two workers."""

    worker: int
    pid: int
    began_ms: int
    log: Path
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended.

    Args:
        worker: which of the two.
        pid: of the process.
        began_ms: when it was started.
        ended_ms: when it was found ended.
        code: its exit code; minus the signal where it was killed.
        ours: whether the soak ended it.
        told: the end of what it printed.
    """

    worker: int
    pid: int
    began_ms: int
    ended_ms: int
    code: int
    ours: bool
    told: str


class WorkerPool(Loop):
    """The workers, from entering the context to leaving it.

    Args:
        config: the configuration they run.
        folder: where logs, clocks and the list of exits go.
    """

    def __init__(self, config, folder):
        super().__init__("pool", self._look_after, every_s=_LOOK_S)
        self._config = config
        self._folder = folder
        self._lock = threading.RLock()
        self._lives = {}
        self._ours = set()
        self._wanted = True
        self._again_s = [0.0] * WORKERS
        self._numbers = [0] * WORKERS
        self.ends = []
        for worker in range(WORKERS):
            set_clock(self._clock(worker), 0)

    def __exit__(self, *_):
        """Kill whatever still runs."""
        self.kill_all()
        super().__exit__()
        self._look_after()

    def start(self) -> None:
        """Want both of them running."""
        self._wanted = True

    def kill_all(self) -> None:
        """Kill both, and start none until :meth:`start`."""
        self._wanted = False
        for worker in range(WORKERS):
            self.kill(worker)

    def kill(self, worker: int) -> None:
        """Kill one with SIGKILL; the supervision starts it again."""
        self._end(worker, signal.SIGKILL)

    def stop_all(self) -> list[str]:
        """Ask both to end with SIGTERM; kill, and name, those that never do."""
        self._wanted = False
        for worker in range(WORKERS):
            self._end(worker, signal.SIGTERM)
        try:
            wait_until("the workers end when they are told to", lambda: not self.lives())
        except AssertionError as error:
            return [f"{error}: {life.log.name}" for life in self.lives()]
        finally:
            self.kill_all()
        return []

    def set_clock(self, worker: int, ahead_ms: int) -> None:
        """Set one's wall clock ahead (or behind, where negative) of the machine's, at once."""
        set_clock(self._clock(worker), ahead_ms)

    def lives(self) -> list[Life]:
        """Return the processes that run."""
        with self._lock:
            return [life for life in self._lives.values() if life.process.poll() is None]

    def _clock(self, worker):
        return self._folder / f"clock-{worker}"

    def _end(self, worker, number):
        with self._lock:
            life = self._lives.get(worker)
            if life is not None and life.process.poll() is None:
                self._ours.add(life.pid)
                life.process.send_signal(number)
        if life is not None and number == signal.SIGKILL:
            life.process.wait()

    def _look_after(self):
        """Note which ended, and start again those that are wanted."""
        for worker in range(WORKERS):
            with self._lock:
                life = self._lives.get(worker)
                now_s = time.monotonic()
                if life is not None and life.process.poll() is not None:
                    self._note(life)
                    del self._lives[worker]
                    self._again_s[worker] = now_s + _AGAIN_S
                elif life is None and self._wanted and now_s >= self._again_s[worker]:
                    self._lives[worker] = self._begin(worker)

    def _begin(self, worker):
        log = self._folder / f"worker-{worker}-{self._numbers[worker]}.log"
        self._numbers[worker] += 1
        with log.open("wb") as opened:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.soak.worker", self._clock(worker)),
                    *("run", self._config),
                ],
                stdin=subprocess.PIPE,  # it ends when this end closes
                stdout=opened,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        return Life(worker, process.pid, _now_ms(), log, process)

    def _note(self, life):
        life.process.stdin.close()
        text = life.log.read_text(errors="replace")
        end = End(
            worker=life.worker,
            pid=life.pid,
            began_ms=life.began_ms,
            ended_ms=_now_ms(),
            code=life.process.returncode,
            ours=life.pid in self._ours,
            told=text[-_TOLD:],
        )
        self.ends.append(end)
        with (self._folder / "ends.jsonl").open("a") as opened:
            opened.write(f"{json.dumps(asdict(end))}\n")


def _now_ms():
    return time.time_ns() // 1_000_000
