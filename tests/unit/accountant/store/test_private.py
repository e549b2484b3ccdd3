"""What the log has of private rows tells nobody what is in them."""

from __future__ import annotations

import sqlalchemy as sa

from accountant.costs.charges import WindowKey
from accountant.costs.noisy import Noisy
from accountant.costs.runs import StoredRun
from accountant.store.private import Private
from accountant.store.tables import PRIVATE, metadata

KEY = WindowKey(20, "r", 10)


def test_digests_are_keyed(tmp_path):
    """Noise has few bits: without the ledger's secret nobody can try all that there may be."""
    run = StoredRun("r", "f1", (0,), 2, 3, 1, 0, 0, 10, b"state")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/rows.db")
    metadata.create_all(engine)
    with engine.begin() as connection:
        one, same, other = (
            Private(connection, PRIVATE, secret)
            for secret in (bytes(32), bytes(32), bytes(31) + b"x")
        )
        assert one.keep_run(KEY, run) == same.keep_run(KEY, run) != other.keep_run(KEY, run)
        noisy = Noisy(b"state", 0)
        left = [each.keep_noisy(KEY, "f1", noisy) for each in (one, same, other)]
        assert left[0] == left[1] != left[2]
        assert one.keep_run(KEY, run) != left[0]
    engine.dispose()
