"""Windows over panes are tried as they are released: one draw of a pane, for all that read it.

The same noise goes to the simulation and to replays on a real ledger: of the panes, which are
drawn, and of the alarms, which read them. Answers and losses are the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.units import to_loss_units
from stream.decisions.mechanisms import panes_of, plans_of
from stream.decisions.release import released_alarms
from stream.simulation.history import count_history
from stream.simulation.plays import Played
from stream.simulation.tally import Cells, Tally
from tests.support.paned import alarm, configured, decided, rows
from tests.support.simulated import counted_alarm
from tests.support.streams import OneByOne

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm

ROOMS = ("hall", "lab", "roof")
RUNS = 3


def sliding(name, panes, most, tolerance):
    """Write an alarm of so many minutes, over panes of one."""
    window = f"HOP(ts, INTERVAL '1' MINUTE, INTERVAL '{panes}' MINUTE)"
    return alarm(name, window, f"COUNT(*) > {most}", tolerance=tolerance)


ALARMS = {"short": sliding("short", 3, 20, "2"), "long": sliding("long", 6, 44, "3")}
COMES = np.random.default_rng(5).integers(2, 14, 30).tolist()


@dataclass(frozen=True)
class Scene:
    """Two alarms over the same panes, what they count, and which rooms rang in real replays."""

    alarms: Alarms
    history: Mapping[str, CountedAlarm]
    rang: Mapping[str, NDArray[np.bool_]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Replay run after run on a ledger of its own, each pane drawn once from the run's stream."""
    fired = {name: [] for name in ALARMS}
    for run in range(RUNS):
        folder = tmp_path_factory.mktemp("run")
        alarms = configured(folder, *ALARMS.values(), rooms=ROOMS, until="00:30")
        events = rows(folder, COMES, ROOMS)
        for one in decided(alarms, events, noise=OneByOne(b"run %d" % run)):
            if one.key.query in ALARMS:
                rooms = [group["room"] for _, group in released_alarms(one)]
                fired[one.key.query].append([room in rooms for room in ROOMS])
    history = count_history(alarms, {"doors": [events]})
    shape = RUNS, -1, len(ROOMS)
    rang = {name: np.array(found).reshape(shape) for name, found in fired.items()}
    return Scene(alarms, history, rang)


@pytest.mark.parametrize("name", ALARMS)
def test_answers_and_losses_are_those_of_replays(scene, monkeypatch, name):
    """Of every alarm by itself, so that it draws the panes from the run's stream."""
    query, plain = scene.alarms.by_name[name], Cells.of
    heard = []

    def recorded(fired, *others):
        heard.append(fired)
        return plain(fired, *others)

    monkeypatch.setattr(Cells, "of", recorded)
    played = Played(replace(scene.alarms, by_name={name: query}), scene.history, {})
    replays = [played.replay(OneByOne(b"run %d" % run))[name] for run in range(RUNS)]
    right, tally = scene.rang[name], reduce(iadd, replays, Tally())
    assert np.array_equal(np.stack(heard), right.reshape(RUNS, -1))
    assert 0 < right.mean() < 1
    charged = to_loss_units(plans_of(scene.alarms)[query.panes].epsilon)
    assert dict(tally.losses) == {charged: RUNS}
    counted = scene.history[name]
    true = np.stack([query.condition.truth(each) for each in counted.stacked(0, counted.windows)])
    assert tally.cells.true == RUNS * true.sum() > 0
    assert tally.cells.missed == (true[None] & ~right).sum()
    assert len(tally.replays) == RUNS


def test_windows_with_panes_of_their_own_are_found_out(scene):
    """A broken twin draws every window's panes anew: other answers."""
    query, fresh = scene.alarms.by_name["short"], OneByOne(b"run 0")
    operator, panes = panes_of(query), scene.history[query.panes]
    anew = [
        operator.reached(np.stack([operator.release(each, fresh) for each in counts])) > 0
        for counts in (panes.stacked(at, at + 3) for at in range(panes.windows - 2))
    ]
    assert not np.array_equal(anew, scene.rang["short"][0])


def test_windows_that_lack_a_pane_are_left_out(scene):
    """What the log no longer holds of a pane, it does not hold of its windows."""
    query, whole = scene.alarms.by_name["short"], scene.history["short"]
    counted = scene.history[query.panes]
    held = np.delete(np.arange(counted.windows), 9)
    gone = counted_alarm(counted.stacked(0, counted.windows)[held])
    gone = replace(gone, starts_ms=counted.starts_ms[held])
    alarms = replace(scene.alarms, by_name={"short": query})
    played = Played(alarms, {"short": whole, query.panes: gone}, {})
    assert played.replay(OneByOne(b"one"))["short"].windows == whole.windows - 3
