"""The scores that the sparse vector technique selects from, one data set after the other.

Two are made as the SVT-Exp paper makes them (*binary*, *zipf*); *adult* has its 123 items, on two
thirds of its records; *baskets* and *retail* stand in for its market baskets
(T40I10D100K, BMS-POS, Kosarak), which cannot be had here:

- *adult*: attribute-value pairs of 32,561 people (UCI Adult, Becker and Kohavi 1996, CC BY 4.0);
  *adult-middle* is the same with its threshold between the c-th score and the next.
- *baskets*: items of 100,000 simulated baskets (T10I4D100K, FIMI repository).
- *retail*: articles of a British online shop, by the invoices they are on (UCI "Online Retail",
  Chen 2015, CC BY 4.0).
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_ADULT = "adult_income.csv.zst"
_BASKETS = "T10I4D100K.dat.zst"
_RETAIL = "online_retail.parquet"

_POSITIVES = 50
_SYNTHETIC_ITEMS = 10_000
_ADULT_POSITIVES = 5
_ADULT_THRESHOLD = 200
_CATEGORIES = (
    "workclass",
    "education",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "country",
)
_IN_FIFTHS = ("age", "fnlwgt", "edunum", "hourweek")
_IN_TWO = ("capgain", "caploss")
_UNKNOWN = "?"


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One data set: how many records have each item.

    Args:
        scores: per item, the largest first, shape (items,), int64, in records.
        threshold: an item is positive where its score is no less; in records.
        alarms: c, the positives that a run may return.
        records: how many there are; ``None`` where scores were assigned.
    """

    scores: NDArray[np.int64]
    threshold: int
    alarms: int
    records: int | None

    @property
    def items(self) -> int:
        """How many items there are (the paper's m)."""
        return int(self.scores.size)

    @property
    def negatives(self) -> int:
        """The negatives that the paper expects before a positive, k = floor(m / c)."""
        return self.items // self.alarms

    @property
    def delta(self) -> float:
        """The failure rate of Gaussian noise: one by the records, or by the items without any."""
        return 1 / (self.records or self.items)


def scores_of(
    counts: Iterable[int], alarms: int, records: int | None, threshold: int | None = None
) -> Scores:
    """Return a data set with its items in order.

    Args:
        counts: records per item.
        alarms: c, fewer than there are items.
        records: as in ``Scores``.
        threshold: as in ``Scores``; by default the whole number in the middle between the c-th
            score and the next, rounded up.
    """
    scores = -np.sort(-np.fromiter(counts, dtype=np.int64))
    if threshold is None:
        threshold = int(scores[alarms - 1] + scores[alarms] + 1) // 2
    return Scores(scores, threshold, alarms, records)


def load(folder: Path | None) -> dict[str, Scores]:
    """Make what is made and read what there is in a folder.

    Args:
        folder: where the files are; nothing is read where ``None``.

    Returns:
        Scores by the name of the data set.
    """
    return {
        name: loader(folder or Path())
        for name, (files, loader) in LOADERS.items()
        if not files or (folder is not None and all((folder / each).is_file() for each in files))
    }


def _binary(_folder: Path) -> Scores:
    counts = [1_000] * _POSITIVES + [0] * (_SYNTHETIC_ITEMS - _POSITIVES)
    return scores_of(counts, _POSITIVES, None, 500)


def _zipf(_folder: Path) -> Scores:
    counts = (10_000 // rank for rank in range(1, _SYNTHETIC_ITEMS + 1))
    return scores_of(counts, _POSITIVES, None, 200)


def _adult(folder: Path) -> Scores:
    return _adult_at(folder, _ADULT_THRESHOLD)


def _adult_middle(folder: Path) -> Scores:
    return _adult_at(folder, None)


def _adult_at(folder: Path, threshold: int | None) -> Scores:
    rows = list(csv.DictReader(_lines(folder, _ADULT)))
    counts: list[int] = []
    for name in _CATEGORIES:
        known = Counter(row[name].strip() for row in rows)
        counts += [count for value, count in known.items() if value != _UNKNOWN]
    for name in (*_IN_FIFTHS, *_IN_TWO):
        values = np.array([int(row[name]) for row in rows])
        edges = np.quantile(values, (0.2, 0.4, 0.6, 0.8)) if name in _IN_FIFTHS else np.zeros(1)
        at = np.searchsorted(edges, values, side="left")
        counts += np.bincount(at, minlength=len(edges) + 1).tolist()
    return scores_of(counts, _ADULT_POSITIVES, len(rows), threshold)


def _baskets(folder: Path) -> Scores:
    baskets = [set(line.split()) for line in _lines(folder, _BASKETS) if line.strip()]
    supports = Counter(item for basket in baskets for item in basket)
    return scores_of(supports.values(), _POSITIVES, len(baskets))


def _retail(folder: Path) -> Scores:
    from pyarrow import parquet  # noqa: PLC0415  # tests without the data don't need it

    table = parquet.read_table(folder / _RETAIL, columns=["InvoiceNo", "StockCode"])
    invoices = table["InvoiceNo"].to_pylist()
    pairs = set(zip(invoices, table["StockCode"].to_pylist(), strict=True))
    supports = Counter(code for _, code in pairs)
    return scores_of(supports.values(), _POSITIVES, len(set(invoices)))


def _lines(folder: Path, name: str) -> list[str]:
    import pyarrow as pa  # noqa: PLC0415  # as above

    with pa.input_stream(str(folder / name), compression="zstd") as stream:
        text: str = stream.read().decode("utf-8")
    return text.splitlines()


LOADERS = {
    "binary": ((), _binary),
    "zipf": ((), _zipf),
    "adult": ((_ADULT,), _adult),
    "adult-middle": ((_ADULT,), _adult_middle),
    "baskets": ((_BASKETS,), _baskets),
    "retail": ((_RETAIL,), _retail),
}
"""Per data set its files and the function that reads or makes its scores."""
