"""One noise beside ProBE by name, in short: plan, replay and ledger say what is measured."""

from __future__ import annotations

from benchmarks.papers.onenoise import report as study


def test_conditions_go_the_whole_way():
    """What the ledger has is within the plan of each alarm, whose price the report has."""
    found = study.measured(rooms=1, sizes=(2,))
    for one in (each for of in found.values() for each in of.values()):
        assert 0 < one.far <= one.near <= one.reserved + 1e-9
        assert one.cells == 25
    text = "\n".join(study.lines_of(found))
    assert text.count("`probe-ent`") == 2
    assert "OR of 2 reserves 0.415 with" in " ".join(text.split())
