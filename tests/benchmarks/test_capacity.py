"""The page on capacity: its figures are foretold within a quarter, and have one place."""

from __future__ import annotations

import re

from benchmarks import capacity

TEXT = capacity.PAGE.read_text(encoding="utf-8")


def test_what_the_page_foretells_was_measured():
    """Every ratio lies within a quarter of one; the plot is there."""
    row = r"^\| [^|]+ \| [^|]+ \| [\d,]+: [^|]+ \| [\d,.]+ \| ([\d.]+)"
    rows = re.findall(row, TEXT, re.MULTILINE)
    assert len(rows) >= 9
    assert all(abs(float(each) - 1) <= capacity.WITHIN for each in rows)
    assert capacity.IMAGE.stat().st_size > 10_000
