"""The benchmarks can be run and reported; what they measure is not a matter for tests."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from benchmarks import (
    aims,
    alarms,
    kafka_ingest,
    ledger_age,
    one_budget,
    overlap,
    report,
    workers,
)
from benchmarks.__main__ import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_run(name):
    """Each module offers ``run``, which the table is made of."""
    assert callable(import_module(f"benchmarks.{name}").run)


def test_the_readme_shows_every_figure():
    """The section that ``--write`` replaces holds a number for every line of the table."""
    rows = report.figures(report.README.read_text(encoding="utf-8"))
    for row in report._ROWS:
        assert any(digit.isdigit() for digit in rows[row.what][0]), row.what


def test_a_section_that_is_written_is_read_again():
    """Writing keeps the text around the section, twice over too; a file without it is refused."""
    names = {n for row in report._ROWS for n in (row.value, row.beside, row.ratio) if n}
    section = report.markdown(dict.fromkeys(names, 12_345.0) | {"noise.x": 1.5}, note="A note.")
    text = report.README.read_text(encoding="utf-8")
    written = report.replaced(report.replaced(text, section), section)
    assert written.startswith(text[: text.index("## Figures")])
    assert written.endswith(text[text.index("## What limits them") :])
    rows = report.figures(written)
    assert {row.what for row in report._ROWS} < set(rows)
    assert rows["`noise.x`"] == ("1.5",)
    with pytest.raises(ValueError, match="figures"):
        report.replaced("# Benchmarks", "text")


def test_a_short_ledger_is_measured_as_a_year_is():
    """Every figure that has an aim for a year is there, and takes some time or space."""
    rows = 26 * ledger_age.ALARMS
    ((_, _, figures),) = ledger_age.run([rows], [PrivacyUnit.USER], ["sqlite"])
    measured = {one.name: one.measured for one in figures}
    assert measured.keys() >= ledger_age.AIMS.keys()
    assert min(measured.values()) > 0


def test_the_report_of_aims_says_what_is_reached(monkeypatch):
    """Ratios of every part are those of what was measured, and each aim is reached or missed."""
    of_readers = {"now": (300.0, 330.0), "abc": (100.0, 100.0), "aiokafka alone": (600.0, 600.0)}
    readers = {
        name: [kafka_ingest.Slice(rate, 0.25) for rate in (*rates, rates[0])]
        for name, rates in of_readers.items()
    }
    rates = {
        f"{unit}_{kind}[{count}]": [200.0, 10.0]
        for unit in alarms.UNITS
        for kind in alarms.KINDS
        for count in alarms.ALARMS
    }
    spent = {
        f"{kind}_{count}_alarms_{figure}": [2.0 * count, 3.0]
        for kind in one_budget.KINDS
        for count in aims.ON_A_BUDGET
        for figure in one_budget.FIGURES
    }
    one, two = (
        workers.Reading(rate, dict(zip(workers.TAKERS, (taken, 200.0, 50.0), strict=True)))
        for rate, taken in ((400_000.0, 2_000.0), (720_000.0, 2_500.0))
    )
    for part, found in (
        (kafka_ingest, {"json": readers, "arrow": readers}),
        (alarms, rates),
        (one_budget, spent),
        (workers, {1: [one], 2: [two]}),
    ):
        monkeypatch.setattr(part, "beside", lambda *_, found=found, **__: found)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(aims, "checkout", nullcontext)
    text = "\n".join(aims.report("abc", list(aims.PARTS), 1))
    said = (
        "- JSON, to abc: 3.00; the aim is at least 0.95: reached.",
        "- two workers to one: 1.80; the aim is at least 1.7: reached.",
        "| two workers | 2,500 | 200 | 50 | 2,750 |",
        "differ in filters, unit `user`: 1.00; the aim is at most 2.5: reached.",
    )
    assert [each for each in said if each not in text] == []
    assert text.count("200.00; the aim is at most 1.5: **missed**.") == len(one_budget.KINDS)


def test_quantities_that_are_not_uniform_have_their_own_law():
    """Exponential numbers are small, normal choices lie in the middle, all others stay uniform."""
    rng = np.random.default_rng(1)
    few, middle = (overlap.Spread(each, 1 / 8) for each in ("values", "which values"))
    small, wide = ([each.number(rng, 100, "values") for _ in range(400)] for each in (few, middle))
    assert np.mean(small) < 20
    assert 40 < np.mean(wide) < 60
    assert 1 <= min(small + wide) <= max(small + wide) <= 100
    near, anywhere = (
        np.std([each.choice(rng, 100, 1, "which values")[0] for _ in range(400)])
        for each in (middle, few)
    )
    assert near < 15
    assert anywhere > 25


def test_sets_of_queries_make_a_row_per_size():
    """Small sets of the census are solved exactly, and every spread has its row."""
    (row,) = overlap.gains(sets=2, sizes=(25,))
    assert row[:3] == ("25", "2", "2")
    assert len(list(overlap.distributions(sets=1, sizes=(4,)))) == 13
