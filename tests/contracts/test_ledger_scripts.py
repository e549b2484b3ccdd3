"""What ledgers are asked and answer, line by line: walls, runs, caps, shares and archives."""

from __future__ import annotations

import pytest

from tests.contracts.scripts.play import play, scripts


@pytest.mark.parametrize("script", scripts())
def test_a_ledger_does_as_the_script_says(opened, clock, script):
    """Every answer, every sum and every run is what is written there."""
    play(script, opened, clock)


@pytest.mark.parametrize(("line", "wrong"), [("held 1", "held 2"), ("yes*50", "yes*49 no")])
def test_a_script_that_says_something_else_fails(opened, clock, line, wrong):
    """Twin: the same life, with another sum or another answer written down."""
    (script, *_) = scripts("answers")
    with pytest.raises(AssertionError):
        play(script.values[0].replace(line, wrong), opened, clock)
