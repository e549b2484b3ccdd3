"""Values that no region tells apart are one class."""

from __future__ import annotations

from accountant.loss import tables
from accountant.loss.maxoverlap import classes, maximum_overlap
from tests.support.overlaps import ranges


def test_too_many_classes_are_merged_safely(monkeypatch):
    """With coarser classes the bound still holds, and the value is one of a row that exists."""
    monkeypatch.setattr(tables, "MOST_ENTRIES", 0)
    for seed in range(30):
        regions = ranges(seed, 14, attributes=3, values=12)
        fine = maximum_overlap(regions, work_limit=None)
        with monkeypatch.context() as patch:
            patch.setattr(classes, "_MOST_CELLS", 60)
            coarse = maximum_overlap(regions, work_limit=None)
        assert fine.exact
        assert coarse.value <= fine.value <= coarse.upper_bound
        assert sum(region.contains(coarse.witness) for region in regions) == coarse.value
