"""The page on capacity: its figures are foretold within a quarter, and have one place."""

from __future__ import annotations

import re

import pytest

from benchmarks import capacity
from benchmarks.report import replaced

TEXT = capacity.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("proportional", "foretold"), [(False, 2.0), (True, 20.0)])
def test_one_size_foretells_the_same_or_in_proportion(proportional: bool, foretold: float) -> None:
    """Ten times the age costs as much as before, or ten times as much."""
    one = capacity.Growth("verify", "age", {100: 2.0, 1_000: 19.0}, proportional)
    assert one.foretold == foretold
    assert one.ratio == 19 / foretold


def test_what_the_page_foretells_was_measured() -> None:
    """Every ratio lies within a quarter of one; the plot is there."""
    row = r"^\| [^|]+ \| [^|]+ \| [\d,]+: [^|]+ \| [\d,.]+ \| ([\d.]+)"
    rows = re.findall(row, TEXT, re.MULTILINE)
    assert len(rows) >= 9
    assert all(abs(float(each) - 1) <= capacity.WITHIN for each in rows)
    assert capacity.IMAGE.stat().st_size > 10_000


def test_writing_again_changes_the_figures_alone() -> None:
    """The section is replaced, twice over too."""
    once = replaced(TEXT, "Figures.", capacity._BEGIN)
    assert replaced(once, "Figures.", capacity._BEGIN) == once
    assert once.partition("## Figures")[0] == TEXT.partition("## Figures")[0]
