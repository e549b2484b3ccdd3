"""A run of sparse-vector questions as pure state: asked, stored, read back and asked on.

All questions of a run share one noisy threshold; a question rings where its noisy step count
reaches it, and the run is spent after so many alarms. What is between two alarms is negative, so
a whole window is drawn at once and its first alarms are picked out in the order of asking.
Proof: ``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from accountant.arguments import INTEGERS, WHOLE, expect, instance_of
from accountant.errors import ArgumentError
from operators.conditions.atoms import freeze
from operators.noise.source import SOURCE
from operators.single.stored import read_state
from operators.svt.terms import SvtPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["RunDecision", "RunState", "ask", "open_run"]

_VERSION: Final = 1
_FARTHEST: Final = 1 << 60  # three of them still add up within int64
_WINDOW, _CELL, _STEPS, _ASKED = range(4)  # columns of a queue


@dataclass(frozen=True, slots=True, eq=False)
class RunState:
    """Where a run stands. PRIVATE: who knows it and the answers learns exact counts.

    Args:
        threshold_noise: rho, never drawn again.
        left: alarms that the run has left; 0: it is spent.
        rung: alarms so far.
        opened_for: loss units that rho was drawn for: no run on other terms goes on with it.
        queue: shape (entries, 4), int64: window, cell, step count and questions asked so far of
            cells to be asked again; made read-only.

    Raises:
        ValueError: negative numbers of alarms, or a queue of another shape.
    """

    threshold_noise: int = field(repr=False)
    left: int
    rung: int
    opened_for: int
    queue: NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 4), dtype=np.int64), repr=False
    )

    def __post_init__(self) -> None:
        """Check the parts and freeze the queue."""
        if self.left < 0 or self.rung < 0:
            raise ArgumentError("`left` or `rung` is negative")
        if self.queue.ndim != 2 or self.queue.shape[1] != 4 or self.queue.dtype != np.int64:
            raise ArgumentError("a queue has four int64 columns")
        freeze(self, "queue")

    def __eq__(self, other: object) -> bool:
        """Compare by value."""
        return isinstance(other, RunState) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        """Hash by value."""
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the state for the ledger; equal states have equal bytes."""
        return msgspec.msgpack.encode(
            _Stored(
                version=_VERSION,
                threshold_noise=self.threshold_noise,
                left=self.left,
                rung=self.rung,
                opened_for=self.opened_for,
                queue=self.queue.astype("<i8", copy=False).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, stored: bytes) -> RunState:
        """Return the state that was stored.

        Raises:
            LedgerCorruptError: these bytes are no state of a known version.
        """
        return read_state(stored, _Stored, _VERSION, cls._read, what="a run")

    @classmethod
    def _read(cls, read: _Stored) -> RunState:
        queue = np.frombuffer(read.queue, dtype="<i8").reshape(-1, 4).astype(np.int64)
        return cls(read.threshold_noise, read.left, read.rung, read.opened_for, queue)


@dataclass(frozen=True, slots=True, eq=False)
class RunDecision:
    """The answers of one window, and where the run stands after them.

    Args:
        fired: shape (cells,), bool: which cells ring.
        answered: shape (cells,), bool: which cells were asked at all before the run was spent, or
            are held. May be published: it follows from the answers and an order that knows no data.
        late: window and cell of alarms of earlier windows, put back and asked again now.
        state: to be stored before any of the answers leaves.
    """

    fired: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    late: tuple[tuple[int, int], ...]
    state: RunState

    @property
    def rung(self) -> int:
        """Alarms among these answers, those of earlier windows included."""
        return int(np.count_nonzero(self.fired)) + len(self.late)


class _Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: int
    threshold_noise: int
    left: int
    rung: int
    opened_for: int
    queue: bytes


def open_run(plan: SvtPlan, noise: NoiseSource) -> RunState:
    """Open a run: draw its threshold's noise.

    Args:
        plan: the terms.
        noise: the cryptographic source.
    """
    expect(instance_of(SvtPlan), plan=plan)
    expect(SOURCE, noise=noise)
    return RunState(_threshold(plan, noise), plan.alarms, 0, plan.open_units)


def ask(
    plan: SvtPlan,
    state: RunState,
    steps: NDArray[np.int64],
    noise: NoiseSource,
    *,
    window: int = 0,
    held: NDArray[np.bool_] | None = None,
    draw: Callable[[int], NDArray[np.int64]] | None = None,
) -> RunDecision:
    """Ask every cell of one window, in random order, until the run is spent.

    Negative cells are asked again, up to ``plan.questions`` times in all: in rounds, each in random
    order, or among the questions of the next window (``plan.put_back``).

    Guarantee: that of ``plan``, over all calls that go on from each other's states. A state goes on
    once: two calls from one state whose answers both leave would pay twice for what was charged
    once. Equal states and equal noise give equal answers.

    Args:
        plan: the terms; the same in all calls of a run.
        state: where the run stands.
        steps: shape (cells,), int64: step counts (``IntegerTest.quantise``).
        noise: the cryptographic source.
        window: what names this window in ``RunDecision.late``.
        held: shape (cells,), bool: those of this window that are not asked, now or later; what was
            put back of earlier ones is asked as ever.
        draw: draws so many noises of questions, for experiments; None: the plan's geometric.

    Raises:
        ValueError: a state that is no state of such a run, or step counts of another shape or type.
    """
    expect(INTEGERS, steps=steps)
    expect(SOURCE, noise=noise)
    expect(instance_of(SvtPlan), plan=plan)
    expect(instance_of(RunState), state=state)
    expect(WHOLE, window=window)
    if steps.ndim != 1 or steps.dtype != np.int64:
        raise ArgumentError(
            "step counts are one-dimensional int64, one per cell",
            hint="write IntegerTest.quantise(statistics)",
        )
    fits = state.left + state.rung == plan.alarms and state.opened_for == plan.open_units
    if not fits or (state.queue.size and not plan.put_back):
        raise ArgumentError("this state belongs to a run on other terms")
    old = state.queue
    cells = np.arange(steps.size) if held is None else np.flatnonzero(~held)
    pool = np.concatenate([old[:, _STEPS], np.clip(steps[cells], -_FARTHEST, _FARTHEST)])
    run = _Asking(plan, noise, draw or partial(noise.geometric, plan.query_rate), state)
    fired, answered = run.ask(pool)
    queue = old[:0]
    if plan.put_back and run.left:
        queue = _put_back(plan, old, pool, fired, window=window, cells=cells)
    ahead = len(old)
    late = old[fired[:ahead]][:, [_WINDOW, _CELL]]
    rang = np.zeros(steps.size, dtype=np.bool_)
    told = ~rang
    rang[cells], told[cells] = fired[ahead:], answered[ahead:]
    return RunDecision(
        fired=rang,
        answered=told,
        late=tuple((int(of), int(cell)) for of, cell in late),
        state=RunState(run.threshold, run.left, plan.alarms - run.left, plan.open_units, queue),
    )


class _Asking:
    """The questions of one call."""

    def __init__(
        self,
        plan: SvtPlan,
        noise: NoiseSource,
        draw: Callable[[int], NDArray[np.int64]],
        state: RunState,
    ) -> None:
        self._plan, self._noise, self._draw = plan, noise, draw
        self.threshold, self.left = state.threshold_noise, state.left

    def ask(self, steps: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Ask all rounds; return which rang and which were asked."""
        fired = np.zeros(steps.size, dtype=np.bool_)
        answered = np.zeros(steps.size, dtype=np.bool_)
        everywhere = np.arange(steps.size)
        for at in range(1 if self._plan.put_back else self._plan.questions):
            places = np.flatnonzero(~fired) if at else everywhere
            if not self.left or not places.size:
                break
            values = steps[places] if at else steps
            rang, asked = self._round(values)
            fired[places[rang]] = True
            answered[places[asked]] = True
        return fired, answered

    def _round(self, steps: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Ask each once in random order; return the places that rang and which were asked.

        Every question's noise is drawn beforehand, also of those that the end of the run leaves
        unasked: they are forgotten with nothing read.
        """
        noisy = self._draw(steps.size)
        noisy += steps
        hits = np.flatnonzero(noisy >= self.threshold + self._plan.correction)
        asked = np.ones(steps.size, dtype=np.bool_)
        if hits.size >= self.left:
            # The order matters now: by a random key, then by place, and up to the last alarm.
            keys = self._noise.uint64(steps.size)
            latest = np.partition(keys[hits], self.left - 1)[self.left - 1]
            hits = hits[keys[hits] <= latest]
            hits = hits[np.argsort(keys[hits], kind="stable")][: self.left]
            last = hits[-1]
            asked = keys < keys[last]
            tied = np.flatnonzero(keys == keys[last])
            asked[tied[tied <= last]] = True
        self.left -= hits.size
        return hits, asked


def _threshold(plan: SvtPlan, noise: NoiseSource) -> int:
    draw = noise.geometric if plan.one_sided else noise.discrete_laplace
    drawn = int(draw(plan.threshold_rate, 1)[0])
    # At the least rate there is, noise lies out there with probability exp(-2^19).
    return max(-_FARTHEST, min(_FARTHEST, drawn))


def _put_back(
    plan: SvtPlan,
    old: NDArray[np.int64],
    pool: NDArray[np.int64],
    fired: NDArray[np.bool_],
    *,
    window: int,
    cells: NDArray[np.intp],
) -> NDArray[np.int64]:
    """Return who is asked again with the next window; all of the pool were asked once more."""
    ahead = len(old)
    entries = np.empty((pool.size, 4), dtype=np.int64)
    entries[:ahead] = old
    entries[ahead:, _WINDOW] = window
    entries[ahead:, _CELL] = cells
    entries[ahead:, _STEPS] = pool[ahead:]
    entries[ahead:, _ASKED] = 0
    entries[:, _ASKED] += 1
    return entries[~fired & (entries[:, _ASKED] < plan.questions)]
