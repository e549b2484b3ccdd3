"""The real data of the reproduction: read from a folder, never kept in the repository.

Each loader returns one row per event. A data set whose files are absent is left out; what was left
out is said in the reports. The papers' own data (occupancy of a campus, yellow taxis of 2020, a
Turkish supermarket) cannot be had here; these stand in for them:

- *taxi*: pickups of New York's green taxis in January 2022, by zone. There is no fare in this copy;
  distances are summed instead.
- *badges*: readings of fixed badge readers in a simulated office building (VAST Challenge 2016), by
  floor and zone.
- *retail*: invoice lines of a British online shop, December 2010 to December 2011, by country (UCI
  "Online Retail", Chen 2015, CC BY 4.0).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_TAXI = "green_tripdata_2022-01.parquet"
_ZONES = "taxi_zone_lookup.csv"
_BADGES = "vast2016_prox.csv.zst"
_RETAIL = "online_retail.parquet"
_KNOWN_ZONES = 263  # 264 and 265 stand for "unknown" and "outside"


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """One data set, one row per event.

    Args:
        groups: how many values the grouping attribute has; public.
        group: which of them, shape (events,), int64.
        day: days since 1970-01-01, shape (events,), int64.
        hour: hour of the day, shape (events,), int64.
        unit: whose event it is, -1 where nobody is known, shape (events,), int64.
        columns: other attributes by name, shape (events,).
    """

    groups: int
    group: NDArray[np.int64]
    day: NDArray[np.int64]
    hour: NDArray[np.int64]
    unit: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]]


def day(year: int, month: int, of_month: int) -> int:
    """Return a date as days since 1970-01-01."""
    return (date(year, month, of_month) - date(1970, 1, 1)).days


def load(folder: Path | None) -> dict[str, Events]:
    """Read what there is in a folder.

    Args:
        folder: where the files are; nothing is read where ``None``.

    Returns:
        Events by the name of the data set.
    """
    found = {}
    for name, (files, loader) in LOADERS.items():
        if folder is not None and all((folder / each).is_file() for each in files):
            found[name] = loader(folder)
    return found


def _taxi(folder: Path) -> Events:
    from pyarrow import parquet  # noqa: PLC0415  # tests without the data don't need it

    table = parquet.read_table(folder / _TAXI)
    with (folder / _ZONES).open(encoding="utf-8", newline="") as lines:
        borough = {int(row["LocationID"]): row["Borough"] for row in csv.DictReader(lines)}
    numbers = {name: at for at, name in enumerate(sorted(set(borough.values())))}
    boroughs = np.array([numbers[borough[zone]] for zone in range(1, len(borough) + 1)])
    picked = table["lpep_pickup_datetime"].to_numpy().astype("datetime64[s]").astype(np.int64)
    dropped = table["lpep_dropoff_datetime"].to_numpy().astype("datetime64[s]").astype(np.int64)
    zone, target = (table[name].to_numpy() for name in ("PULocationID", "DOLocationID"))
    kept = zone <= _KNOWN_ZONES
    return Events(
        groups=_KNOWN_ZONES,
        group=(zone - 1)[kept],
        day=(picked // 86_400)[kept],
        hour=(picked // 3_600 % 24)[kept],
        unit=np.full(int(kept.sum()), -1),
        columns={
            "miles": table["trip_distance"].to_numpy()[kept],
            "minutes": ((dropped - picked) // 60)[kept],
            "leaves_borough": (boroughs[zone - 1] != boroughs[target - 1])[kept],
        },
    )


def _badges(folder: Path) -> Events:
    import pyarrow as pa  # noqa: PLC0415  # as above

    with pa.input_stream(str(folder / _BADGES), compression="zstd") as stream:
        lines = stream.read().decode("utf-8").splitlines()[1:]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    times = np.array([row[0] for row in rows], dtype="datetime64[m]").astype(np.int64)
    places, group = np.unique([f"{row[3]}/{row[4]}" for row in rows], return_inverse=True)
    _, unit = np.unique([row[2] for row in rows], return_inverse=True)
    return Events(
        groups=len(places),
        group=group.astype(np.int64),
        day=times // 1_440,
        hour=times // 60 % 24,
        unit=unit.astype(np.int64),
        columns={},
    )


def _retail(folder: Path) -> Events:
    from pyarrow import parquet  # noqa: PLC0415  # as above

    table = parquet.read_table(folder / _RETAIL)
    minutes = table["InvoiceDate"].to_numpy().astype("datetime64[m]").astype(np.int64)
    countries, group = np.unique(table["Country"].to_pylist(), return_inverse=True)
    customers = [each or "" for each in table["CustomerID"].to_pylist()]
    names, unit = np.unique(["", *customers], return_inverse=True)
    return Events(
        groups=len(countries),
        group=group.astype(np.int64),
        day=minutes // 1_440,
        hour=minutes // 60 % 24,
        unit=unit[1:].astype(np.int64) - int(names[0] == ""),
        columns={
            "quantity": table["Quantity"].to_numpy(),
            "price": table["UnitPrice"].to_numpy(),
        },
    )


LOADERS = {
    "taxi": ((_TAXI, _ZONES), _taxi),
    "badges": ((_BADGES,), _badges),
    "retail": ((_RETAIL,), _retail),
}
"""Per data set its files and the function that reads them."""
