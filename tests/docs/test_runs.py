"""What the page on runs says is what the operators and the planner say."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from accountant.units import to_loss_units
from operators.conditions.condition import Aim
from operators.registry import price
from operators.svt import Svt
from stream.config.loading import load
from stream.planning.budget import budget_plan
from tests.support.commands import tocsin
from tests.support.svt import condition
from tests.support.tree import ROOT, blocks

PAGE = ROOT / "docs" / "research" / "svt-runs.md"
TEXT = PAGE.read_text()
(EXAMPLE,) = blocks(TEXT, "yaml")


def rows_of(name):
    """Return the rows of a marked table: two cells, and the rest."""
    block = TEXT.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    return re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| (.*) \|$", block, flags=re.MULTILINE)


ROWS = rows_of("prices")


def aim(tolerance, max_fpr, alarms=10):
    """Return an aim that misses at most one alarm in twenty."""
    return Aim(Fraction(1, 20), (tolerance,), max_fpr, alarms=alarms)


def cost(mechanism, wanted, *, monotone=True):
    """Return what a mechanism reserves for the condition."""
    return price(mechanism, condition(1, monotone=monotone), wanted).epsilon


def test_the_example_is_sound_and_fits(tmp_path):
    """It passes `tocsin check` without a warning, and a day costs what is said."""
    path = tmp_path / "alarms.yaml"
    path.write_text(EXAMPLE)
    checked = tocsin("check", path, code=0)
    assert "warning" not in checked.output
    alarms = load(path, environ={})
    (plan,) = budget_plan(alarms).scopes
    (query,) = alarms.by_name.values()
    run = price("svt", query.condition, query.aim).epsilon
    once = price("tslm", query.condition, replace(query.aim, first_tolerances=())).epsilon
    assert plan.worst_units == to_loss_units(run)
    assert plan.fits
    assert f"at most {float(run):.3f}," in TEXT
    assert f"take {float(once):.3f} a window and room: {float(3 * 1440 * once):.1f} " in TEXT


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_prices(row):
    """Runs cost what the table says: less than a window more than they have alarms, by 29 %."""
    tolerance, max_fpr = int(row[0]), Fraction(row[1])
    once = cost("tslm", aim(tolerance, max_fpr))
    shown = [f"{float(once):.3f}"]
    for alarms in (3, 10, 50):
        run = cost("svt", aim(tolerance, max_fpr, alarms))
        shown += [f"{float(run):.3f}", f"{float(run / once):.1f}"]
        assert Fraction(71, 100) < run / once / (alarms + 1) < 1
    assert row[2].split(" | ") == shown


@pytest.mark.parametrize("row", rows_of("silence"), ids=lambda row: row[0])
def test_what_a_bound_on_silence_costs(row):
    """Runs of ten alarms cost what the table says, and miss as often where nothing is written."""
    asked = int(row[0].replace(",", ""))
    free = replace(aim(20, Fraction(1, 20)), asked_in_silence=asked)
    run = Svt.planned(condition(1), free)
    assert row[1] == f"{float(run.plan.epsilon):.3f}"
    shown = [f"{run.missed_in_silence(asked, beyond=True):.3f}"]
    for limit in ("0.5", "0.1", "0.06"):
        bounded = replace(free, max_fnr_in_silence=Fraction(limit))
        shown.append(f"{float(cost('svt', bounded)):.3f}")
    assert row[2].split(" | ") == shown


def test_what_is_said_of_silence():
    """What the example's rate says, how long 0.1 holds anyway, and what neighbours leave."""
    quiet = Svt.planned(condition(1), aim(20, Fraction(1, 100_000)))
    assert f"at 0.00001 the figure is {quiet.missed_in_silence(4_319, beyond=True):.3f}," in TEXT
    baseline = Svt.planned(condition(1), aim(20, Fraction(1, 20)))
    most = next(n for n in range(99) if baseline.missed_in_silence(n, beyond=True) > 0.1) - 1
    assert (most + 1, 1_440 // 8) == (3 * 8, 180)
    assert f"0.1 holds for {most + 1} such queries, eight windows" in TEXT
    for run in (quiet, baseline):
        assert run.missed_in_silence(2) > 0.5


def test_a_run_never_costs_more_than_its_alarms_and_one():
    """In windows of tslm, whatever the promise; one alarm and equal rates cost as much."""
    promises = product((0, 1, 2, 7, 300), ("1e-9", "0.001", "0.05", "0.3"), (1, 2, 9, 10**4))
    for tolerance, max_fpr, alarms in promises:
        wanted = aim(tolerance, Fraction(max_fpr), alarms)
        most = cost("tslm", wanted) * (alarms + 1)
        assert cost("svt", wanted) <= most * (1 + Fraction(1, 10**9))
    even = aim(20, Fraction(1, 20), 1)
    assert abs(cost("svt", even) / cost("tslm", even) - 2) < Fraction(1, 10**9)


def test_both_directions_cost_nearly_twice():
    """Without a single direction every question has twice the noise."""
    wanted = aim(20, Fraction(1, 1000))
    both = cost("svt", wanted, monotone=False)
    assert Fraction(17, 10) < both / cost("svt", wanted) < 2


def test_the_table_is_read():
    """All of its rows were checked above."""
    assert [row[:2] for row in ROWS] == [("5", "0.05"), ("20", "0.05"), ("20", "0.00001")]
