"""Synthetic copies by the PrivBayes of DataSynthesizer, and what the queries answer over them.

``python -m benchmarks.papers.pqd.appendix.privbayes FOLDER`` writes ``references.json`` beside this
file. It runs in an environment of its own (``make privbayes``); reading the answers needs none.

The network and all noisy counts are the library's. Three of its steps would take days on millions
of rows, and are done here by the same law: the network is learnt on one copy of the rows, whose
mutual information is that of all of them, with the sensitivity of all; that information is computed
from a table of counts instead of joined strings; and rows are drawn from its noisy conditional
distributions all at once instead of by a scan for each. Domains are given, not learnt.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.papers.pqd.appendix.queries import QUERIES
from benchmarks.papers.pqd.appendix.tables import COPIES, RANGES, SOURCES
from benchmarks.papers.pqd.data import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["EPSILON", "FILE", "PARENTS", "References", "read"]

FILE: Final = Path(__file__).with_name("references.json")
EPSILON: Final = 1.0
"""The generator's own budget; the paper does not say what it gave PrivBayes."""
PARENTS: Final = 2
"""Most parents of an attribute: the most for which cells hold four times their noise on average."""
SEEDS: Final = (1, 2, 3)

_BINNED: Final[Mapping[str, Sequence[int]]] = {
    "persons": range(0, 500_001, 50_000),
    "minutes": (1, 5, 10, 15, 20, 30, 45, 60, 90, 120, 200, 377),
}
"""Edges of the one column of each table that has too many values for a table of counts."""


@dataclass(frozen=True, slots=True)
class References:
    """What one table's copies answer.

    Args:
        rows: of the private table, all copies of its rows included; each synthetic copy has as
            many.
        network: of the first copy: attribute and its parents, in the order they were added.
        answers: per copy, by query; ``None`` for the median of nothing.
    """

    rows: int
    network: Sequence[tuple[str, Sequence[str]]]
    answers: Sequence[Mapping[str, int | None]]


def read() -> dict[str, References]:
    """Return the answers that were written last, by table."""
    found = json.loads(FILE.read_text(encoding="utf-8"))["tables"]
    return {name: References(**each) for name, each in found.items()}


def made(name: str, table: Table, scratch: Path) -> References:
    """Make copies of a table and ask them its queries.

    Args:
        name: of the table.
        table: its rows, once each.
        scratch: a folder for what the library reads and writes.
    """
    networks, answers = [], []
    for seed in SEEDS:
        network, copy = _copied(table, COPIES[name], seed, scratch)
        networks.append(network)
        answers.append({query.name: _answer(query.answer, copy) for query in QUERIES[name]})
    return References(table.rows * COPIES[name], networks[0], answers)


def _answer(ask: Any, copy: Table) -> int | None:
    try:
        return int(ask(copy))
    except ValueError:
        return None


def _copied(
    table: Table, copies: int, seed: int, scratch: Path
) -> tuple[list[tuple[str, list[str]]], Table]:
    from DataSynthesizer import DataDescriber as describing  # noqa: PLC0415, N813
    from DataSynthesizer.lib import PrivBayes as bayes  # noqa: PLC0415, N813
    from pandas import DataFrame  # noqa: PLC0415

    tiled = table.times(copies)
    frame = DataFrame(
        {
            name: np.array(table.names[name])[column] if name in table.names else column
            for name, column in tiled.columns.items()
        }
    )
    rows, domains = scratch / "rows.csv", scratch / "domains.json"
    frame.to_csv(rows, index=False)
    binned = next(name for name in _BINNED if name in table.columns)
    kinds = {name: "String" if name in table.names else "Integer" for name in table.columns}
    values = {
        name: list(table.names[name]) if name in table.names else _every(name)
        for name in table.columns
        if name != binned
    }
    domains.write_text(json.dumps(values), encoding="utf-8")
    sensitivity, learn = bayes.calculate_sensitivity, bayes.greedy_bayes
    information, bayes.mutual_information = bayes.mutual_information, _mutual_information
    bayes.calculate_sensitivity = lambda count, *rest: sensitivity(copies * count, *rest)
    describing.greedy_bayes = lambda every, *rest, **named: learn(
        every.iloc[: table.rows], *rest, **named
    )
    try:
        describer = describing.DataDescriber(histogram_bins=list(_BINNED[binned]))
        describer.describe_dataset_in_correlated_attribute_mode(
            str(rows),
            k=PARENTS,
            epsilon=EPSILON,
            attribute_to_datatype=kinds,
            attribute_to_is_categorical={name: name != binned for name in table.columns},
            attribute_to_is_candidate_key=dict.fromkeys(table.columns, False),
            categorical_attribute_domain_file=str(domains),
            numerical_attribute_ranges={binned: list(RANGES[binned])},
            seed=seed,
        )
    finally:
        bayes.calculate_sensitivity, describing.greedy_bayes = sensitivity, learn
        bayes.mutual_information = information
    network = [(child, list(parents)) for child, parents in describer.bayesian_network]
    return network, _drawn(describer.data_description, table, copies, np.random.default_rng(seed))


