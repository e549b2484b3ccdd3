"""The page on capacity: its figures are foretold within a quarter, and have one place."""

from __future__ import annotations

import re

import pytest

from benchmarks import capacity

TEXT = capacity.PAGE.read_text()


@pytest.mark.parametrize(
    ("sizes", "proportional", "foretold"),
    [
        ({100: 2.0, 1_000: 19.0}, False, 2.0),
        ({100: 2.0, 1_000: 19.0}, True, 20.0),
        ({1: 5.0, 2: 10.0, 4: 14.0, 8: 23.0}, False, 22.0),
    ],
    ids=["the same", "in proportion", "by a line"],
)
def test_the_last_size_is_foretold_by_those_before(sizes, proportional, foretold):
    """Of some sizes by a line through the two before it; of two by the first."""
    one = capacity.Growth("verify", "age", sizes, proportional)
    assert one.foretold == foretold
    assert one.ratio == sizes[max(sizes)] / foretold


def test_what_the_page_foretells_was_measured():
    """Every ratio lies within a quarter of one; the plot is there."""
    row = r"^\| [^|]+ \| [^|]+ \| [\d,]+: [^|]+ \| [\d,.]+ \| ([\d.]+)"
    rows = re.findall(row, TEXT, re.MULTILINE)
    assert len(rows) >= 9
    assert all(abs(float(each) - 1) <= capacity.WITHIN for each in rows)
    assert capacity.IMAGE.stat().st_size > 10_000
