"""Windows over panes are tried as they are released: one draw of a pane, for all that read it.

The same noise goes to the simulation and to the operators that decide on a ledger: of the panes,
which draws, and of the alarm, which reads. Answers and losses are the same, bit for bit.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from accountant.units import to_loss_units
from operators.noise.source import KeyedNoise
from stream.decisions.mechanisms import panes_of, plans_of
from stream.simulation.draws import panes
from stream.simulation.draws.panes import OverPanes, over_panes, tally_of_panes
from stream.simulation.draws.tally import Tally
from stream.simulation.history import count_history
from tests.support.paned import alarm, configured, opened, replayed, rows
from tests.support.simulated import counted_alarm
from tests.support.streams import OneByOne

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.model.alarms import Alarms

ROOMS: Final = ("hall", "lab", "roof")
PANES: Final = 30
RUNS: Final = 3


class Recorded(Tally):
    """Keeps the answers that were counted."""

    heard: Final[list[NDArray[np.bool_]]] = []

    def count(
        self, fired: NDArray[np.bool_], *, true: NDArray[np.bool_], granted: NDArray[np.bool_]
    ) -> None:
        """Count, and note."""
        self.heard.append(fired.copy())
        super().count(fired, true=true, granted=granted)


def two_alarms(folder: Path) -> Alarms:
    """Return alarms of three and of six seconds over the same seconds."""
    return configured(
        folder,
        alarm("short", "HOP(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)", "COUNT(*) > 20"),
        alarm(
            "long", "HOP(ts, INTERVAL '1' SECOND, INTERVAL '6' SECOND)", "COUNT(*) > 44",
            tolerance="3",
        ),
        rooms=ROOMS,
    )  # fmt: skip


def counts() -> NDArray[np.int64]:
    """Return what panes count, shape (panes, 1, rooms)."""
    return np.random.default_rng(5).integers(2, 14, (PANES, 1, len(ROOMS)), dtype=np.int64)


def sliding(length: int) -> OverPanes:
    """Return all windows of so many panes."""
    windows = tuple(range(at, at + length) for at in range(PANES - length + 1))
    return OverPanes(counted_alarm(counts()), windows)


def released(alarms: Alarms, name: str, over: OverPanes) -> NDArray[np.bool_]:
    """Decide all windows as a worker does, run after run, each pane drawn once."""
    query = alarms.by_name[name]
    drawing, reading = panes_of(alarms.panes[query.panes]), panes_of(query)
    assert drawing is not None
    assert reading is not None
    found = []
    for run in range(RUNS):
        noise = OneByOne(b"run %d" % run)
        noisy = np.stack([drawing.release(each, noise) for each in counts()])
        found.append(
            np.stack([reading.reached(noisy[rows.start : rows.stop]) > 0 for rows in over.windows])
        )
    return np.stack(found)


class InTurn(KeyedNoise):
    """Hands every run its own stream, whatever the order in which runs draw."""

    def __init__(self) -> None:
        """Begin with the first run."""
        super().__init__(b"unused")
        self.streams = [OneByOne(b"run %d" % run) for run in range(RUNS)]
        self.asked = 0

    def discrete_laplace(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Draw for the next run."""
        self.asked += 1
        return self.streams[(self.asked - 1) % RUNS].discrete_laplace(t, n)


def tried(alarms: Alarms, name: str, over: OverPanes, patch: pytest.MonkeyPatch) -> Tally:
    """Try an alarm out, its answers noted."""
    query = alarms.by_name[name]
    operator = panes_of(query)
    assert operator is not None
    Recorded.heard.clear()
    patch.setattr(panes, "Tally", Recorded)
    return tally_of_panes(operator, query.condition, query.aim, over, InTurn(), runs=RUNS)


def by_run(heard: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return the answers of every run, stretches put together."""
    return np.stack([np.concatenate(heard[run::RUNS]) for run in range(RUNS)])


@pytest.mark.parametrize(("name", "length"), [("short", 3), ("long", 6)])
@pytest.mark.parametrize("entries", [3, 21, 1 << 20])
def test_answers_and_losses_are_those_of_released_panes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, length: int, entries: int
) -> None:
    """However many panes are drawn at once: one, seven, or all of them."""
    monkeypatch.setattr(panes, "_ENTRIES", entries)
    alarms, over = two_alarms(tmp_path), sliding(length)
    tally = tried(alarms, name, over, monkeypatch)
    right = released(alarms, name, over)
    assert np.array_equal(by_run(Recorded.heard), right)
    assert 0 < right.mean() < 1
    query = alarms.by_name[name]
    charged = to_loss_units(plans_of(alarms)[query.panes].epsilon)
    assert dict(tally.losses) == {charged: RUNS}
    sums = np.stack([counts()[rows.start : rows.stop].sum(axis=0) for rows in over.windows])
    true = np.stack([query.condition.truth(each) for each in sums])
    assert tally.true == RUNS * true.sum() > 0
    assert tally.missed == (true[None] & ~right).sum()
    assert tally.missed_spread.runs == RUNS


def test_windows_with_panes_of_their_own_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin draws every window's panes anew: other answers."""
    alarms, over = two_alarms(tmp_path), sliding(3)
    right = released(alarms, "short", over)
    tried(alarms, "short", over, monkeypatch)
    assert np.array_equal(by_run(Recorded.heard), right)
    operator = panes_of(alarms.by_name["short"])
    assert operator is not None
    fresh = OneByOne(b"run 0")
    anew = np.stack(
        [
            operator.reached(
                np.stack(
                    [operator.release(each, fresh) for each in counts()[rows.start : rows.stop]]
                )
            )
            > 0
            for rows in over.windows
        ]
    )
    assert not np.array_equal(anew, right[0])


def test_a_replay_rings_where_the_simulation_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the files on, with the same noise: a real ledger, and history that is only counted."""
    written = alarm("crowd", "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)", "COUNT(*) > 20")
    alarms = configured(tmp_path, written, until="00:16")
    events = rows(tmp_path, np.random.default_rng(8).integers(2, 14, 16).tolist())
    with closing(opened(alarms)) as ledger:
        decisions = list(replayed(alarms, ledger, events, noise=OneByOne(b"run 0")))
    rang = [each.alarm_count > 0 for each in decisions if each.key.query == "crowd"]
    counted = count_history(alarms, {"doors": [events]})
    query = alarms.by_name["crowd"]
    over = over_panes(query, counted["crowd"], counted[query.panes])
    tried(alarms, "crowd", over, monkeypatch)
    assert by_run(Recorded.heard)[0, :, 0].tolist() == rang
    assert set(rang) == {True, False}


def test_windows_that_lack_a_pane_are_left_out(tmp_path: Path) -> None:
    """What the log no longer holds of a pane, it does not hold of its windows."""
    query = two_alarms(tmp_path).by_name["short"]
    whole = counted_alarm(counts())
    starts = np.arange(PANES, dtype=np.int64) * 1_000
    held = np.delete(np.arange(PANES), 9)
    gone = counted_alarm(counts()[held])
    object.__setattr__(whole, "starts_ms", starts[:-2])
    object.__setattr__(gone, "starts_ms", starts[held])
    found = over_panes(query, whole, gone)
    assert len(found.windows) == PANES - 2 - 3
    assert {len(each) for each in found.windows} == {3}
    seconds = [np.diff(gone.starts_ms[rows.start : rows.stop]) for rows in found.windows]
    assert all((each == 1_000).all() for each in seconds)
