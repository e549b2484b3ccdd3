"""A ledger as JSON lines, and as an archive has it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from accountant.costs.noisy import Noisy
from accountant.store.entry_rows import EntryRow
from accountant.units import PrivacyUnit
from stream.custody.archive import write_entries
from stream.custody.history import entry_fields
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.ledgers import Series, deny, open_ledger, set_up, settle

if TYPE_CHECKING:
    from pathlib import Path


SERIES = Series("e", size=20, units=3)


def placed(folder: Path) -> tuple[str, str]:
    """Return the path of a configuration, and the URL of a ledger that has yet to be opened."""
    (folder / ".tocsin").mkdir()
    return configuration(folder), f"sqlite:///{folder}/.tocsin/alarms.db"


def test_every_entry_is_written(tmp_path: Path) -> None:
    """All that the ledger has of each, and neither noise nor the secret."""
    path, url = placed(tmp_path)
    with open_ledger(url) as ledger:
        set_up(ledger, PrivacyUnit.EVENT, 99, [SERIES])
        ledger.admit("s", [SERIES.request(index) for index in range(3)])
        settle(ledger, SERIES, 0, noisy=Noisy(b"secret counts", 0), cells=[1, 2, 0, 0])
        deny(ledger, SERIES, 1, "budget")
        entries, status = list(ledger.reports.entries()), ledger.reports.status()
        secret = ledger.hash_key
    lines = json_lines(tocsin("ledger", path, "export"))
    assert lines == list(map(entry_fields, entries))
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert status.checkpoint == f"{len(lines)}:{lines[-1]['hash']}"
    text = json.dumps(lines)
    for hidden in (b"secret counts", secret):
        assert base64.b64encode(hidden).decode() not in text
        assert hidden.hex() not in text


def test_what_was_archived_says_where(tmp_path: Path) -> None:
    """What tells of an archive has the hash that it ends with beside its own."""
    path, url = placed(tmp_path)
    with open_ledger(url) as ledger:
        rows = list(ledger.reports.entries())
        last = rows[-1]
        copy = ledger.archives.copied(rows, 1, last.seq)
        ledger.archives.move("f", copy, 0)
    archived, snapshot = json_lines(tocsin("ledger", path, "export"))
    assert (archived["record"], snapshot["record"]) == ("archived", "snapshot")
    assert base64.b64decode(archived["last_hash"]) == last.hash
    assert len({archived["hash"], snapshot["hash"], last.hash.hex()}) == 3


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
    with pytest.raises(ValueError, match="utf8"):
        write_entries([rows[0]._replace(payload=b"\xff")], file)
    assert file.read_bytes() == before
    write_entries(rows, file)
    assert [one.name for one in tmp_path.glob("*.part")] == []


def test_many_entries_are_written_in_batches(tmp_path: Path) -> None:
    """More than one batch holds keep their order, in several row groups."""
    rows = (EntryRow(n, "worst", "s", b"{}", bytes(16)) for n in range(20_000))
    write_entries(rows, tmp_path / "many.parquet")
    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert file.num_row_groups == 3
    assert np.array_equal(file.read().column("seq"), np.arange(20_000))
