"""Noise that can be drawn again is for research: what releases refuses it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from accountant.errors import ArgumentError
from accountant.ledger.ledger import Ledger
from operators import NoiseSource, SeededSource
from stream.config.loading import load
from stream.decisions.judge import Judge
from tests.support.commands import configuration

RATE = Fraction(1, 3)


def test_one_seed_draws_the_same_and_another_does_not():
    """In a fresh process, too: the stream follows from the seed alone."""
    ones = [SeededSource(seed).discrete_laplace(RATE, 50).tolist() for seed in (7, 7, 8)]
    assert ones[0] == ones[1] != ones[2]
    assert SeededSource(7).uint64(1).tolist() == [2454011206721198367]


def test_what_releases_takes_no_seeded_source(tmp_path):
    """Neither a ledger, whose hashes would be known, nor a judge; both take the system's noise."""
    alarms, seeded = load(tmp_path / configuration(tmp_path), environ={}), SeededSource(7)
    opened = partial(Ledger.open, f"sqlite:///{tmp_path / 'ledger.db'}", clock_ms=lambda: 0)
    with pytest.raises(ArgumentError, match="no keys"):
        opened(entropy=seeded.token)
    with opened(entropy=NoiseSource().token) as ledger:
        judge = partial(Judge, alarms=alarms, ledger=ledger, clock_ms=lambda: 0)
        with pytest.raises(ArgumentError, match="for research, and this releases") as caught:
            judge(noise=seeded)
        assert "operators.NoiseSource()" in caught.value.hint
        judge(noise=NoiseSource())
