"""The benchmarks can be run and reported; what they measure is not a matter for tests."""

from __future__ import annotations

from importlib import import_module

import pytest

from accountant.units import PrivacyUnit
from benchmarks import ledger_age, overlap, report
from benchmarks.__main__ import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_run(name):
    """Each module offers ``run``, which the table is made of."""
    assert callable(import_module(f"benchmarks.{name}").run)


def test_the_readme_shows_every_figure():
    """The section that ``--write`` replaces holds a number for every line of the table."""
    rows = report.figures(report.README.read_text())
    for row in report._ROWS:
        assert any(digit.isdigit() for digit in rows[row.what][0]), row.what


def test_a_short_ledger_is_measured_as_a_year_is():
    """Every figure that has an aim for a year is there, and takes some time or space."""
    rows = 26 * ledger_age.ALARMS
    ((_, _, figures),) = ledger_age.run([rows], [PrivacyUnit.USER], ["sqlite"])
    measured = {one.name: one.measured for one in figures}
    assert measured.keys() >= ledger_age.AIMS.keys()
    assert min(measured.values()) > 0


def test_sets_of_queries_make_a_row_per_size():
    """Small sets of the census are solved exactly, and every spread has its row."""
    (row,) = overlap.gains(sets=2, sizes=(25,))
    assert row[:3] == ("25", "2", "2")
    assert len(list(overlap.distributions(sets=1, sizes=(4,)))) == 13
