"""Two tables in the places of DP-PQD's: ten attributes of people, nine of trips.

*people* is UCI Adult (Kohavi and Becker, 1996, CC BY 4.0), itself drawn from the census survey that
the paper's IPUMS-CPS are; *trips* are New York's green taxis of January 2022, in the place of its
yellow ones of that month. Every row is there :data:`COPIES` times, which gives as many rows as the
paper has. All domains are declared here or in the public table of zones, never learnt from rows.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.pqd.data import AGES, BOUNDS, DOMAINS, FILE, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["COPIES", "FILES", "RANGES", "SOURCES", "Source", "people", "trips"]

TRIPS: Final = "green_tripdata_2022-01.parquet"
ZONES: Final = "taxi_zone_lookup.csv"

COPIES: Final[Mapping[str, int]] = {"people": 42, "trips": 39}
"""1,351,938 and 2,190,084 rows, where the paper has 1,340,703 and 2,177,719."""

RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "age": AGES,
    "persons": (0, BOUNDS["persons"]),
    "distance": (DOMAINS["distance"].start, DOMAINS["distance"].stop - 1),
    "minutes": (1, BOUNDS["minutes"]),
    "weekday": (1, 7),
    "hour": (0, 23),
}
"""Public ends of every column of numbers, both included."""

_FULL_TIME_H: Final = 35
_OUTLYING: Final = ("Puerto-Rico", "Outlying-US(Guam-USVI-etc)")
_BORN: Final = ("Elsewhere", "Mexico", "Outlying", "US", "Unknown")
_FLAG: Final = ("no", "yes")
_HALVES: Final = ("first", "second")
_HALF_DAYS: Final = 15
_MONTH: Final = (np.datetime64("2022-01-01"), np.datetime64("2022-02-01"))
_THURSDAY: Final = 3  # 1970-01-01, where Monday is 0


@dataclass(frozen=True, slots=True)
class Source:
    """One table.

    Args:
        files: that it is read from.
        load: reads it from their folder.
    """

    files: tuple[str, ...]
    load: Callable[[Path], Table]


def people(folder: Path) -> Table:
    """Read Adult as the paper's ten attributes, each in the place of one of them.

    *born* is its ``citizen`` (Mexico for "not a citizen", Elsewhere for "naturalised"), *fulltime*
    (35 hours a week or more) its ``workly``, *persons* (those a row stands for in the census) its
    ``inctot``. Rows of more than 500,000 persons are left out, as are its incomes above that.

    Args:
        folder: where the file is.
    """
    import pyarrow as pa  # noqa: PLC0415  # tests without the data don't need it
    from pyarrow import csv as arrow_csv  # noqa: PLC0415  # as above

    with pa.input_stream(str(folder / FILE), compression="zstd") as stream:
        read = arrow_csv.read_csv(stream)
    persons = read["fnlwgt"].to_numpy().astype(np.int64)
    kept = persons <= BOUNDS["persons"]
    names, columns = {}, {"age": read["age"].to_numpy().astype(np.int64), "persons": persons}
    for name in ("sex", "race", "marital", "relationship", "education", "workclass"):
        found, codes = np.unique(read[name].to_pylist(), return_inverse=True)
        names[name] = tuple(str(each) for each in found)
        columns[name] = codes.astype(np.int64)
    names["born"], names["fulltime"] = _BORN, _FLAG
    columns["born"] = _coded([_birthplace(each) for each in read["country"].to_pylist()], _BORN)
    columns["fulltime"] = (read["hourweek"].to_numpy() >= _FULL_TIME_H).astype(np.int64)
    return Table(names, {name: column[kept] for name, column in columns.items()})


def trips(folder: Path) -> Table:
    """Read taxi trips: distances are the paper's own column, the rest stands for others of it.

    *minutes* are in the places of fare and total amount, *origin* and *destination* (boroughs) of
    the kind of payment and the rate, *core* (one end in the yellow zone) of the surcharge for
    congestion, *weekday* (Monday is 1) of the number of passengers, *hour* of the tip, *half* (of
    the month) of the vendor, *airport* (one end is one) of the store-and-forward flag. As in the
    paper's appendix D numbers are rounded; what leaves its domain is left out.

    Args:
        folder: where the files are.
    """
    from pyarrow import parquet  # noqa: PLC0415  # as above

    read = parquet.read_table(folder / TRIPS)
    with (folder / ZONES).open(encoding="utf-8", newline="") as lines:
        zones = {int(row["LocationID"]): row for row in csv.DictReader(lines)}
    boroughs = tuple(sorted({row["Borough"] for row in zones.values()}))
    ends = [read[name].to_pylist() for name in ("PULocationID", "DOLocationID")]
    services = [[zones[zone]["service_zone"] for zone in end] for end in ends]
    began, ended = (read[f"lpep_{end}_datetime"].to_numpy() for end in ("pickup", "dropoff"))
    days = began.astype("datetime64[D]")
    numbers = {
        "distance": np.rint(read["trip_distance"].to_numpy()),
        "minutes": np.rint((ended - began) / np.timedelta64(1, "m")),
        "weekday": (days.astype(np.int64) + _THURSDAY) % 7 + 1,
        "hour": (began - days) // np.timedelta64(1, "h"),
    }
    kept = (began >= _MONTH[0]) & (began < _MONTH[1])
    for name, column in numbers.items():
        low, high = RANGES[name]
        kept &= (column >= low) & (column <= high)
    columns = {name: column.astype(np.int64) for name, column in numbers.items()}
    for name, end in zip(("origin", "destination"), ends, strict=True):
        columns[name] = _coded([zones[zone]["Borough"] for zone in end], boroughs)
    columns["half"] = (days >= _MONTH[0] + _HALF_DAYS).astype(np.int64)
    columns["airport"] = _either(services, ("Airports", "EWR"))
    columns["core"] = _either(services, ("Yellow Zone",))
    names = {"origin": boroughs, "destination": boroughs, "half": _HALVES}
    names |= {"airport": _FLAG, "core": _FLAG}
    return Table(names, {name: column[kept] for name, column in columns.items()})


SOURCES: Final[Mapping[str, Source]] = {
    "people": Source((FILE,), people),
    "trips": Source((TRIPS, ZONES), trips),
}
FILES: Final = {name: (source.files, source.load) for name, source in SOURCES.items()}
"""Per table its files and the function that reads them."""


def _birthplace(country: str) -> str:
    if country == "United-States":
        return "US"
    if country in _OUTLYING:
        return "Outlying"
    return {"?": "Unknown", "Mexico": "Mexico"}.get(country, "Elsewhere")


def _coded(values: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    at = {name: code for code, name in enumerate(names)}
    return np.array([at[value] for value in values], dtype=np.int64)


def _either(services: Sequence[Sequence[str]], wanted: Sequence[str]) -> NDArray[np.int64]:
    """Return 1 for trips that have one of two ends in a kind of zone, else 0."""
    found = [any(end in wanted for end in both) for both in zip(*services, strict=True)]
    return np.array(found, dtype=np.int64)
