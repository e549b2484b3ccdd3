"""DP-PQD's appendix again, in short: exact laws beside draws, queries, and the report.

Neither PrivBayes nor the data are needed: the answers of its copies are kept, and rows are made up.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.papers import __main__ as command
from benchmarks.papers.pqd import laws
from benchmarks.papers.pqd.appendix import privbayes, report, study, tables, words
from benchmarks.papers.pqd.appendix.privbayes import References
from benchmarks.papers.pqd.appendix.queries import OWN_ANSWERS, OWN_REFERENCES, QUERIES
from benchmarks.papers.pqd.appendix.tables import COPIES, RANGES
from benchmarks.papers.pqd.data import Query, Table
from benchmarks.papers.pqd.originals import Band, Truncated, race, sparse
from benchmarks.papers.pqd.study import Case
from operators.deciders import Quantile, planned
from operators.noise.source import KeyedNoise
from tests.support.papers import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.papers.pqd.study import Results

    Vector = NDArray[np.float64]

KINDS = ("count", "sum", "median")
DRAWS = 20_000
FIVE_ERRORS = 5.0
PEOPLE = {
    "sex": ("Female", "Male"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    "marital": (
        *("Divorced", "Married-civ-spouse", "Married-spouse-absent", "Never-married"),
        *("Separated", "Widowed"),
    ),
    "relationship": ("Husband", "Wife"),
    "education": (
        *("5th-6th", "Bachelors", "Doctorate", "HS-grad", "Masters", "Prof-school"),
        "Some-college",
    ),
    "workclass": ("Federal-gov", "Private"),
    "born": ("Elsewhere", "Mexico", "US"),
    "fulltime": ("no", "yes"),
}
TRIPS = {
    "origin": ("Brooklyn", "EWR", "Manhattan", "Queens"),
    "destination": ("Brooklyn", "EWR", "Manhattan", "Queens"),
    "half": ("first", "second"),
    "airport": ("no", "yes"),
    "core": ("no", "yes"),
}
NUMBERS = {
    "people": ("age", "persons"),
    "trips": ("distance", "minutes", "weekday", "hour"),
}


def made_up(name: str, rows: int = 3_000) -> Table:
    """Return rows of a table's columns, all values public, small ones frequent."""
    rng = np.random.default_rng(3)
    names = PEOPLE if name == "people" else TRIPS
    columns = {each: rng.integers(0, len(values), rows) for each, values in names.items()}
    for each in NUMBERS[name]:
        low, high = RANGES[each]
        drawn = low + rng.exponential((high - low) / 8, rows).astype(np.int64)
        columns[each] = np.minimum(drawn, high)
    return Table(names, columns)


