"""Make the slim copy of Online Retail that the demo replays.

Usage: ``python make_slim.py SOURCE TARGET``, SOURCE being the full table as a Parquet file with its
original column names.

Kept: the customer, the country, the quantity and the time of every invoice line, in time order.
Changed: column names; customer numbers without the ``.0`` of a float; times, which the source
gives as British wall-clock time, as UTC. Lines without a customer stay without one.
"""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ZONE = "Europe/London"


def slim(table: pa.Table) -> pa.Table:
    """Return the columns that the demo uses, in time order."""
    wall = table["InvoiceDate"].cast(pa.timestamp("ms"))
    at = pc.assume_timezone(wall, ZONE, ambiguous="earliest", nonexistent="latest")
    customer = table["CustomerID"].cast(pa.string())
    kept = pa.table(
        {
            "at": at.cast(pa.timestamp("ms", "UTC")),
            "customer": pc.replace_substring_regex(customer, r"\.0$", ""),
            "country": table["Country"].cast(pa.string()),
            "quantity": table["Quantity"].cast(pa.int32()),
        }
    )
    return kept.sort_by("at")


def main(source: str, target: str) -> None:
    """Read ``source``, write ``target``."""
    columns = ["InvoiceDate", "CustomerID", "Country", "Quantity"]
    kept = slim(pq.read_table(source, columns=columns))
    pq.write_table(kept, target, compression="zstd", compression_level=19, store_schema=False)
    countries = sorted(set(kept["country"].to_pylist()))
    print(f"{kept.num_rows} lines, {len(countries)} countries")


if __name__ == "__main__":
    main(*sys.argv[1:])
