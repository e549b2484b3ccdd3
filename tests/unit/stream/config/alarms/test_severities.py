"""Severity levels of a configuration: what they come to, and what is wrong with bad ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.config.loading import examine, load
from tests.support.configurations import HAVING, WINDOW, edited, place, write

if TYPE_CHECKING:
    from pathlib import Path

ASKED = HAVING.replace("120", "SEVERITY")
TWO = "{warning: 80, critical: 100}"


def levels(severity: str = TWO, having: str = ASKED, rest: str = "") -> str:
    """Return the good file with levels."""
    return edited(HAVING, having).replace("timing: {grace: 30s}", f"severity: {severity}{rest}")


@pytest.mark.parametrize(
    ("having", "severity", "thresholds"),
    [
        (ASKED, TWO, ([81] * 4, [0] * 4, [20] * 4)),
        (ASKED, "{warning: 'capacity[room]', critical: 200}", None),
        (ASKED.replace(">", "<="), "{low: 40, lower: 30}", ([41] * 4, [0] * 4, [10] * 4)),
        (f"HAVING NOT {ASKED[7:].replace('>', '<')}", TWO, ([80] * 4, [0] * 4, [20] * 4)),
    ],
)
def test_levels_are_distances_from_the_first(
    tmp_path: Path, having: str, severity: str, thresholds: tuple[list[int], ...] | None
) -> None:
    """In the direction of the comparison, for every predicate."""
    query = load(write(tmp_path, levels(severity, having)), environ={}).queries["fire-code"]
    (atom,) = query.condition.atoms.values()
    cells = atom.thresholds.size
    distances = [level.distances for level in query.aim.severities]
    if thresholds is None:
        assert np.array_equal(atom.thresholds + distances[1], np.full(cells, 201))
        return
    assert np.array_equal(atom.thresholds, thresholds[0][:1] * cells)
    for found, expected in zip(distances, thresholds[1:], strict=True):
        assert np.array_equal(found, expected[:1] * cells)


def test_levels_inherit_what_they_do_not_say(tmp_path: Path) -> None:
    """And what the first one says is of the first alone; levels enter the fingerprint."""
    text = levels(
        "{warning: {threshold: 80, tolerance: 3}, critical: {threshold: 100, max_fpr: 0.01}}"
    )
    query = load(write(tmp_path, text), environ={}).queries["fire-code"]
    warning, critical = (level.aim(query.aim) for level in query.aim.severities)
    assert (warning.tolerances, critical.tolerances) == ((3,), (9,))
    assert (warning.max_fpr, critical.max_fpr) != (critical.max_fpr, None)
    assert query.at_severity("critical").tolerance == "9"
    prints = {
        load(write(tmp_path, text.replace(*each)), environ={}).queries["fire-code"].fingerprint
        for each in (("", ""), ("warning", "low"), ("threshold: 100", "threshold: 101"))
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (levels("⟦{warning: 80, critical: 80}"), "does not imply warning", "least severe"),
        (levels("⟦{critical: 100, warning: 80}"), "does not imply critical", "least severe"),
        (levels("⟦{warning: 'capacity[room]', critical: 100}"), "does not imply", "least"),
        (levels("⟦{warning: 80}"), "one severity level", "into HAVING"),
        (levels("{warning: 80, critical: ⟦many}"), "threshold is a number", "write"),
        (levels("{warning: 80, critical: ⟦SEVERITY}"), "what levels stand for", "write HAVING"),
        (levels("{warning: 80, critical: ⟦100.5}"), "whole number", "write"),
        (levels("{warning: 80, ⟦'very bad': 100}"), "is not a name", "letters"),
        (
            levels("{warning: 80, critical: {threshold: 100, ⟦fnr: 1}}"),
            "`fnr` is not a key",
            "max_fnr",
        ),
        (levels("{warning: 80, ⟦critical: {max_fnr: 0.1}}"), "`threshold` is missing", "100"),
        (levels("⟦{warning: 80, critical: 100}", HAVING), "HAVING has none", "> SEVERITY"),
        (edited(HAVING, ASKED.replace("SEV", "⟦SEV")), "SEVERITY has no levels", "severity:"),
        (levels(having=f"{ASKED.replace('SEV', '⟦SEV')} AND COUNT(*) > 5"), "comes to 2", "write"),
        (
            levels(having="HAVING COUNT(DISTINCT person) BETWEEN ⟦SEVERITY AND 9"),
            "comes to 2",
            "write",
        ),
        (levels(having="HAVING AVG(load) > ⟦SEVERITY"), "another statistic", "COUNT or SUM"),
        *(
            (
                levels(rest=f"\n    mechanism: ⟦{name}"),
                "no severity levels",
                "tslm or panes",
            )
            for name in ("ppwlm", "svt", "probe")
        ),
        (
            levels(rest="\n    mechanism: {tslm: {max_fpr: 0.1, bounded_error: ⟦fpr}}"),
            "bound misses",
            "leave",
        ),
        (levels(rest="\n    hold: ⟦6h"), "a held warning", "leave out hold"),
        (
            levels(having=f"{ASKED}) HAVING COUNT(*) >= 2").replace(
                "SELECT", "SELECT 1 FROM (SELECT"
            ),
            "a quantifier over groups has no",
            "an alarm for each",
        ),
        (
            levels(rest="\n    baseline: 9\n    false_alarms: 1 per week"),
            "nothing to be found",
            "write",
        ),
    ],
)
def test_what_levels_cannot_be(tmp_path: Path, text: str, message: str, hint: str) -> None:
    """Every mistake has its place and what to write instead."""
    errors = examine(write(tmp_path, text), environ={}).errors
    assert errors, text
    assert message in errors[0].message
    assert hint in errors[0].hint
    assert len(str(errors[0].message)) <= 240
    if "⟦" in text:
        assert (errors[0].line, errors[0].column) == place(text)


def test_early_alarms_have_no_levels(tmp_path: Path) -> None:
    """A step that warned would be asked again for critical."""
    text = levels().replace(WINDOW, "CUMULATE(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)")
    text = text.replace("privacy_unit: user", "privacy_unit: event").replace("  period: 1d", "  #")
    text = "\n".join(line for line in text.splitlines() if "contribution" not in line)
    errors = examine(write(tmp_path, text), environ={}).errors
    assert any("early alarms have no severity" in error.message for error in errors)