def _drawn(model: Any, table: Table, copies: int, rng: np.random.Generator) -> Table:
    """Draw as many rows as all copies have from the library's description of them."""
    rows, chances = table.rows * copies, model["conditional_probabilities"]
    (_, (root,)), *_ = network = model["bayesian_network"]
    bins = {root: rng.choice(len(chances[root]), rows, p=chances[root])}
    for child, parents in network:
        sizes = [len(model["attribute_description"][each]["distribution_bins"]) for each in parents]
        given = np.ravel_multi_index([bins[each] for each in parents], sizes)
        order = np.argsort(given, kind="stable")
        values, starts = np.unique(given[order], return_index=True)
        usual = model["attribute_description"][child]["distribution_probabilities"]
        drawn = np.empty(rows, dtype=np.int64)
        for value, at in zip(values, np.split(order, starts[1:]), strict=True):
            key = str([int(each) for each in np.unravel_index(value, sizes)])
            law = chances[child].get(key, usual)
            drawn[at] = rng.choice(len(law), at.size, p=law)
        bins[child] = drawn
    return Table(table.names, {name: _valued(model, table, name, bins, rng) for name in bins})


def _valued(
    model: Any,
    table: Table,
    name: str,
    bins: Mapping[str, NDArray[np.int64]],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return a column's values: those of its bins, drawn evenly where a bin has several."""
    found = model["attribute_description"][name]["distribution_bins"]
    if name in table.names:
        codes = np.array([table.names[name].index(each) for each in found])
        return codes[bins[name]]
    if name not in _BINNED:
        return np.array(found, dtype=np.int64)[bins[name]]
    edges = np.array([*found, RANGES[name][1]])
    low, high = edges[bins[name]], edges[bins[name] + 1]
    return rng.uniform(low, high).astype(np.int64)


def _mutual_information(child: ArrayLike, parents: Mapping[str, ArrayLike]) -> float:
    """Return the mutual information of a column and several, in nats; values are bins, as text."""
    first = np.asarray(child).astype(np.int64)
    second = np.zeros(first.size, dtype=np.int64)
    for parent in parents:
        codes = np.asarray(parents[parent]).astype(np.int64)
        second = second * (int(codes.max()) + 1) + codes
    shape = int(first.max()) + 1, int(second.max()) + 1
    counts = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
    shares = counts.reshape(shape) / first.size
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    held = shares > 0
    return float(np.sum(shares[held] * np.log(shares[held] / apart[held])))


def _every(name: str) -> list[int]:
    low, high = RANGES[name]
    return list(range(low, high + 1))


def main() -> None:
    """Make the copies of both tables and write what they answer."""
    parser = argparse.ArgumentParser(description="Copies by PrivBayes, and their answers.")
    parser.add_argument("folder", type=Path, help="of the data")
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")  # the library's own, of pandas
    tables = {}
    for name, source in SOURCES.items():
        with TemporaryDirectory() as scratch:
            found = made(name, source.load(folder), Path(scratch))
        tables[name] = {"rows": found.rows, "network": found.network, "answers": found.answers}
    packages = ("DataSynthesizer", "numpy", "pandas", "scikit-learn", "scipy")
    written = {
        "generator": {
            "epsilon": EPSILON,
            "parents": PARENTS,
            "seeds": SEEDS,
            **{package: version(package) for package in packages},
        },
        "tables": tables,
    }
    FILE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
