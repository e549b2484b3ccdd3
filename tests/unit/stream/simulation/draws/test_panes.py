"""Windows over panes are tried as they are released: one draw of a pane, for all that read it.

The same noise goes to the simulation and to replays on a real ledger: of the panes, which are
drawn, and of the alarms, which read them. Answers and losses are the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from accountant.units import to_loss_units
from operators.noise.source import KeyedNoise
from stream.decisions.mechanisms import panes_of, plans_of
from stream.decisions.release import released_alarms
from stream.simulation.draws import panes
from stream.simulation.draws.panes import OverPanes, over_panes, tally_of_panes
from stream.simulation.draws.tally import Tally
from stream.simulation.history import count_history
from tests.support.paned import alarm, configured, decided, rows
from tests.support.simulated import counted_alarm
from tests.support.streams import OneByOne

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm

ROOMS: Final = ("hall", "lab", "roof")
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


def sliding(name: str, panes: int, most: int, tolerance: str) -> str:
    """Write an alarm of so many minutes, over panes of one."""
    window = f"HOP(ts, INTERVAL '1' MINUTE, INTERVAL '{panes}' MINUTE)"
    return alarm(name, window, f"COUNT(*) > {most}", tolerance=tolerance)


ALARMS: Final = {"short": sliding("short", 3, 20, "2"), "long": sliding("long", 6, 44, "3")}
COMES: Final = np.random.default_rng(5).integers(2, 14, 30).tolist()


@dataclass(frozen=True)
class Scene:
    """Two alarms over the same panes, what they count, and which rooms rang in real replays."""

    alarms: Alarms
    history: Mapping[str, CountedAlarm]
    rang: Mapping[str, NDArray[np.bool_]]

    def over(self, name: str) -> OverPanes:
        """Return an alarm's windows."""
        query = self.alarms.by_name[name]
        return over_panes(query, self.history[name], self.history[query.panes])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Replay run after run on a ledger of its own, each pane drawn once from the run's stream."""
    rang: dict[str, list[list[list[bool]]]] = {name: [] for name in ALARMS}
    for run in range(RUNS):
        folder = tmp_path_factory.mktemp("run")
        alarms = configured(folder, *ALARMS.values(), rooms=ROOMS, until="00:30")
        events = rows(folder, COMES, ROOMS)
        decisions = decided(alarms, events, noise=OneByOne(b"run %d" % run))
        fired = [(one, [group["room"] for _, group in released_alarms(one)]) for one in decisions]
        for name, found in rang.items():
            found.append(
                [[at in rooms for at in ROOMS] for one, rooms in fired if one.key.query == name]
            )
    history = count_history(alarms, {"doors": [events]})
    return Scene(alarms, history, {name: np.array(found) for name, found in rang.items()})


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


def tried(scene: Scene, name: str, patch: pytest.MonkeyPatch) -> tuple[Tally, NDArray[np.bool_]]:
    """Try an alarm out; return its tally, and its answers run by run."""
    query = scene.alarms.by_name[name]
    operator = panes_of(query)
    Recorded.heard.clear()
    patch.setattr(panes, "Tally", Recorded)
    over = scene.over(name)
    tally = tally_of_panes(operator, query.condition, query.aim, over, InTurn(), runs=RUNS)
    return tally, np.stack([np.concatenate(Recorded.heard[run::RUNS]) for run in range(RUNS)])


@pytest.mark.parametrize("name", ALARMS)
@pytest.mark.parametrize("entries", [3, 21, 1 << 20])
def test_answers_and_losses_are_those_of_replays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str, entries: int
) -> None:
    """However many panes are drawn at once: one, seven, or all of them."""
    monkeypatch.setattr(panes, "_ENTRIES", entries)
    tally, heard = tried(scene, name, monkeypatch)
    right, query, over = scene.rang[name], scene.alarms.by_name[name], scene.over(name)
    assert np.array_equal(heard, right)
    assert 0 < right.mean() < 1
    charged = to_loss_units(plans_of(scene.alarms)[query.panes].epsilon)
    assert dict(tally.losses) == {charged: RUNS}
    sums = [over.counted.stacked(rows.start, rows.stop).sum(axis=0) for rows in over.windows]
    true = np.stack([query.condition.truth(each) for each in sums])
    assert tally.true == RUNS * true.sum() > 0
    assert tally.missed == (true[None] & ~right).sum()
    assert tally.missed_spread.runs == RUNS


def test_windows_with_panes_of_their_own_are_found_out(scene: Scene) -> None:
    """A broken twin draws every window's panes anew: other answers."""
    operator, over, fresh = (
        panes_of(scene.alarms.by_name["short"]),
        scene.over("short"),
        OneByOne(b"run 0"),
    )
    anew = [
        operator.reached(np.stack([operator.release(each, fresh) for each in counts])) > 0
        for counts in (over.counted.stacked(rows.start, rows.stop) for rows in over.windows)
    ]
    assert not np.array_equal(anew, scene.rang["short"][0])


def test_windows_that_lack_a_pane_are_left_out(scene: Scene) -> None:
    """What the log no longer holds of a pane, it does not hold of its windows."""
    query, whole = scene.alarms.by_name["short"], scene.history["short"]
    counted = scene.history[query.panes]
    held = np.delete(np.arange(counted.windows), 9)
    gone = counted_alarm(counted.stacked(0, counted.windows)[held])
    gone = replace(gone, starts_ms=counted.starts_ms[held])
    found = over_panes(query, whole, gone)
    assert len(found.windows) == whole.windows - 3
    starts = [gone.starts_ms[rows.start : rows.stop] for rows in found.windows]
    assert all(np.diff(each).tolist() == [60_000] * 2 for each in starts)
