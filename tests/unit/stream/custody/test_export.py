"""A ledger as JSON lines, and as an archive has it."""

from __future__ import annotations

import base64
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from accountant.costs.noisy import Noisy
from accountant.log import entries
from accountant.store.entry_rows import EntryRow
from accountant.units import PrivacyUnit
from stream.custody.archive import write_entries
from stream.custody.history import entry_fields
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.ledgers import Series, deny, open_ledger, set_up, settle

SERIES = Series("e", size=20, units=3)


def test_every_entry_is_written(tmp_path):
    """All that the ledger has of each, and neither noise nor the secret."""
    (tmp_path / ".tocsin").mkdir()
    path = configuration(tmp_path)
    with open_ledger(f"sqlite:///{tmp_path}/.tocsin/alarms.db") as ledger:
        set_up(ledger, PrivacyUnit.EVENT, 99, [SERIES])
        ledger.admit("s", [SERIES.request(index) for index in range(3)])
        settle(ledger, SERIES, 0, noisy=Noisy(b"secret counts", 0), cells=[1, 2, 0, 0])
        deny(ledger, SERIES, 1, "budget")
        rows, status = list(ledger.reports.entries()), ledger.reports.status()
        secret = ledger.hash_key
    lines = json_lines(tocsin("ledger", path, "export"))
    assert lines == list(map(entry_fields, rows))
    assert status.checkpoint == f"{len(lines)}:{lines[-1]['hash']}"
    text = json.dumps(lines)
    for hidden in (b"secret counts", secret):
        assert base64.b64encode(hidden).decode() not in text
        assert hidden.hex() not in text


def test_an_entry_is_told_in_its_readers_words():
    """A query is an alarm and a promise is privacy, wherever they stand; all the rest is as it is.

    What tells of an archive has the hash that it ends with beside its own.
    """
    said = {"promise": "gdp", "asked": [{"query": "a", "units": 3}], "queries": ["b"]}
    fields = {"privacy": "gdp", "asked": [{"alarm": "a", "units": 3}], "alarms": ["b"]}
    for kind, record in (("query", "alarm"), ("admitted", "admitted")):
        row = EntryRow(1, kind, "s", json.dumps(said).encode(), bytes(16))
        assert entry_fields(row) == {"record": record, "seq": 1, **fields, "hash": "0" * 32}
    archived = entries.Archived("f.parquet", 1, 5, b"last hash", 9)
    told = entry_fields(EntryRow(6, archived.kind, "", entries.encode(archived), b"\1"))
    assert (told["hash"], base64.b64decode(told["last_hash"])) == ("01", b"last hash")
    for kind in entries.Entry.__subclasses__():
        assert {"record", "seq", "hash"}.isdisjoint(kind.__struct_encode_fields__)


def test_an_export_that_fails_leaves_the_former_one(tmp_path):
    """An entry that cannot be read ends the export; what was there stays."""
    file = tmp_path / "entries.parquet"
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        rows = list(ledger.reports.entries())
    write_entries(rows, file)
    before = file.read_bytes()

    def breaks():
        yield from rows
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_entries(breaks(), file)
    with pytest.raises(ValueError, match="utf8"):
        write_entries([rows[0]._replace(payload=b"\xff")], file)
    assert file.read_bytes() == before
    write_entries(rows, file)
    assert [one.name for one in tmp_path.glob("*.part")] == []


def test_many_entries_are_written_in_batches(tmp_path):
    """More than one batch holds keep their order, in several row groups."""
    rows = (EntryRow(n, "worst", "s", b"{}", bytes(16)) for n in range(20_000))
    write_entries(rows, tmp_path / "many.parquet")
    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert file.num_row_groups == 3
    assert np.array_equal(file.read().column("seq"), np.arange(20_000))
