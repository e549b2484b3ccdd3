"""The benchmarks can be run and reported; what they measure is not a matter for tests."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks import ledger_scale, report
from benchmarks.__main__ import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_run(name: str) -> None:
    """Each module offers ``run``, which the table is made of."""
    assert callable(import_module(f"benchmarks.{name}").run)


def test_the_readme_shows_every_figure() -> None:
    """The section that ``--write`` replaces holds a number for every line of the table."""
    rows = report.figures(report.README.read_text(encoding="utf-8"))
    for row in report._ROWS:
        assert any(digit.isdigit() for digit in rows[row.what][0]), row.what


def test_a_section_that_is_written_is_read_again() -> None:
    """Writing keeps the text around the section, twice over too."""
    names = {n for row in report._ROWS for n in (row.value, row.beside, row.ratio) if n}
    section = report.markdown(dict.fromkeys(names, 12_345.0) | {"codecs.x": 1.5}, note="A note.")
    text = report.README.read_text(encoding="utf-8")
    written = report.replaced(report.replaced(text, section), section)
    assert written.startswith(text[: text.index("## Figures")])
    assert written.endswith(text[text.index("## What limits them") :])
    rows = report.figures(written)
    assert {row.what for row in report._ROWS} < set(rows)
    assert rows["`codecs.x`"] == ("1.5",)


def test_a_readme_without_the_section_is_refused() -> None:
    """Nothing is written into a file that has no place for it."""
    with pytest.raises(ValueError, match="figures"):
        report.replaced("# Benchmarks", "text")


def test_a_large_charge_is_stored_small() -> None:
    """A hundred thousand predicates on twelve levels take less than 100 kB."""
    assert ledger_scale.run((), ())["stored_100000_cells_on_12_levels_kb"] < 100
