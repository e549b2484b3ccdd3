"""A ledger as JSON lines and as Parquet: the same rows, and all that its totals come from."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.costs.levels import LevelCosts
from accountant.costs.noisy import Noisy
from accountant.errors import ConfigError, LedgerCorruptError
from accountant.ledger.journal import START
from accountant.loss.overlap import Held, worst_instant
from accountant.records import LogIdentity, Outcome, SeenDecision
from accountant.store import schema
from accountant.units import PrivacyUnit
from stream.custody.export import SCHEMAS, write_parquet
from tests.support.archived import move_all
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.ledgers import Series, deny, open_ledger, registration, settle, terms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import LedgerStatus

Rows = list[dict[str, Any]]

USER = Series("u", units=5, cells_per_unit=2, period=40, share=5)
EVENT = Series("e", size=20, units=3)
TYPES = {"TEXT": "string", "BIGINT": "int64", "BOOLEAN": "bool", "BLOB": "binary"}


def fill(ledger: Ledger) -> None:
    """Leave a charge of every state and admission, in two budgets."""
    ledger.pins.register_log(LogIdentity("grown", "cluster", "topic-2", "grown", 2))
    ledger.growths.announce("grown", 3, from_ms=None, first_starts={})
    ledger.writers.release("a process")
    ledger.pins.register_log(LogIdentity("feed", "cluster", "topic-1", "topic", 2))
    ledger.pins.register_budget(terms(PrivacyUnit.USER, 25, "user"))
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 100, "event"))
    ledger.pins.register_query(registration(USER, "user"))
    ledger.pins.register_query(replace(registration(EVENT, "event"), feed="doors"))
    ledger.pins.register_files({"doors": ["0" * 64]})
    ledger.admit("event", [EVENT.request(index) for index in range(6)])
    for index in range(4):
        settle(ledger, EVENT, index, units=1 + index % 3, noisy=Noisy(b"secret counts", 0))

    ledger.admit("user", [USER.request(index) for index in range(4)])
    ledger.settle(
        USER.key(0),
        fingerprint=USER.fingerprint,
        cost=LevelCosts.of(np.array([1, 2, 0, 0])),
        alarms='["\u00e4"]'.encode(),
        alarm_count=1,
        next_start_ms=10,
        release_ms=10,
    )
    settle(ledger, USER, 1)
    settle(ledger, USER, 2)
    deny(ledger, USER, 3, "budget")
    late = [USER.request(4, too_old=True), USER.request(5), USER.request(7), USER.request(8)]
    ledger.admit("user", late)
    deny(ledger, USER, 4, "too_old")
    ledger.settle(
        USER.key(5),
        fingerprint=USER.fingerprint,
        cost=LevelCosts.of(np.array([5, 1, 0, 3])),
        alarms=b"[]",
        alarm_count=0,
        next_start_ms=60,
        release_ms=60,
    )
    deny(ledger, USER, 6, "not_admitted")
    lost = SeenDecision(
        ledger_id=ledger.ledger_id,
        query="u",
        scope="user",
        start_ms=90,
        end_ms=100,
        sequence=9,
        outcome=Outcome.DECIDED,
        epsilon_units=5,
        alarm_count=0,
        next_start_ms=100,
        cells_per_unit=2,
        periods=(80,),
    )
    assert ledger.upkeep.mark_spent([lost]) == 1
    ledger.admit("user", [USER.request(index) for index in range(10, 15)])
    ledger.mark_published(*(USER.key(index) for index in range(4)))
    assert ledger.upkeep.compact("user", 40) == 4
    assert move_all(ledger, 40) == 4
    ledger.journal.note(START)
    assert ledger.reports.verify() == []


def held_units(charge: dict[str, Any]) -> int:
    """Return what a charge holds, from its exported columns alone."""
    reserved = charge["loss_units"] if charge["held_units"] is None else charge["held_units"]
    settled = charge["settled_loss_units"]
    by_state = {"settled": settled, "released": 0, "pending": 0, "reserved": reserved}
    return int(by_state.get(charge["state"], charge["loss_units"]))


def replayed(rows: Rows) -> tuple[Counter[int], int]:
    """Return loss by period under unit user, and of the worst instant under unit event."""
    periods: Counter[int] = Counter()
    spans: list[Held] = []
    for row in rows:
        if row["record"] == "compacted":
            periods[row["period_ms"]] += row["final_units"]
        if row["record"] not in {"charges", "adopted"}:
            continue
        units = held_units(row) if row["record"] == "charges" else row["loss_units"]
        periods.update(dict.fromkeys(listed(row["periods"]), units))
        if row["scope"] == "event":
            spans.append(Held(row["start_ms"], row["end_ms"], units))
    return periods, worst_instant(spans)


def listed(periods: str | list[int]) -> list[int]:
    """Return periods of either form."""
    return list(json.loads(periods)) if isinstance(periods, str) else periods


def from_parquet(folder: Path) -> Rows:
    """Return all rows, typed as Parquet holds them."""
    return [
        {"record": kind, **row}
        for kind in SCHEMAS
        for row in pq.read_table(folder / f"{kind}.parquet").to_pylist()
    ]


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of Parquet as JSON lines have it, but for lists."""
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def with_lists(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of JSON lines with its periods as a list."""
    return {**row, "periods": listed(row["periods"])} if "periods" in row else row


def exported(tmp_path: Path) -> tuple[Rows, Rows, LedgerStatus]:
    """Return a filled ledger by both commands, and its status."""
    path = configuration(tmp_path)
    (tmp_path / ".tocsin").mkdir()
    with open_ledger(f"sqlite:///{tmp_path}/.tocsin/alarms.db") as ledger:
        fill(ledger)
        status = ledger.reports.status()
    lines = json_lines(tocsin("ledger", path, "export"))
    folder = tmp_path / "out" / "parquet"
    told = tocsin("ledger", path, "export", "--parquet", str(folder))
    assert told.exit_code == 0, told.output
    assert told.stdout == f"{len(lines)} rows in {folder}\n"
    return lines, from_parquet(folder), status


def test_both_forms_hold_the_same_rows(tmp_path: Path) -> None:
    """Every row of every kind, with a charge of every state and admission, is in both."""
    lines, table, _ = exported(tmp_path)
    assert list(map(with_lists, lines)) == list(map(as_json, table))
    charges = [line for line in lines if line["record"] == "charges"]
    assert {charge["state"] for charge in charges} == {
        *("pending", "reserved", "settled", "spent", "released")
    }
    assert {charge["admission"] for charge in charges} >= {
        *("pending", "reserved", "refused", "too_old", "missed")
    }
    assert any(charge["costs"] for charge in charges)
    assert {line["record"] for line in lines} == SCHEMAS.keys()
    assert base64.b64encode(b"secret counts").decode() not in json.dumps(lines)


def test_exported_charges_add_up_to_the_live_totals(tmp_path: Path) -> None:
    """Summed by period and over the worst instant, both forms give what status and totals say."""
    lines, table, status = exported(tmp_path)
    for rows in (lines, table):
        periods, worst = replayed(rows)
        totals = [row for row in rows if row["record"] == "totals"]
        assert +periods == {row["period_ms"]: row["held_units"] for row in totals}
        assert +periods == status.scopes["user"].periods
        assert max(periods.values()) == status.scopes["user"].spent_units
        assert worst == status.scopes["event"].spent_units


PRIVATE = {"ledger": {"id", "hash_key", "created_ms", "schema_version"}, "noisy": {"counts"}}


def test_schemas_are_those_of_the_tables() -> None:
    """Every table but raw counts, what people used up, marks and runs has a schema: its columns."""
    kinds = {name.removeprefix("tocsin_") for name in schema.metadata.tables}
    assert kinds - SCHEMAS.keys() == {"partials", "used", "marks", "places", "runs"}
    for kind, columns in SCHEMAS.items():
        table = schema.metadata.tables[f"tocsin_{kind}"]
        private = PRIVATE.get(kind, set())
        assert set(columns.names) == set(table.columns.keys()) - private
        for field in columns:
            column = table.columns[field.name]
            wanted = TYPES.get(str(column.type), "int32")
            special = {"periods": "list<item: int64 not null>", "alarms": "string"}
            assert str(field.type) == special.get(field.name, wanted), field
            assert field.nullable == column.nullable, field


def test_empty_kinds_have_their_file_and_schema(tmp_path: Path) -> None:
    """An empty ledger has every file, with the types of a full one; only the owner may read."""
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert write_parquet(ledger.reports.export(), tmp_path / "out") == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"{kind}.parquet" for kind in SCHEMAS
    }
    for kind, columns in SCHEMAS.items():
        path = tmp_path / "out" / f"{kind}.parquet"
        assert pq.read_schema(path).equals(columns)
        assert path.stat().st_mode & 0o077 == 0


def test_a_former_export_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    """An export over an export is fine, as is one that was cut off; other files are kept."""
    folder = tmp_path / "out"
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        write_parquet(ledger.reports.export(), folder)
        (folder / ".links.parquet.part").write_bytes(b"cut off")
        (folder / "ledger.parquet").unlink()
        write_parquet(ledger.reports.export(), folder)
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            f"{kind}.parquet" for kind in SCHEMAS
        )
        (folder / "mine.parquet").touch()
        with pytest.raises(ConfigError, match=r"mine\.parquet"):
            write_parquet(ledger.reports.export(), folder)


@pytest.mark.parametrize("strange", ["text", "table", "folder"])
def test_a_file_of_the_same_name_is_not_taken_for_an_export(tmp_path: Path, strange: str) -> None:
    """What bears the name of a kind but was not written by an export is refused."""
    path = tmp_path / "out" / "charges.parquet"
    path.parent.mkdir()
    if strange == "text":
        path.write_text("not Parquet")
    elif strange == "table":
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.mkdir()
    with pytest.raises(ConfigError):
        write_parquet([], tmp_path / "out")
    assert [one.name for one in path.parent.iterdir()] == ["charges.parquet"]


def test_an_export_that_fails_leaves_the_former_one(tmp_path: Path) -> None:
    """A row that cannot be read ends the export; what was there stays, nothing is left over."""
    folder = tmp_path / "out"
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        rows = list(ledger.reports.export())
    write_parquet(rows, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    total = {"record": "totals", "scope": "s", "period_ms": 0, "held_units": 1, "final_units": 0}
    bad: Iterable[dict[str, Any]] = [
        {**total, "held_units": "a lot"},
        {**total, "held_units": 2**63},
        {**total, "held_units": None},
        {"record": "links", **dict.fromkeys(SCHEMAS["links"].names, "!")},
    ]
    for row in bad:
        with pytest.raises(LedgerCorruptError, match="verify"):
            write_parquet([*rows, row], folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(ValueError, match="columns"):
        write_parquet([{"record": "totals", "scope": "s"}], folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_many_rows_are_written_in_batches(tmp_path: Path) -> None:
    """More rows than one batch holds keep their order, in several row groups."""
    rows = [
        {"record": "compacted", "scope": "s", "period_ms": n, "final_units": n}
        for n in range(40_000)
    ]
    assert write_parquet(iter(rows), tmp_path) == 40_000
    file = pq.ParquetFile(tmp_path / "compacted.parquet")
    assert file.num_row_groups == 2
    assert file.read().column("final_units").to_pylist() == list(range(40_000))


def test_a_place_that_cannot_be_written_to_is_bad_input(tmp_path: Path) -> None:
    """A folder below a file ends with exit code 2 and a hint."""
    path = configuration(tmp_path)
    (tmp_path / ".tocsin").mkdir()
    open_ledger(f"sqlite:///{tmp_path}/.tocsin/alarms.db").close()
    result = tocsin("ledger", path, "export", "--parquet", f"{path}/out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "hint:" in result.stderr
