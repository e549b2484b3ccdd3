"""The tolerance of a draft is the least that its budget carries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stream.config.loading import examine
from stream.planning.budget import budget_plan
from stream.planning.drafts.answers import TEMPLATES, Answers
from stream.planning.drafts.fitting import drafted
from stream.planning.drafts.texts import configuration, values_text

if TYPE_CHECKING:
    from pathlib import Path


def fits(answers: Answers, tolerance: int, until: str, folder: Path) -> bool:
    """Whether the plan of a written draft fits, as ``tocsin plan`` says."""
    text = configuration(answers, tolerance=tolerance, until=until)
    (folder / "alarms.yaml").write_text(text, encoding="utf-8")
    (folder / answers.values_file).write_text(values_text(answers), encoding="utf-8")
    alarms = examine(folder / "alarms.yaml", environ={}).alarms
    assert alarms is not None
    return budget_plan(alarms).fits


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_smaller_tolerance_does_not_fit(name: str, tmp_path: Path) -> None:
    """One less would not do; of large ones, two digits are written."""
    draft = drafted(TEMPLATES[name])
    step = 10 ** max(len(str(draft.tolerance)) - 2, 0)
    assert draft.plan.fits
    assert fits(draft.answers, draft.tolerance, draft.until, tmp_path)
    assert not fits(draft.answers, draft.tolerance - step, draft.until, tmp_path)
    assert draft.answers.usual <= draft.answers.threshold - 2 * draft.tolerance


@pytest.mark.parametrize(
    ("threshold", "epsilon", "tolerance"), [(2, "90", 0), (3, "60", 1), (120, "2.3", 30)]
)
def test_no_tolerance_goes_beyond_a_third_of_the_threshold(
    threshold: int, epsilon: str, tolerance: int
) -> None:
    """There an alarm would be a poor one, whatever is usual."""
    usual = 60 if threshold > 60 else 0
    answers = replace(TEMPLATES["office"], threshold=threshold, usual=usual, epsilon=epsilon)
    assert drafted(answers).tolerance == tolerance
