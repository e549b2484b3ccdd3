"""What stands for a run on the chain tells nobody its state."""

from __future__ import annotations

from accountant.costs.runs import StoredRun
from accountant.store.decisionchain import run_digest


def test_the_digest_of_a_run_is_keyed() -> None:
    """Its state is noise of few bits: without the ledger's secret nobody can try them all."""
    run = StoredRun("r", "f1", (0,), 2, 3, 1, 0, 0, 10, b"state")
    assert run_digest(run, bytes(32)) == run_digest(run, bytes(32))
    assert run_digest(run, bytes(32)) != run_digest(run, bytes(31) + b"x")
