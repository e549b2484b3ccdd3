"""A run in a ledger: asked for, rung, read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunAfter, RunTerms
from tests.support.ledgers import CELLS, Series, requests

if TYPE_CHECKING:
    from accountant.costs.runs import StoredRun
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision

TERMS = RunTerms(open_units=5, alarm_units=2, alarms=3)
WHOLE = 11
FOREVER = 10**9
RUN = Series("r", units=WHOLE, period=FOREVER)
OTHER = Series("s", units=4, period=FOREVER)


def ask(ledger: Ledger, until_ms: int, *beside: Series) -> None:
    """Ask for every window up to an instant; those of ``RUN`` share runs."""
    in_run = [replace(one, run=TERMS) for one in requests([RUN], until_ms)]
    both = [*in_run, *requests(beside, until_ms)]
    ledger.admit("s", sorted(both, key=lambda one: one.charge.key))


def ring(
    ledger: Ledger,
    index: int,
    rung: int = 0,
    run: Series = RUN,
    terms: RunTerms = TERMS,
    /,
    **changes: Any,
) -> StoredDecision:
    """Decide a window of a run with as many alarms, as a judge would."""
    periods = run.request(index).charge.periods
    before = ledger.run(run.query, periods, run.fingerprint)
    left = (terms.alarms if before is None else before.left) - rung
    units = rung * terms.alarm_units + (terms.open_units if before is None else 0)
    after = RunAfter(f"secret {index}".encode(), left, rung, before, terms)
    after = replace(after, **{name: changes.pop(name) for name in ALL & changes.keys()})
    given = {
        "fingerprint": run.fingerprint,
        "cost": UniformCost(units, CELLS),
        "alarms": b"[]",
        "alarm_count": rung,
        "next_start_ms": run.key(index + 1).start_ms,
        "release_ms": 0,
        "run": after,
    }
    return ledger.settle(run.key(index), **{**given, **changes})


ALL = set(RunAfter.__dataclass_fields__)


def now(ledger: Ledger, index: int, run: Series = RUN) -> StoredRun | None:
    """Return the run that a window would go on with."""
    return ledger.run(run.query, run.request(index).charge.periods, run.fingerprint)
