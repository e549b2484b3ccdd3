"""Noise that can be drawn again is for research: what releases refuses it."""

from __future__ import annotations

from fractions import Fraction

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


def test_the_judge_refuses_a_seeded_source(tmp_path):
    """Before anything is reserved; with the operating system's key it goes on."""
    alarms = load(tmp_path / configuration(tmp_path), environ={})
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url, clock_ms=lambda: 0, entropy=NoiseSource().token) as ledger:
        with pytest.raises(ArgumentError, match="for research, and this releases") as caught:
            Judge(alarms=alarms, ledger=ledger, noise=SeededSource(7), clock_ms=lambda: 0)
        assert "operators.NoiseSource()" in caught.value.hint
        Judge(alarms=alarms, ledger=ledger, noise=NoiseSource(), clock_ms=lambda: 0)


def test_a_ledger_takes_no_secrets_from_a_seed(tmp_path):
    """Its key of hashes would be known to whoever knows the seed."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with pytest.raises(ArgumentError, match="no keys"):
        Ledger.open(url, clock_ms=lambda: 0, entropy=SeededSource(7).token)
