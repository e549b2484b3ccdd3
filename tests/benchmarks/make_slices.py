"""Make the slices of real data that the tests of the papers read.

Usage: ``python tests/benchmarks/make_slices.py SOURCE TARGET``, SOURCE being the folder that
``make papers`` takes as DATA.

Online Retail: every line of every fortieth invoice, and of the first invoice of every country,
without descriptions. Adult: every twelfth row. Nothing else is changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RETAIL = "online_retail.parquet"
ADULT = "adult_income.csv.zst"
COLUMNS = (
    "InvoiceNo",
    "StockCode",
    "Quantity",
    "InvoiceDate",
    "UnitPrice",
    "CustomerID",
    "Country",
)


def retail(table: pa.Table) -> pa.Table:
    """Return the lines of some invoices."""
    invoices = table["InvoiceNo"].to_pylist()
    first = dict(reversed(list(zip(table["Country"].to_pylist(), invoices, strict=True))))
    kept = {*sorted(set(invoices))[::40], *first.values()}
    return table.filter(pc.is_in(table["InvoiceNo"], pa.array(sorted(kept), pa.large_string())))


def adult(text: str) -> str:
    """Return the names of the columns and some rows."""
    names, *rows = text.splitlines()
    return "\n".join([names, *rows[5::12]]) + "\n"


def main(source: Path, target: Path) -> None:
    """Read both files of ``source``, write them to ``target``."""
    lines = retail(pq.read_table(source / RETAIL, columns=list(COLUMNS)))
    lines = lines.replace_schema_metadata(None)
    pq.write_table(
        lines, target / RETAIL, compression="zstd", compression_level=19, store_schema=False
    )
    with pa.input_stream(str(source / ADULT), compression="zstd") as stream:
        people = adult(stream.read().decode("utf-8"))
    codec = pa.Codec("zstd", compression_level=19)
    (target / ADULT).write_bytes(codec.compress(people.encode(), asbytes=True))
    print(f"{lines.num_rows} lines, {len(people.splitlines()) - 1} people")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
