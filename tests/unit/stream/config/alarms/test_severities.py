"""Severity levels of a configuration: what they come to, and what is wrong with bad ones."""

from __future__ import annotations

import pytest

from stream.config.loading import examine, load
from tests.support.configurations import HAVING, edited, write

ASKED = HAVING.replace("120", "SEVERITY")
TWO = "{warning: 80, critical: 100}"


def levels(severity, having=ASKED):
    """Return the good file with levels."""
    return edited(HAVING, having).replace("timing: {grace: 30s}", f"severity: {severity}")


@pytest.mark.parametrize(
    ("having", "severity", "thresholds", "distances"),
    [
        (ASKED, TWO, [81] * 3, [20] * 3),
        (ASKED, "{warning: 'capacity[room]', critical: 200}", [121, 81, 31], [80, 120, 170]),
        (ASKED.replace(">", "<="), "{low: 40, lower: 30}", [41] * 3, [10] * 3),
        (f"HAVING NOT {ASKED[7:].replace('>', '<')}", TWO, [80] * 3, [20] * 3),
    ],
)
def test_levels_are_distances_from_the_first(tmp_path, having, severity, thresholds, distances):
    """In the direction of the comparison, for every group."""
    query = load(write(tmp_path, levels(severity, having)), environ={}).by_name["fire-code"]
    (atom,) = query.condition.atoms.values()
    assert atom.thresholds.tolist() == thresholds
    assert [level.distances.tolist() for level in query.aim.severities] == [[0] * 3, distances]


def test_levels_inherit_what_they_do_not_say(tmp_path):
    """And what the first one says is of the first alone; levels enter the fingerprint."""
    text = levels(
        "{warning: {threshold: 80, tolerance: 3}, critical: {threshold: 100, max_fpr: 0.01}}"
    )
    query = load(write(tmp_path, text), environ={}).by_name["fire-code"]
    warning, critical = (level.aim(query.aim) for level in query.aim.severities)
    assert (warning.tolerances, critical.tolerances) == ((3,), (9,))
    assert (warning.max_fpr, critical.max_fpr) != (critical.max_fpr, None)
    assert query.at_severity("critical").tolerance == "9"
    prints = {
        load(write(tmp_path, text.replace(*each)), environ={}).by_name["fire-code"].fingerprint
        for each in (("", ""), ("warning", "low"), ("threshold: 100", "threshold: 101"))
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("having", "key", "said"),
    [
        (HAVING, "baseline: SEVERITY", "the baseline cannot be SEVERITY"),
        (
            ASKED,
            "severity: {warning: 80, critical: SEVERITY}",
            "the threshold cannot be SEVERITY",
        ),
    ],
)
def test_the_word_is_for_having_alone(tmp_path, having, key, said):
    """Elsewhere it says no number, and is refused as any text that says none."""
    text = edited(HAVING, having).replace("tolerance: 9", f"tolerance: 9\n    {key}")
    (error,) = examine(write(tmp_path, text), environ={}).errors
    assert error.message == said