@pytest.fixture(scope="module")
def found_on_trips() -> tuple[Results, References]:
    """Return errors on made-up trips, around a copy of the same answers and one of others."""
    table = made_up("trips", 500)
    same: dict[str, int | None] = {}
    for query in QUERIES["trips"]:
        if query.kind != "median":
            same[query.name] = query.answer(table) * COPIES["trips"]
        else:
            same[query.name] = query.answer(table) if query.values(table).size else None
    other = {each: None if one is None else one + 1 + one // 30 for each, one in same.items()}
    references = References(table.rows * COPIES["trips"], [("a", ["b"])], [same, other])
    return study.measured("trips", table, references), references


def sums(reference: int, values: int = 400) -> Case:
    """Return a sum of values below a bound of 377, around a reference."""
    rng = np.random.default_rng(6)
    rows = np.minimum(rng.exponential(16, values).astype(np.int64), 300)
    query = Query("q", "q", "sum", {}, "minutes")
    return Case(query, rows, int(rows.sum()), reference, 1)


def off(chance: float, drawn: NDArray[np.bool_]) -> float:
    """Return how many standard errors a share of draws lies from its probability."""
    return abs(float(drawn.mean()) - chance) / np.sqrt(max(chance * (1 - chance), 1e-9) / DRAWS)


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("name", ["svt", "r2t"])
def test_sums_have_their_laws(name: str, epsilon: Fraction) -> None:
    """Draws of the library's deciders of sums agree with the probabilities that are computed."""
    answer = sums(0).answer
    for away in (0, 150, 900):
        case = sums(answer + away)
        decider = planned(name, case.kind, epsilon, 800)
        column, references = case.column(decider)[:, np.newaxis], np.array([case.reference])
        chance = laws.within(decider, column, references, away)
        drawn = decider.decide(
            np.repeat(column, DRAWS, axis=1),
            np.full(DRAWS, case.reference),
            KeyedNoise(b"sums"),
        )
        assert off(chance, drawn) < FIVE_ERRORS


def test_a_threshold_of_its_own_for_either_pass_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the noisy threshold drawn twice, svt would have another law, and draws tell."""

    def apart(bound: Vector, over: Vector, above: Vector, masses: Vector) -> float:
        return float(bound @ ((over @ masses) * (1 - above @ masses)))

    case = sums(sums(0).answer - 1_250)
    decider = planned("svt", case.kind, Fraction(1, 4), 100)
    column, references = case.column(decider)[:, np.newaxis], np.array([case.reference])
    cells = np.repeat(column, DRAWS, axis=1), np.full(DRAWS, case.reference)
    drawn = decider.decide(*cells, KeyedNoise(b"twice"))
    assert off(laws.within(decider, column, references, 0), drawn) < FIVE_ERRORS
    monkeypatch.setattr(laws, "_passed", apart)
    assert off(laws.within(decider, column, references, 0), drawn) > FIVE_ERRORS


@pytest.mark.parametrize(
    ("draw", "law"), [(race, laws.printed_race), (sparse, laws.printed_sparse)]
)
def test_printed_sums_have_their_laws(
    draw: Callable[..., NDArray[np.bool_]], law: Callable[[Truncated, Band], float]
) -> None:
    """Draws of R2T and SVT as printed agree with the probabilities that are computed."""
    read = Truncated.of(sums(0).values, 377, 1)
    for epsilon in (0.25, 4.0):
        for away in (0, 300, 900):
            band = Band(sums(0).answer + away, 800, epsilon)
            drawn = draw(read, band, DRAWS, np.random.default_rng(2))
            assert off(law(read, band), drawn) < FIVE_ERRORS


@pytest.mark.parametrize(
    ("share", "rows"), [(Fraction(1, 2), (9, 3, 4)), (Fraction(9, 10), (20, 17, 1))]
)
def test_hist_is_its_enumeration(share: Fraction, rows: tuple[int, int, int]) -> None:
    """The law of hist is the sum over its three noises, one by one; a wrong end is told apart."""
    decider = planned("hist", Quantile(share, range(20)), Fraction(6), 2)
    total, low, high = rows
    noise, masses = np.arange(-9, 10), np.tanh(1.5) * np.exp(-3.0 * np.abs(np.arange(-9, 10)))
    a, b = share.numerator, share.denominator

    def enumerated(high_end: int) -> float:
        chance = 0.0
        for z, mass in zip(noise, masses, strict=True):
            below = masses[b * (low + noise) < a * (total + z)].sum()
            above = masses[b * (high + noise) <= (b - a) * (total + z) + high_end].sum()
            chance += float(mass * below * above)
        return chance

    found = laws.within(decider, np.array([rows]).T, np.array([10]), 0)
    assert found == pytest.approx(enumerated(0), abs=1e-9)
    assert found != pytest.approx(enumerated(-b), abs=1e-3)


def test_a_decider_without_a_law_is_refused() -> None:
    """There is no guess: what has no law here raises."""
    with pytest.raises(TypeError, match="no law of object"):
        laws.within(object(), np.zeros((1, 1), dtype=np.int64), np.array([1]), 0)  # type: ignore[arg-type]


def test_a_bound_of_several_events_is_refused() -> None:
    """Rows and noise of a bound come apart for one event of a unit only."""
    kind = replace(sums(1).kind, events=2)
    decider = planned("svt", kind, Fraction(1), 5)
    column = np.ones((len(decider.statistics), 1), dtype=np.int64)
    with pytest.raises(ValueError, match="one event"):
        laws.within(decider, column, np.array([9]), 0)


def test_every_query_of_the_appendix_is_there() -> None:
    """Thirty queries of people and thirty of trips, of the paper's kinds and in its order."""
    every = [query for name in ("people", "trips") for query in QUERIES[name]]
    assert [query.name for query in every] == [f"q{at}" for at in range(1, 61)]
    kinds = [12 * ["count"], 9 * ["sum"], 9 * ["median"], *(10 * [each] for each in KINDS)]
    assert [query.kind for query in every] == [each for part in kinds for each in part]
    assert len(OWN_ANSWERS) == len(OWN_REFERENCES) == len(every)


@pytest.mark.parametrize("name", ["people", "trips"])
def test_conditions_are_those_of_going_through_the_rows(name: str) -> None:
    """Names and comparisons keep the rows that they say, one by one."""
    table = made_up(name, 200)
    signs = {
        "=": lambda x, y: x == y,
        "<": lambda x, y: x < y,
        "<=": lambda x, y: x <= y,
        ">=": lambda x, y: x >= y,
    }
    for query in QUERIES[name]:
        kept = []
        for row in range(table.rows):
            right = True
            for column, wanted in query.conditions.items():
                value = int(table.columns[column][row])
                if column in table.names:
                    right &= table.names[column][value] == wanted
                else:
                    sign = wanted.rstrip("0123456789")
                    right &= bool(signs[sign](value, int(wanted[len(sign) :])))
            if right:
                kept.append(int(table.columns[query.column][row]) if query.column else 1)
        assert query.values(table).tolist() == kept


def test_the_answers_that_are_kept_are_of_these_queries() -> None:
    """Every query has an answer over every copy, and copies are as large as the tables."""
    found = privbayes.read()
    assert {name: each.rows for name, each in found.items()} == {
        "people": 1_351_938,
        "trips": 2_190_084,
    }
    for name, references in found.items():
        assert len(references.answers) == len(privbayes.SEEDS)
        for answers in references.answers:
            assert list(answers) == [query.name for query in QUERIES[name]]
        attributes = {child for child, _ in references.network}
        assert len(attributes) == len(references.network)
        assert all(len(parents) <= privbayes.PARENTS for _, parents in references.network)


def test_mutual_information_is_that_of_the_counts() -> None:
    """It is the sum over pairs of values; two parents count as one with pairs for values."""
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    child = np.where(rng.random(500) < 0.7, one, two).astype(str)
    pairs = list(zip(one.tolist(), two.tolist(), strict=True))
    expected = 0.0
    for value in set(child.tolist()):
        for pair in set(pairs):
            held = np.array([each == pair for each in pairs])
            both = float(np.mean((child == value) & held))
            if both:
                expected += both * np.log(both / float(np.mean(child == value) * held.mean()))
    found = privbayes._mutual_information(child, {"one": one, "two": two})
    assert found == pytest.approx(expected)
    assert found > privbayes._mutual_information(child, {"two": two})


def test_rows_are_drawn_from_the_model() -> None:
    """Children follow their parents' values, the marginal where those were never described."""
    model = {
        "bayesian_network": [("fulltime", ["sex"]), ("persons", ["fulltime", "sex"])],
        "conditional_probabilities": {
            "sex": [0.25, 0.75],
            "fulltime": {"[0]": [1.0, 0.0], "[1]": [0.5, 0.5]},
            "persons": {"[0, 0]": [1.0, 0.0], "[1, 1]": [0.0, 1.0]},
        },
        "attribute_description": {
            "sex": {"distribution_bins": ["Female", "Male"]},
            "fulltime": {"distribution_bins": ["no", "yes"], "distribution_probabilities": [1, 0]},
            "persons": {
                "distribution_bins": [0, 50_000],
                "distribution_probabilities": [0.5, 0.5],
            },
        },
    }
    table = made_up("people", 2_000)
    drawn = privbayes._drawn(model, table, 3, np.random.default_rng(4))
    assert drawn.rows == 6_000
    women = drawn.where({"sex": "Female"})
    assert abs(women.mean() - 0.25) < 0.03
    assert not drawn.where({"sex": "Female", "fulltime": "yes"}).any()
    high = drawn.columns["persons"] >= 50_000
    assert not high[women].any()
    assert high[drawn.where({"fulltime": "yes"})].all()
    unknown = drawn.where({"sex": "Male", "fulltime": "no"})
    assert abs(high[unknown].mean() - 0.5) < 0.06
    assert drawn.columns["persons"].max() < 500_000


def test_margins_are_positive_within_the_band_alone(
    found_on_trips: tuple[Results, References],
) -> None:
    """Of counts and sums the sign says where the answer lies, in scales of noise."""
    found, _ = found_on_trips
    for kind in ("count", "sum"):
        for case, point in words.pairs_of(found, kind):
            assert (study.margin(case, point) > 0) == point.inside
    case, point = next(words.pairs_of(found, "count"))
    assert study.margin(case, point) == (point.tau - point.distance) * float(point.epsilon)


def test_matched_counts_are_their_own_references(
    found_on_trips: tuple[Results, References],
) -> None:
    """Around its own answer no count is apart, and all of them are asked."""
    found = study.matched(found_on_trips[0])
    assert len(found[1]) == 10
    assert not any(point.distance for _, point in words.pairs_of(found, "count"))


def test_the_report_is_written(found_on_trips: tuple[Results, References], tmp_path: Path) -> None:
    """A table, claims with verdicts and the figures of the trips come out, whatever the rows."""
    pytest.importorskip("matplotlib")
    every, references = found_on_trips
    some = ("q32", "q35", "q41", "q48", "q51", "q54")
    found = {copy: {name: curves[name] for name in some} for copy, curves in every.items()}
    text = "\n".join(report.lines_of({"trips": found}, {"trips": references}, tmp_path))
    firsts = (14, 18, 22)
    assert all(f"## Figures {first} and {first + 1}" in text for first in firsts)
    assert "## Figures 12 and 13" not in text
    assert text.count("Holds") + text.count("Does not hold") + text.count("Cannot be seen") >= 13
    written = {path.name for path in tmp_path.iterdir()}
    pairs = (f"figure-{number}.png" for first in firsts for number in (first, first + 1))
    assert written == {"distance.png", *pairs}


def test_without_data_the_report_says_so(tmp_path: Path) -> None:
    """An empty folder gives one sentence, and the command knows the report's name."""
    found = list(report.reproduced(tmp_path, 1, tmp_path))
    assert found == ["Both tables are absent: nothing was measured."]
    assert "pqd/appendix" in command.NAMES


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        (name, folder)
        for name, source in tables.SOURCES.items()
        for folder in FOLDERS
        if all((folder / file).is_file() for file in source.files)
    ],
)
def test_tables_are_read(name: str, folder: Path) -> None:
    """Every column lies within its public domain, and every query names values that exist."""
    table = tables.SOURCES[name].load(folder)
    assert all((table.columns[each] < len(names)).all() for each, names in table.names.items())
    for column in NUMBERS[name]:
        low, high = RANGES[column]
        assert low <= table.columns[column].min() <= table.columns[column].max() <= high
    whole = table.rows * COPIES[name] == privbayes.read()[name].rows
    sizes = [query.values(table).size for query in QUERIES[name]]
    assert not whole or min(sizes) > 0
