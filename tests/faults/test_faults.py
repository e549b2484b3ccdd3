"""Seeds hold, each one replays alike, and every way to break the protocol is found.

``make simulate-faults`` does the same at length and writes its report.
"""

from __future__ import annotations

from tempfile import gettempdir

import pytest

from tests.faults.campaign import first_violation
from tests.faults.mutants import MUTANTS, RARE
from tests.faults.world import simulate

SEEDS = 60
PARTS = 12
SHORT = 3
MOST = 40
MISFITS = ("TypeError", "AttributeError", "NameError")

FOUND_FROM = {
    "reconcile charges nothing": 4,
    "another ledger's spending is not carried over": 4,
    "marked before it is published": 27,
    "claims are not asked for": 6,
    "commits do not wait for the disk": 10,
    "what others appended is not folded": 4,
    "an archive forgets what was decided": 9,
    "old copies are not refused": 30,
    "the clock is believed": 3,
    "one record skipped at a rebalance": 2,
    "open transactions are read": 3,
    "late events are counted": 4,
}
"""Where the hunt for a mutant begins, which is where it ended; at 0 where it is not told."""


@pytest.mark.parametrize("part", range(PARTS))
def test_every_promise_holds_whatever_fails(part):
    """Crashes, lost answers, two workers, cut connections, copies, clocks: nothing slips by."""
    outcome = first_violation(range(part, SEEDS, PARTS), windows=SHORT)
    assert outcome is None, f"python -m tests.faults {outcome.seed} --windows {SHORT}"


def test_a_seed_replays_alike():
    """Whoever sees a violation sees it again, at the same instants."""
    first, second = (list(_trace(11)), list(_trace(11)))
    assert first == second
    assert len(first) > 5


@pytest.mark.parametrize("mutant", [each for each in MUTANTS if each not in RARE])
def test_a_broken_protocol_is_found(mutant):
    """Each mutant fails within a few seeds that hold for the code as it is."""
    first = FOUND_FROM.get(mutant, 0)
    outcome = first_violation(range(first, first + MOST), mutant)
    assert outcome is not None
    # A mutant that does not fit the code it is put into is caught by anything.
    assert not any(name in told for told in outcome.violations for name in MISFITS)


def _trace(seed):
    said = []
    simulate(seed, lambda time_ms, who, what: said.append(f"{time_ms} {who} {what}"))
    # Errors name the ledger's file, whose folder is another each time.
    return (line for line in said if gettempdir() not in line and "sqlite:" not in line)
