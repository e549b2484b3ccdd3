"""A ledger of schema version 1 opens under this code, and adds up."""

from __future__ import annotations

import ast
import json
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import accountant
from accountant.audit import verify
from accountant.errors import LedgerCorruptError
from accountant.records import Answer, BudgetTerms, SeenDecision
from accountant.records import Outcome as Out
from accountant.store.store import Store, _engine
from accountant.units import PrivacyUnit
from tests.support.exports import replayed
from tests.support.ledgers import (
    CELLS,
    FINGERPRINT,
    TOPIC_ID,
    Series,
    deny,
    partial,
    requests,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger

DAY = 100
EVENT, USER = Series("e", 20, 10, 3), Series("u", units=2, cells_per_unit=2, period=DAY)

# By window: admission, state, what was settled a cell, how it was decided. As version 1 left them.
HISTORY: list[tuple[str, str, int | None, str | None]] = [
    ("reserved", "settled", 2, "decided"),
    ("reserved", "settled", 1, "decided"),
    ("reserved", "released", None, "denied"),
    ("refused", "released", None, "denied"),
    ("too_old", "released", None, "denied"),
    ("missed", "released", None, "denied"),
    ("reserved", "spent", None, None),
    ("reserved", "reserved", None, None),
    ("refused", "released", None, None),
]
SPENT, FIRST_OPEN, FRONTIER = 6, 7, 8


def create_version_1(url: str, *, then: str = "0001") -> None:
    """Create the first schema, fill it as its code did, and migrate it so far."""
    store = Store(_engine(url))
    with closing(store), store._writing() as connection:
        config = Config()
        migrations = Path(accountant.__file__).parent / "store" / "migrations"
        config.set_main_option("script_location", str(migrations))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        _fill(connection)
        command.upgrade(config, then)


def _fill(connection: sa.Connection) -> None:
    _add(connection, "ledger", id=1, ledger_id="l", hash_key=b"k" * 32, clock_ms=5, created_ms=5)
    log = {"cluster_id": "cluster", "topic_id": TOPIC_ID, "topic": "topic", "partitions": 2}
    _add(connection, "logs", feed="feed", **log)
    for series, scope, unit, worst in ((EVENT, "s", "event", 9), (USER, "t", "user", 0)):
        last = series.key(FRONTIER)
        _add(
            connection,
            "scopes",
            scope=scope,
            unit=unit,
            epsilon_max_units=20,
            period="",
            frontier_end_ms=last.end_ms,
            frontier_query=last.query,
            frontier_start_ms=last.start_ms,
            settled_worst_units=worst,
        )
        _add(
            connection,
            "queries",
            query=series.query,
            scope=scope,
            feed="feed",
            definition="{}",
            fingerprint=FINGERPRINT,
            cursor_ms=series.key(FIRST_OPEN).start_ms,
            effective_from_ms=None,
            retired=False,
        )
        for index in range(len(HISTORY)):
            _add_window(connection, series, scope, index)
        _add(connection, "sequences", query=series.query, last_sequence=SPENT)
        _adopt(connection, series, scope)
    mark = {"feed": "feed", "partition": 1, "time_ms": 40, "log_offset": 7}
    _add(connection, "marks", **mark)
    _count_twice(connection)
    # Version 1 counted every reservation in full: 4 windows of 4 units, and 2 adopted.
    _add(connection, "totals", scope="t", period_ms=0, held_units=18)


def _count_twice(connection: sa.Connection) -> None:
    """Add a count of a window that is open, which another one contradicted."""
    counted = partial(EVENT, FIRST_OPEN + 1)
    _add(
        connection,
        "partials",
        query=EVENT.query,
        start_ms=counted.key.start_ms,
        end_ms=counted.key.end_ms,
        partition=counted.partition,
        fingerprint=counted.fingerprint,
        topic_id=counted.topic_id,
        complete=counted.complete,
        cells=counted.cells,
        cell_index=counted.index.tobytes(),
        cell_value=counted.value.tobytes(),
        first_offset=counted.first_offset,
        last_offset=counted.last_offset,
        digest=counted.digest,
        conflicted=True,
    )


def _add_window(connection: sa.Connection, series: Series, scope: str, index: int) -> None:
    admission, state, settled, outcome = HISTORY[index]
    request = series.request(index)
    window = {
        "query": series.query,
        "start_ms": request.charge.key.start_ms,
        "end_ms": request.charge.key.end_ms,
        "fingerprint": FINGERPRINT,
    }
    missed = admission == "missed"
    _add(
        connection,
        "charges",
        **window,
        scope=scope,
        admission=admission,
        state=state,
        settled_units=settled,
        units=0 if missed else series.units,
        cells=1 if missed else CELLS,
        cells_per_unit=1 if missed else series.cells_per_unit,
        loss_units=0 if missed else request.charge.loss_units,
        periods=json.dumps([] if missed else request.charge.periods),
    )
    if outcome is not None:
        decided = outcome == "decided"
        _add(
            connection,
            "decisions",
            **window,
            sequence=index + 1,
            outcome=outcome,
            reason=None if decided else "no",
            alarms=b"[]",
            alarm_count=0,
            epsilon_units=series.units * decided,
            release_ms=0,
            decided_at_ms=0,
            published=True,
        )


def _adopt(connection: sa.Connection, series: Series, scope: str) -> None:
    """Add another timeline's decision of the window behind the one it made count as spent."""
    seen = adopted(series, scope)
    _add(
        connection,
        "adopted",
        digest=seen.digest,
        ledger_id="other",
        sequence=9,
        query=series.query,
        start_ms=seen.start_ms,
        end_ms=seen.end_ms,
        scope=scope,
        outcome="decided",
        epsilon_units=1,
        cells_per_unit=seen.cells_per_unit,
        loss_units=seen.loss_units,
        periods=json.dumps(seen.periods),
        alarm_count=0,
        adopted_at_ms=5,
    )


def adopted(series: Series, scope: str) -> SeenDecision:
    """Return the adopted decision as it stands on the topic."""
    key = series.key(SPENT)
    return SeenDecision(
        *("other", series.query, scope, key.start_ms, key.end_ms, 9, Out.DECIDED, 1, 0),
        next_start_ms=series.key(FIRST_OPEN).start_ms,
        cells_per_unit=series.cells_per_unit,
        periods=(0,) if series.period else (),
    )


def _add(connection: sa.Connection, table: str, **values: Any) -> None:
    names, places = ", ".join(values), ", ".join(f":{name}" for name in values)
    connection.execute(
        sa.text(f"INSERT INTO tocsin_{table} ({names}) VALUES ({places})"),  # noqa: S608  # ours
        values,
    )


@pytest.fixture
def ledger_url(empty_url: str) -> str:
    """URL of a database that is migrated from its first version on."""
    return empty_url


def test_version_1_is_brought_up_to_date(ledger_url: str, opened: Callable[[], Ledger]) -> None:
    """Nothing contradicts the charges, losses are realised ones, and the past stays known."""
    create_version_1(ledger_url)
    ledger = opened()
    assert ledger.reports.verify() == []
    replayed(ledger.reports.export())
    scopes = ledger.reports.status().scopes
    # Windows 6 and 7 and the adopted one (1) share rows: 3 + 3 + 1; all that is settled is less.
    assert scopes["s"].spent_units == 7
    # Settled 2 * 2 and 1 * 2, spent 4, reserved 4, adopted 2.
    assert scopes["t"].periods == {0: 16}
    assert {one.reservations for one in scopes.values()} == {1}
    for series, scope in ((EVENT, "s"), (USER, "t")):
        assert ledger.upkeep.unknown_decisions([adopted(series, scope)]) == []
        assert ledger.answer(series.key(3)) is Answer.REFUSED
    opened().close()
    assert ledger.reports.verify() == []


def test_a_migrated_ledger_goes_on(ledger_url: str, opened: Callable[[], Ledger]) -> None:
    """What was open is settled, what comes next is answered, and the chain goes on."""
    create_version_1(ledger_url)
    ledger = opened()
    anchors = {name: one.anchor for name, one in ledger.reports.status().scopes.items()}
    for series, scope in ((EVENT, "s"), (USER, "t")):
        settle(ledger, series, FIRST_OPEN, units=1)
        deny(ledger, series, FIRST_OPEN + 1)
        ledger.admit(scope, requests([series], series.key(FIRST_OPEN + 3).end_ms))
        assert ledger.answer(series.key(FIRST_OPEN + 2)) is Answer.RESERVED
        settle(ledger, series, FIRST_OPEN + 2, cells=(1, 0, 0, 1))
    status = ledger.reports.status().scopes
    assert status["s"].spent_units == 5  # window 6 took 3 as spent, 1 was adopted, 7 cost 1
    assert status["t"].periods == {0: 14 + 2, DAY: 4}
    noted = {name: dict([_anchor(text)]) for name, text in anchors.items()}
    assert ledger.reports.verify(noted) == []
    assert ledger.reports.verify({"s": dict.fromkeys(noted["s"], b"")}) != []
    replayed(ledger.reports.export())


def test_what_was_changed_before_a_migration_is_not_vouched_for(
    ledger_url: str, opened: Callable[[], Ledger]
) -> None:
    """The link that version 10 adds takes nothing over that the chain before contradicts."""
    create_version_1(ledger_url, then="0009")
    store = Store(_engine(ledger_url))
    with closing(store), store._writing() as connection:
        connection.execute(sa.text("UPDATE tocsin_scopes SET epsilon_max_units = 21"))
    ledger = opened()
    assert sum("are not what its chain vouches for" in one for one in ledger.reports.verify()) == 2
    with pytest.raises(LedgerCorruptError, match="vouches for"):
        ledger.pins.register_budget(BudgetTerms("s", PrivacyUnit.EVENT, 21, ""))


def test_decisions_of_before_are_vouched_for(ledger_url: str, opened: Callable[[], Ledger]) -> None:
    """Whatever is changed of a decision that an older version stored is named from then on."""
    create_version_1(ledger_url)
    ledger = opened()
    changes: tuple[dict[str, Any], ...] = ({"alarms": b"[1]"}, {"release_ms": 1}, {"reason": "x"})
    for change in changes:
        with suppress(_Undo), ledger._store.write() as tx:
            tx.decisions.change({"sequence": 3}, **change)
            found = verify.problems(tx, {})
            assert sum("its decision is not what was stored" in one for one in found) == 2, change
            raise _Undo


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a transaction back
    """Rolls a tampering back."""


def _anchor(text: str) -> tuple[int, bytes]:
    number, _, digest = text.partition(":")
    return int(number), bytes.fromhex(digest)


def test_migrations_use_no_live_code() -> None:
    """What a version wrote stays what it was, whatever becomes of the code around it."""
    for path in (Path(accountant.__file__).parent / "store" / "migrations" / "versions").glob(
        "v*.py"
    ):
        tree = ast.parse(path.read_text())
        imported = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in [getattr(node, "module", None), *(one.name for one in node.names)]
        }
        assert not any(str(name).startswith("accountant") for name in imported), path.name
