"""A ledger as JSON lines, and as an archive has it: all that its losses come from."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from accountant.costs.levels import LevelCosts
from accountant.costs.noisy import Noisy
from accountant.log import entries
from accountant.loss.overlap import Held, worst_instant
from accountant.records import LogIdentity, Outcome, SeenDecision
from accountant.store.entry_rows import EntryRow
from accountant.units import PrivacyUnit
from stream.custody.archive import write_entries
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.ledgers import Series, deny, open_ledger, registration, settle, terms

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import LedgerStatus

Rows = list[dict[str, Any]]

USER = Series("u", units=5, cells_per_unit=2, period=40, share=5)
EVENT = Series("e", size=20, units=3)


def fill(ledger: Ledger) -> None:
    """Leave windows of every answer and end, in two budgets."""
    ledger.pins.register_log(LogIdentity("grown", "cluster", "topic-2", "grown", 2))
    ledger.growths.announce("grown", 3, from_ms=None, first_starts={})
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
    settle(ledger, USER, 0, cells=[1, 2, 0, 0], alarms='["\u00e4"]'.encode(), alarm_count=1)
    settle(ledger, USER, 1)
    settle(ledger, USER, 2)
    deny(ledger, USER, 3, "budget")
    late = [USER.request(4, too_old=True), USER.request(5), USER.request(7), USER.request(8)]
    ledger.admit("user", late)
    deny(ledger, USER, 4, "too_old")
    settle(ledger, USER, 5, cells=[5, 1, 0, 3])
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
    assert ledger.reports.verify() == []


def lost(ended: dict[str, Any]) -> int:
    """Return what a window that ended lost of one privacy unit, from its entry alone."""
    if "costs" not in ended:
        return int(ended.get("loss_units", 0))
    cells = LevelCosts.decode(base64.b64decode(ended["costs"])).as_array().tolist()
    return sum(sorted(cells, reverse=True)[: ended["asked"]["cells_per_unit"]])


def held_by(rows: Rows) -> list[tuple[dict[str, Any], int]]:
    """Return every window that was asked for, and what it holds: at worst, or what it lost."""
    held: dict[tuple[str, int], tuple[dict[str, Any], int]] = {}
    for row in rows:
        if row["record"] in {"admitted", "answered"}:
            for one in row.get("windows", []):
                key = one["query"], one["start_ms"]
                asked = one if row["record"] == "admitted" else held[key][0]
                worst = asked["units"] * min(asked["cells_per_unit"], asked["cells"])
                held[key] = asked, worst if one["answer"] == "reserved" else 0
        elif row["record"] == "ended" and (row["query"], row["start_ms"]) in held:
            key = row["query"], row["start_ms"]
            held[key] = held[key][0], lost(row)
    return list(held.values())


def replayed(rows: Rows) -> tuple[Counter[int], int]:
    """Return what is held by period under unit user, and of the worst instant under unit event."""
    scopes = {row["query"]: row["scope"] for row in rows if row["record"] == "query"}
    periods: Counter[int] = Counter()
    spans = []
    for asked, units in held_by(rows):
        periods.update(dict.fromkeys(asked.get("periods", ()), units))
        if scopes[asked["query"]] == "event":
            spans.append(Held(asked["start_ms"], asked["end_ms"], units))
    for row in rows:
        for seen in row["decisions"] if row["record"] == "recovered" else ():
            units = seen["epsilon_units"] * seen["cells_per_unit"]
            periods.update(dict.fromkeys(seen["periods"], units))
    return +periods, worst_instant(spans)


def placed(folder: Path) -> tuple[str, str]:
    """Return the path of a configuration, and the URL of a ledger that has yet to be opened."""
    (folder / ".tocsin").mkdir()
    return configuration(folder), f"sqlite:///{folder}/.tocsin/alarms.db"


def exported(tmp_path: Path) -> tuple[Rows, LedgerStatus]:
    """Return the entries of a filled ledger, and its status."""
    path, url = placed(tmp_path)
    with open_ledger(url) as ledger:
        fill(ledger)
        status = ledger.reports.status()
    return json_lines(tocsin("ledger", path, "export")), status


def test_every_entry_is_written(tmp_path: Path) -> None:
    """With windows of every answer, and without noise and the secret."""
    lines, status = exported(tmp_path)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert status.anchor == f"{len(lines)}:{lines[-1]['hash']}"
    assert {line["record"] for line in lines} == {
        *("begun", "log", "growth", "budget", "query", "files"),
        *("admitted", "answered", "ended", "worst", "recovered"),
    }
    answers = Counter(
        window["answer"]
        for line in lines
        if line["record"] in {"admitted", "answered"}
        for window in line.get("windows", [])
    )
    assert answers.keys() >= {"pending", "reserved", "refused", "too_old"}
    assert any("costs" in line for line in lines)
    text = json.dumps(lines)
    assert base64.b64encode(b"secret counts").decode() not in text
    with open_ledger(f"sqlite:///{tmp_path}/.tocsin/alarms.db") as ledger:
        secret = ledger.hash_key
    assert base64.b64encode(secret).decode() not in text
    assert secret.hex() not in text


def test_what_was_archived_says_where(tmp_path: Path) -> None:
    """What tells of an archive has the hash that it ends with beside its own."""
    path, url = placed(tmp_path)
    with open_ledger(url) as ledger:
        rows = list(ledger.reports.entries())
        last = rows[-1]
        copy = ledger.archives.copied(rows, 1, last.seq)
        assert copy is not None
        ledger.archives.move("f", copy, 0)
    archived, snapshot = json_lines(tocsin("ledger", path, "export"))
    assert (archived["record"], snapshot["record"]) == ("archived", "snapshot")
    assert base64.b64decode(archived["last_hash"]) == last.hash
    assert len({archived["hash"], snapshot["hash"], last.hash.hex()}) == 3


def test_exported_losses_add_up_to_the_live_totals(tmp_path: Path) -> None:
    """Summed by period and over the worst instant, they give what status says."""
    lines, status = exported(tmp_path)
    periods, worst = replayed(lines)
    assert periods == status.scopes["user"].periods
    assert max(periods.values()) == status.scopes["user"].spent_units
    assert worst == status.scopes["event"].spent_units


def test_every_entry_can_be_followed_from_the_file_alone(tmp_path: Path) -> None:
    """Hash by hash, and each payload is what its kind says."""
    file = tmp_path / "entries.parquet"
    with open_ledger(placed(tmp_path)[1]) as ledger:
        fill(ledger)
        write_entries(ledger.reports.entries(), file)
    head = entries.BEGINNING
    for row in pq.read_table(file).to_pylist():
        payload = row["payload"].encode()
        head = entries.hash_after(head, row["seq"], row["kind"], row["key"], payload)
        assert head == row["hash"]
        assert entries.decode(row["kind"], payload).key == row["key"]


def test_an_empty_file_has_the_same_columns(tmp_path: Path) -> None:
    """Without an entry, too; only the owner may read it."""
    one, none = tmp_path / "one.parquet", tmp_path / "none.parquet"
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert write_entries(ledger.reports.entries(), one) == 1
    assert write_entries([], none) == 0
    assert pq.read_schema(one).equals(pq.read_schema(none))
    assert pq.read_schema(one).names == list(EntryRow._fields)
    for path in (one, none):
        assert path.stat().st_mode & 0o077 == 0


def test_an_export_that_fails_leaves_the_former_one(tmp_path: Path) -> None:
    """An entry that cannot be read ends the export; what was there stays."""
    file = tmp_path / "entries.parquet"
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        rows = list(ledger.reports.entries())
    write_entries(rows, file)
    before = file.read_bytes()

    def breaks() -> Any:
        yield from rows
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_entries(breaks(), file)
    with pytest.raises(UnicodeDecodeError):
        write_entries([rows[0]._replace(payload=b"\xff")], file)
    assert file.read_bytes() == before
    write_entries(rows, file)
    assert [one.name for one in tmp_path.glob("*.part")] == []


def test_many_entries_are_written_in_batches(tmp_path: Path) -> None:
    """More than one batch holds keep their order, in several row groups."""
    rows = (EntryRow(n, "worst", "s", b"{}", bytes(16)) for n in range(20_000))
    assert write_entries(rows, tmp_path / "many.parquet") == 20_000
    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert file.num_row_groups == 3
    assert np.array_equal(file.read().column("seq"), np.arange(20_000))
