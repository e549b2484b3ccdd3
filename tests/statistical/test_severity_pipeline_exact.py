"""Alarms with severity levels through the whole pipeline: the exact law of neighbouring logs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.units import from_loss_units
from operators.noise.certified import exp_neg_bounds
from operators.single import severity
from stream.config.alarms import builder
from stream.decisions.records import encode
from stream.decisions.release import alarm_records
from tests.statistical.test_severity_exact import masses, worst
from tests.support.ledgers import must_verify, only_scope
from tests.support.paned import alarm, configured, opened, replayed, rows

ROOMS = ("hall", "lab", "attic")
LEVELS = "2\n    severity: {warning: 3, critical: {threshold: 8, max_fnr: 0.01}}"
COUNTS = (4, 0, 9)
USER = (
    "privacy_unit: user, period: 1d,"
    " contribution: {max_groups_per_window: 2, max_events_per_group: 3, max_windows_per_period: 2}"
)


def written(mechanism="tslm"):
    """Return an alarm with two levels, of a window a minute."""
    window = "TUMBLE(ts, INTERVAL '1' MINUTE)"
    return alarm("full", window, "COUNT(*) > SEVERITY", tolerance=LEVELS, mechanism=mechanism)


def laws(folder, monkeypatch, unit, person, times):
    """Return the exact law of every cell of every window, what one cost, and all that was spent."""
    alarms = configured(folder, written(), rooms=ROOMS, unit=unit)
    found = []
    drawn = severity._Curves.reached

    def recorded(self, steps, noise):
        found.append(self.cuts(steps))
        return drawn(self, steps, noise)

    with opened(alarms) as ledger, monkeypatch.context() as patched:
        patched.setattr(severity._Curves, "reached", recorded)
        events = rows(folder, COUNTS, ROOMS, person=person, times=times)
        decisions = list(replayed(alarms, ledger, events))
        must_verify(ledger)
        scope = only_scope(ledger)
    (units,) = {one.epsilon_units for one in decisions}
    cells = [each for cuts in found for each in masses(cuts)]
    return cells, from_loss_units(units), scope.spent_units


def moved(there, absent):
    """Return the largest ratio of an outcome of a cell, and how many cells have another law."""
    pairs = [pair for pair in zip(there, absent, strict=True) if pair[0] != pair[1]]
    return worst(pairs), len(pairs)


@pytest.mark.parametrize(
    ("unit", "come", "touched"),
    [
        # One event in each of three rooms, each of them a neighbour.
        ("privacy_unit: event", ((0,), 1), 3),
        (USER, ((0, 1, 2), 5), 4),  # two rooms of two windows, of all that she is in
        (USER, ((2,), 2), 2),
    ],
)
def test_neighbours_lose_what_the_ledger_charges(tmp_path, monkeypatch, unit, come, touched):
    """Every cell that a person reaches moves by one step at most, and no more cells than paid."""
    there, cost, spent = laws(tmp_path / "there", monkeypatch, unit, *come)
    absent, *_ = laws(tmp_path / "absent", monkeypatch, unit, (), 1)
    ratio, cells = moved(there, absent)
    assert ratio <= Fraction(1 << 200, exp_neg_bounds(cost, 200)[1])
    assert cells == touched
    if unit is USER:
        assert cells * cost <= from_loss_units(spent)


def test_a_grid_without_the_cap_of_events_is_caught(tmp_path, monkeypatch):
    """Also a count moves by as many as a person may add to a cell."""
    assembled = builder.assemble
    monkeypatch.setattr(
        builder, "assemble", lambda *given, **named: assembled(*given, **named | {"cap": 1})
    )
    there, cost, _ = laws(tmp_path / "there", monkeypatch, USER, (0, 1, 2), 5)
    absent, *_ = laws(tmp_path / "absent", monkeypatch, USER, (), 1)
    assert moved(there, absent)[0] > Fraction(1 << 200, exp_neg_bounds(2 * cost, 200)[1])


@pytest.mark.parametrize("mechanism", ["tslm", "panes"])
def test_alarms_say_the_highest_level_that_fires(tmp_path, mechanism):
    """One record for a cell and window, with that level's own promise."""
    alarms = configured(tmp_path, written(mechanism), rooms=ROOMS, until="00:04")
    with opened(alarms) as ledger:
        decisions = list(replayed(alarms, ledger, rows(tmp_path, (40, 0, 6, 7), ROOMS)))
    query = alarms.by_name["full"]
    found = [one for each in decisions for one in alarm_records(query, each)]
    assert all(b'"severity":' in encode(one) for one in found)
    assert {(one.severity, one.max_fnr) for one in found} <= {("warning", 0.05), ("critical", 0.01)}
    first = {one.group["room"]: one.severity for one in found if "00:00:00" in one.window_start}
    assert first == dict.fromkeys(ROOMS, "critical")
    assert len({one.alarm_id for one in found}) == len(found)
