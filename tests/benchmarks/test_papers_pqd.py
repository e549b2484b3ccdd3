"""DP-PQD's evaluation again, in short: on made-up rows.

What the figures show is not a matter for tests; that they measure what they say is.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.pqd import report as pqd_report
from benchmarks.papers.pqd import study as pqd
from benchmarks.papers.pqd import words as pqd_words
from benchmarks.papers.pqd.data import AGES, QUERIES, Table
from benchmarks.papers.pqd.originals import Band, Truncated, median_law
from benchmarks.papers.pqd.study import EPSILON, SHARES, Case, Draws
from benchmarks.papers.pqd.synthetic import synthetic
from operators.noise.source import KeyedNoise

NAMES = {
    "sex": ("Female", "Male"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Other", "White"),
    "marital": ("Divorced", "Married-civ-spouse", "Never-married", "Separated"),
    "relationship": ("Husband", "Unmarried"),
    "education": ("Bachelors", "Doctorate", "HS-grad"),
    "workclass": ("Private", "State-gov"),
    "country": ("Canada", "United-States"),
    "salary": ("<=50K", ">50K"),
}


def made_up(rows):
    """Return rows of Adult's columns, with small public domains."""
    rng = np.random.default_rng(7)
    columns = {name: rng.integers(0, len(names), rows) for name, names in NAMES.items()}
    columns["age"] = rng.integers(AGES[0], AGES[1] + 1, rows)
    columns["fnlwgt"] = np.minimum(rng.exponential(200_000, rows), 1_490_000).astype(np.int64)
    columns["capgain"] = np.where(rng.random(rows) < 0.1, rng.integers(1, 40_000, rows), 0)
    return Table(NAMES, columns)


def test_queries_are_answered_as_said():
    """Counts, sums and medians agree with what is found in the rows by their names."""
    table = made_up(300)
    cells = {name: np.array(names)[table.columns[name]] for name, names in NAMES.items()}
    for query in QUERIES:
        kept = np.ones(table.rows, dtype=np.bool_)
        for name, wanted in query.conditions.items():
            kept &= (cells[name] == wanted.removeprefix("!")) != wanted.startswith("!")
        found = table.columns[query.column][kept].tolist() if query.column else [1] * kept.sum()
        assert sorted(query.values(table).tolist()) == sorted(found)
        if query.kind != "median":
            assert query.answer(table) == sum(found)
        elif found:
            assert query.answer(table) == sorted(found)[-(-len(found) // 2) - 1]


def test_truncations_are_those_of_the_paper():
    """Caps are the powers of two up to the bound; rows above one are left out, not capped."""
    read = Truncated.of(np.array([1, 2, 3, 5, 100]), 100, 2)
    assert read.levels.tolist() == [2, 4, 8, 16, 32, 64, 128]
    assert read.counts.tolist() == [4, 6, 8, 8, 8, 8, 10]
    assert read.sums.tolist() == [6, 12, 22, 22, 22, 22, 222]
    assert read.rows == 10


def test_the_printed_median_is_proposition_c1():
    """The law is that of weights exp(epsilon u / 2) over the domain, and its score is the paper's.

    The successor of a value that all rows share has rank n, as far from n / 2 as the value itself.
    """
    values, domain = np.array([3, 3, 4, 9]), range(1, 11)
    weights = {
        e: np.exp(0.7 / 2 * -abs(sum(value < e for value in values.tolist()) - 2)) for e in domain
    }
    expected = sum(weights[e] for e in (3, 4, 5)) / sum(weights.values())
    assert median_law(values, 1, domain, Band(4, 2, 0.7)) == pytest.approx(expected)
    assert median_law(np.full(5, 3), 1, range(3, 5), Band(4, 1, 0.5)) == pytest.approx(0.5)


def test_the_report_is_written(tmp_path):
    """Tables, text and plots come out, whatever the rows."""
    pytest.importorskip("matplotlib")
    table = made_up(2_000)
    copy = synthetic(table.times(2), KeyedNoise(b"f"), 5)
    found = pqd.measured(table, {2: copy}, 3)
    text = "\n".join(pqd_report.lines_of(found, 3, tmp_path))
    assert all(f"Figures {first} and" in text for first in (5, 7, 9))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{kind}.png" for kind in ("count", "median", "sum")
    ]
    assert pqd_words.far_from_law(found, 3)[0] == 0
    assert sum(pqd_words.chosen(found).values()) == 10 * len(QUERIES)


@pytest.mark.parametrize("name", ["c1", "s1", "m1"])
def test_errors_have_the_laws_they_are_compared_with(name):
    """Over many runs every decider is wrong as often as its exact law says."""
    table = made_up(300)
    query = next(query for query in QUERIES if query.name == name)
    case = Case.of(query, table, table)
    case.reference += max(1, case.reference // 20)
    draws = Draws(4_000, KeyedNoise(b"d"), np.random.default_rng(8))
    compared = 0
    for share in SHARES:
        point = pqd.point(case, share, EPSILON, draws)
        assert point.inside == (abs(case.answer - case.reference) < point.tau)
        for decider, law in point.law.items():
            if not np.isnan(law):
                error = np.sqrt(law * (1 - law) / draws.runs)
                assert abs(point.wrong[decider] - law) <= 5 * error + 1e-3
                compared += 1
    assert compared >= 10
