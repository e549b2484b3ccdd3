"""What Coq checks of the proofs; statements that are false are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.procs import ran

PROOF = Path(__file__).parents[2] / "docs/research/proofs/score.v"
STATEMENTS = (
    *("score_is_truth", "score_beyond_tolerance", "score_moves_one_step"),
    *("largest_counts", "largest_moves_one_step", "curve_keeps_odds"),
)


def passes(text, folder):
    """Tell whether Coq accepts a file."""
    found = shutil.which("coqc")
    assert found, "missing: coq (Debian's name)"
    (folder / "score.v").write_text(text)
    done = ran(found, "-q", "score.v", code=None, cwd=folder)
    return done.returncode == 0


def test_the_score_is_checked_by_coq(tmp_path):
    """All statements are there, none is admitted, and nothing is assumed."""
    text = PROOF.read_text()
    assert [name for name in STATEMENTS if f"Theorem {name} :" not in text] == []
    assert [word for word in ("Admitted", "Axiom", "admit", "Parameter") if word in text] == []
    assert passes(text, tmp_path)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("| Or f g => Z.max (score", "| Or f g => Z.min (score"),
        ("Z.abs (score x f - score y f) <= 1.", "Z.abs (score x f - score y f) <= 0."),
    ],
)
def test_what_is_false_is_refused(true, false, tmp_path):
    """Twins: OR as the minimum, and a score that neighbours do not move."""
    text = PROOF.read_text()
    assert text.count(true) == 1
    assert not passes(text.replace(true, false), tmp_path)
