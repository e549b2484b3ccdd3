"""Adult as a table of integers, and the queries on it that stand in for DP-PQD's Table 2.

UCI Adult (Kohavi and Becker, 1996, CC BY 4.0), one row per person: the data set of DP-PQD's
running example, where its evaluation takes IPUMS-CPS (not to be had here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FILE: Final = "adult_income.csv.zst"

CATEGORIES: Final = (
    "sex",
    "race",
    "marital",
    "relationship",
    "education",
    "workclass",
    "country",
    "salary",
)
"""Attributes with names for values; all names are in the public codebook."""

NUMBERS: Final = ("age", "fnlwgt", "capgain")
"""Age in years, persons that a row stands for in the census, capital gain in dollars."""

CLIPS: Final[Mapping[str, int]] = {"fnlwgt": 1_500_000, "capgain": 100_000}
"""Public bound of one row's share in a sum: the paper's global sensitivity GS."""

AGES: Final = (17, 90)
"""Public domain of ages, both ends included."""

DOMAINS: Final[Mapping[str, range]] = {"age": range(AGES[0], AGES[1] + 1)}
"""Public values of the columns whose median is asked for."""

Kind = Literal["count", "sum", "median"]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One row per person.

    Args:
        names: of the values of each category.
        columns: per attribute, shape (rows,), int64: positions in ``names``, or numbers.
    """

    names: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, NDArray[np.int64]]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def times(self, copies: int) -> Table:
        """Return the table with every row that often."""
        tiled = {name: np.tile(column, copies) for name, column in self.columns.items()}
        return Table(self.names, tiled)

    def where(self, conditions: Mapping[str, str]) -> NDArray[np.bool_]:
        """Return the rows that meet every condition; shape (rows,).

        Args:
            conditions: name by category, ``!name`` for any other.
        """
        kept = np.ones(self.rows, dtype=np.bool_)
        for column, wanted in conditions.items():
            name = wanted.removeprefix("!")
            held = self.columns[column] == self.names[column].index(name)
            kept &= held if name == wanted else ~held
        return kept


@dataclass(frozen=True, slots=True)
class Query:
    """One aggregate over the rows that meet a conjunction.

    Args:
        name: short, for plots.
        like: the query of the paper's Table 2 that it stands in for.
        kind: of aggregate.
        conditions: as in :meth:`Table.where`.
        column: of a sum or median.
        matched: whether the reference is the private answer itself, as of a perfect copy.
    """

    name: str
    like: str
    kind: Kind
    conditions: Mapping[str, str]
    column: str = ""
    matched: bool = False

    @property
    def what(self) -> str:
        """The query in words."""
        head = self.kind.upper() + (f" {self.column}" if self.column else "")
        parts = [
            f"{column} {'not ' if wanted.startswith('!') else ''}{wanted.removeprefix('!')}"
            for column, wanted in self.conditions.items()
        ]
        return f"{head}: {', '.join(parts)}"

    def values(self, table: Table) -> NDArray[np.int64]:
        """Return the aggregated column of the rows that count (ones for COUNT), unsorted."""
        kept = table.where(self.conditions)
        if not self.column:
            return np.ones(int(kept.sum()), dtype=np.int64)
        return table.columns[self.column][kept]

    def answer(self, table: Table) -> int:
        """Return the aggregate; a median is the ceil(n/2)-th smallest.

        Raises:
            ValueError: the median of nothing.
        """
        values = self.values(table)
        if self.kind != "median":
            return int(values.sum())
        if not values.size:
            raise ValueError("nothing has no median")
        return int(np.sort(values)[(values.size + 1) // 2 - 1])


_WHITE_COUPLES: Final = {"race": "White", "marital": "Married-civ-spouse"}
_YOUNG_SCHOOL: Final = {"sex": "Female", "education": "HS-grad", "marital": "Never-married"}
_NATIVE: Final = "United-States"

QUERIES: Final = (
    Query(
        "c1",
        "q1",
        "count",
        {"sex": "Female", "race": "Amer-Indian-Eskimo", "workclass": "Private"},
        matched=True,
    ),
    Query("c2", "q3", "count", {"sex": "Male", "education": "Doctorate", "marital": "Divorced"}),
    Query("c3", "q5", "count", _YOUNG_SCHOOL),
    Query("c4", "q12", "count", {**_WHITE_COUPLES, "country": _NATIVE}),
    Query("s1", "q13", "sum", {"sex": "Female", "race": "Other", "workclass": "Private"}, "fnlwgt"),
    Query(
        "s2",
        "q16",
        "sum",
        {"race": "White", "marital": "Divorced", "country": f"!{_NATIVE}"},
        "fnlwgt",
    ),
    Query("s3", "q20", "sum", _YOUNG_SCHOOL, "fnlwgt"),
    Query("s4", "q21", "sum", {**_WHITE_COUPLES, "country": _NATIVE}, "fnlwgt"),
    Query("s5", "q45", "sum", {"sex": "Female", "salary": "<=50K"}, "capgain"),
    Query("s6", "q50", "sum", {"sex": "Male", "salary": "<=50K"}, "capgain"),
    Query("m1", "q22", "median", {"workclass": "Private", "education": "Bachelors"}, "age"),
    Query(
        "m2", "q23", "median", {"sex": "Male", "race": "Other", "relationship": "Husband"}, "age"
    ),
    Query(
        "m3",
        "q28",
        "median",
        {"race": "Asian-Pac-Islander", "marital": "Separated", "country": _NATIVE},
        "age",
    ),
    Query("m4", "q29", "median", {"sex": "Male", "race": "White", "workclass": "Private"}, "age"),
)
"""Chosen before any run, one for each query of the paper's Table 2, as near as the columns allow.

c1 is matched because q1 has 34 rows in both of the paper's tables, which is all it is there for.
s5 and s6 stand for the taxi queries of its Figure 11, whose largest row is far below the bound.
"""


def load(folder: Path) -> Table:
    """Read Adult.

    Args:
        folder: where the file is.
    """
    import pyarrow as pa  # noqa: PLC0415  # tests without the data don't need it
    from pyarrow import csv  # noqa: PLC0415  # as above

    with pa.input_stream(str(folder / FILE), compression="zstd") as stream:
        read = csv.read_csv(stream)
    names, columns = {}, {name: read[name].to_numpy().astype(np.int64) for name in NUMBERS}
    for name in CATEGORIES:
        found, codes = np.unique(read[name].to_pylist(), return_inverse=True)
        names[name] = tuple(str(each) for each in found)
        columns[name] = codes.astype(np.int64)
    return Table(names, columns)


LOADERS: Final = {"adult": ((FILE,), load)}
"""Per data set its files and the function that reads them."""
