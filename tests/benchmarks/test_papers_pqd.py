"""DP-PQD's evaluation again, in short: on made-up rows, and on the data if there.

What the figures show is not a matter for tests; that they measure what they say is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from benchmarks.papers.pqd import data as pqd_data
from benchmarks.papers.pqd import report as pqd_report
from benchmarks.papers.pqd import study as pqd
from benchmarks.papers.pqd import words as pqd_words
from benchmarks.papers.pqd.data import AGES, CLIPS, QUERIES, Table
from benchmarks.papers.pqd.originals import Band, Truncated, median_law, race, sparse
from benchmarks.papers.pqd.study import EPSILON, SHARES, Case, Draws
from benchmarks.papers.pqd.synthetic import TREE, synthetic
from operators.noise.source import KeyedNoise
from tests.support.papers import SLICE, every_folder

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


def made_up(rows=4_000, seed=7):
    """Return rows of Adult's columns, with small public domains."""
    rng = np.random.default_rng(seed)
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


def test_the_copy_keeps_the_marginals_it_measured():
    """With hardly any noise every measured pair is as in the rows, up to sampling error."""
    table = made_up(20_000)
    copy = synthetic(table, KeyedNoise(b"a"), 1, epsilon=Fraction(1000))
    assert abs(copy.rows - table.rows) <= 2
    assert set(copy.columns) == set(table.columns)
    for parent, child in TREE:
        for names in product(NAMES.get(parent, ()), NAMES.get(child, ())):
            pair = dict(zip((parent, child), names, strict=True))
            expected, drawn = (int(each.where(pair).sum()) for each in (table, copy))
            assert abs(expected - drawn) < 6 * np.sqrt(expected) + 5
    for name, (least, most) in {"age": AGES, **{each: (0, CLIPS[each]) for each in CLIPS}}.items():
        ours, theirs = table.columns[name], copy.columns[name]
        assert theirs.mean() == pytest.approx(ours.mean(), rel=0.25)
        assert least <= theirs.min() <= theirs.max() <= most


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


def test_truncations_are_those_of_the_paper():
    """Caps are the powers of two up to the bound; rows above one are left out, not capped."""
    read = Truncated.of(np.array([1, 2, 3, 5, 100]), 100, 2)
    assert read.levels.tolist() == [2, 4, 8, 16, 32, 64, 128]
    assert read.counts.tolist() == [4, 6, 8, 8, 8, 8, 10]
    assert read.sums.tolist() == [6, 12, 22, 22, 22, 22, 222]
    assert read.rows == 10


def test_printed_deciders_are_right_without_noise():
    """With a huge budget R2T and SVT decide as the exact sum does, on either side of the band."""
    rng = np.random.default_rng(5)
    read = Truncated.of(np.full(1_000, 60), 64, 1)
    for decide in (race, sparse):
        for reference, within in ((60_000, True), (59_000, True), (70_000, False), (50_000, False)):
            found = decide(read, Band(reference, 5_000, 1e6), 50, rng)
            assert found.shape == (50,)
            assert (found == within).all()


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


@every_folder
def test_adult_is_read(folder):
    """Rows and answers are those of the data set's description."""
    table = pqd_data.load(folder)
    assert table.rows == (2_713 if folder == SLICE else 32_561)
    assert all(query.values(table).size > 0 for query in QUERIES)
    assert all(table.columns[name].max() <= clip for name, clip in CLIPS.items())
