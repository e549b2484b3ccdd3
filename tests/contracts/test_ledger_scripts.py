"""What ledgers are asked and answer, line by line: walls, runs, caps and shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contracts.scripts.play import play, scripts

if TYPE_CHECKING:
    from tests.support.ledgers import Opens


@pytest.mark.parametrize("script", scripts("answers", "runs", "caps", "keeping"))
def test_a_ledger_does_as_the_script_says(opened: Opens, script: str) -> None:
    """Every answer, every sum and every run is what is written there."""
    play(script, opened)


@pytest.mark.parametrize(("line", "wrong"), [("held 1", "held 2"), ("yes*50", "yes*49 no")])
def test_a_script_that_says_something_else_fails(opened: Opens, line: str, wrong: str) -> None:
    """Twin: the same life, with another sum or another answer written down."""
    (script, *_) = scripts("answers")
    with pytest.raises(AssertionError):
        play(script.values[0].replace(line, wrong), opened)  # type: ignore[attr-defined]
