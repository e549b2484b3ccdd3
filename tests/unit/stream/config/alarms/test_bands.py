"""Band alarms: what their configuration means, where a bad one is wrong, and what is counted.

The mark ``⟦`` (removed before reading) stands where the error or warning must point to. Statistics
are counted by the pipeline itself, and compared with a plain evaluation of each event list.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from operators.conditions.weights import Weight
from operators.deciders import Quantile
from operators.deciders.mechanism import DECIDER
from stream.config.alarms.band_statistics import MOST_STATISTICS
from stream.decisions.mechanisms import plans_of
from stream.planning.budget import budget_plan
from tests.support.configurations import assert_named
from tests.support.keys import nested
from tests.support.tree import ROOT
from tests.unit.stream.config import given

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.config.loading import Report
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

SHOPS = ("east", "north", "south")
USUAL = "shop,amount\neast,100\nnorth,200\nsouth,-7\n"
CONFIG = """\
tables: {usual: usual.csv}
feeds:
  sales:
    topic: sales
    time: ts
    unit: person
    fields:
      person: string
      shop: {domain: [east, north, south]}
      paid: {type: float, clip: [0, 20], resolution: "0.5"}
      owed: {type: integer, clip: [-9, 6]}
      age: {type: integer, clip: [10, 60]}
      open: boolean
      ts: timestamp
budget: BUDGET
alarms:
  drift:
    sql: SELECT shop FROM sales GROUP BY shop, TUMBLE(ts, INTERVAL '1' HOUR) HAVING BAND
    max_fnr: 0.05
    KEYS
"""
EVENT = '{privacy_unit: event, epsilon_max: "4"}'
USER = (
    '{privacy_unit: user, epsilon_max: "400", period: lifetime, '
    "contribution: {max_groups_per_window: 3, max_events_per_group: 2}}"
)
BAND = "ABS(COUNT(*) - REFERENCE) >= 50"
KEYS = {"mechanism": "decider", "epsilon": '"0.5"', "reference": "200"}


def text_of(band: str = BAND, *, budget: str = EVENT, **keys: str | None) -> str:
    """Return a configuration; keys that are ``None`` are left out."""
    written = {name: value for name, value in {**KEYS, **keys}.items() if value is not None}
    lines = "\n    ".join(nested(f"{name}: {value}" for name, value in written.items()))
    text = CONFIG.replace("BAND", band).replace("KEYS", lines)
    return text.replace("BUDGET", budget)


def examined(folder: Path, text: str, usual: str = USUAL) -> Report:
    """Examine a configuration and its table."""
    return given.examined(folder, text, usual=usual)


def loaded(folder: Path, text: str, usual: str = USUAL) -> tuple[Alarm, Budget]:
    """Return the alarm of a configuration without errors, and its budget."""
    alarms = given.loaded(folder, text, usual=usual)
    return alarms.by_name["drift"], alarms.budget


def query_of(folder: Path, band: str = BAND, **keys: str | None) -> Alarm:
    """Return the alarm of a configuration without errors."""
    return loaded(folder, text_of(band, **keys))[0]


# --- what a good one means


@pytest.mark.parametrize(
    "band",
    [
        BAND,
        "ABS(REFERENCE - COUNT(*)) >= 50",
        "(NOT (ABS((COUNT(*)) - reference) < 50.0))",
        "NOT NOT 50 <= ABS(COUNT(*) - REFERENCE)",
        "NOT 50 > ABS(Reference - COUNT(*))",
    ],
)
def test_every_spelling_of_leaving_a_band_is_one_alarm(tmp_path: Path, band: str) -> None:
    """Sides and negations do not matter; REFERENCE may be written in any case."""
    query = query_of(tmp_path, band)
    assert query.fingerprint == query_of(tmp_path).fingerprint
    assert query.mechanism == DECIDER.name
    decider: Any = query.band.decider
    assert (decider.tau, decider.name, decider.boundary) == (50, "tight", query.aim.max_fnr)
    assert query.band.references.tolist() == [200] * 3
    ends = [query.condition.atoms[name].thresholds.tolist() for name in ("a1", "a2")]
    assert ends == [[250] * 3, [151] * 3]
    assert query.texts == ("COUNT(*) - REFERENCE >= 50", "COUNT(*) - REFERENCE > -50")


def test_a_table_gives_every_group_its_reference(tmp_path: Path) -> None:
    """References follow the domain's order, in granules of the field."""
    band = "ABS(SUM(paid) FILTER (WHERE open) - REFERENCE) >= 50.5"
    query = query_of(tmp_path, band, reference="usual[shop]", decider="tight")
    assert query.band.references.tolist() == [200, 400, -14]
    assert query.band.decider.tau == 101
    assert query.aggregates[0].where is not None


@pytest.mark.parametrize(
    ("band", "unit", "sensitivity", "kind"),
    [
        ("COUNT(*)", EVENT, 1, Weight.COUNT),
        ("COUNT(*)", USER, 2, Weight.COUNT),
        ("COUNT(DISTINCT person)", USER, 1, Weight.DISTINCT_UNITS),
        ("COUNT(age)", USER, 2, Weight.COUNT),
        ("SUM(paid)", EVENT, 40, Weight.SUM),
        ("SUM(owed)", USER, 18, Weight.SUM),
    ],
)
def test_sensitivities_are_those_under_the_caps(
    tmp_path: Path, band: str, unit: str, sensitivity: int, kind: Weight
) -> None:
    """One event counts once; one person as often as the cap allows, but is one person."""
    query = query_of(tmp_path, f"ABS({band} - REFERENCE) >= 60", budget=unit)
    assert query.condition.sensitivities == (sensitivity,)
    assert [spec.kind for spec in query.aggregates] == [kind]


def test_the_fingerprint_holds_what_decides(tmp_path: Path) -> None:
    """Decider, epsilon, tau, bound and reference change it; the way they are written does not."""
    share = "ABS(SUM(paid) - REFERENCE) >= 0.25 * REFERENCE"
    same = [
        [query_of(tmp_path), query_of(tmp_path, epsilon="1/2", decider="tight")],
        [query_of(tmp_path, decider="lm")],
        [query_of(tmp_path, epsilon='"0.6"')],
        [query_of(tmp_path, "ABS(COUNT(*) - REFERENCE) >= 51")],
        [query_of(tmp_path, reference="201")],
        [query_of(tmp_path, reference="usual[shop]")],
        [
            query_of(tmp_path, share, decider="svt"),
            query_of(tmp_path, share, decider="svt", bound="{theta: 0.95}"),  # as if left out
        ],
        [query_of(tmp_path, share, decider="svt", bound='{theta: 0.9, epsilon: "0.2"}')],
        [query_of(tmp_path, share.replace("0.25", "0.26"), decider="svt")],
    ]
    found = [{query.fingerprint for query in each} for each in same]
    assert [len(each) for each in found] == [1] * len(same)
    assert len(set.union(*found)) == len(same)


# --- what is wrong with a bad one, and what is odd


MEDIAN = "ABS(MEDIAN(age) - REFERENCE) >= 5"


def test_em_counts_no_more_than_it_may(tmp_path: Path) -> None:
    """A domain of too many points is refused for em, and is no matter to tight."""
    text = text_of(MEDIAN, reference="30", decider="⟦em").replace("[10, 60]", "[0, 300]")
    assert_named(examined(tmp_path, text).errors, text, str(MOST_STATISTICS))
    assert not examined(tmp_path, text.replace("⟦em", "tight")).errors


# --- what is counted


@dataclass(frozen=True)
class Sale:
    """One event; ``None`` leaves a field out."""

    person: str
    shop: str
    paid: float | None
    owed: int | None
    age: int | None
    open: bool | None


def sales(rng: random.Random, number: int) -> list[Sale]:
    """Return random events, with values beyond the clips and some missing."""
    return [
        Sale(
            rng.choice("abcdefgh"),
            rng.choice(SHOPS),
            rng.choice((None, -3.0, 0.0, 0.2, 0.25, 1.5, 7.0, 20.0, 99.0)),
            rng.choice((None, -30, -9, -1, 0, 5, 6, 30)),
            rng.choice((None, 3, 10, 25, 30, 31, 59, 60, 99)),
            rng.choice((None, True, True, False)),
        )
        for _ in range(number)
    ]


def counted(
    query: Alarm, budget: Budget, events: Sequence[Sale], bills: Sequence[int] = ()
) -> NDArray[np.int64]:
    """Return the statistics of the first hour, shape (statistics, cells), by the real pipeline.

    Args:
        query: the alarm.
        budget: unit and caps.
        events: in log order.
        bills: their ids, where the feed has them.
    """
    lines = []
    for at, event in enumerate(events):
        parts: dict[str, object] = {**asdict(event), "ts": at}
        parts |= {"bill": bills[at]} if bills else {}
        lines.append(json.dumps({name: part for name, part in parts.items() if part is not None}))
    partial = given.counted_first(query.feed, [query], budget, lines)
    flat = np.zeros(partial.cells, np.int64)
    flat[partial.index] = partial.value
    return flat.reshape(len(query.aggregates), len(query.domain))


def values_of(
    aggregate: str, query: Alarm, events: Sequence[Sale], shop: str, cap: int
) -> list[int]:
    """Return a cell's values in granules (1 for counts), plainly: filter, first come, clip."""
    name = aggregate.partition("(")[2].partition(")")[0].partition(",")[0]
    left: dict[str, int] = {}
    found = []
    for event in events:
        value = 1 if name == "*" else getattr(event, name)
        if event.shop != shop or value is None or ("FILTER" in aggregate and not event.open):
            continue
        left[event.person] = left.get(event.person, 0) + 1
        if left[event.person] > cap:
            continue
        if aggregate.startswith("COUNT"):
            found.append(1)
            continue
        field = query.feed.fields[name]
        low, high = (int((end or 0) / (field.resolution or 1)) for end in (field.lo, field.hi))
        found.append(min(max(round(Fraction(value) / (field.resolution or 1)), low), high))
    return found


COUNTED = [
    ("COUNT(*)", 2, "tight lm em"),
    ("COUNT(age) FILTER (WHERE open)", 2, "tight lm em"),
    ("SUM(paid)", 3, "tight lm em r2t svt"),
    ("SUM(paid) FILTER (WHERE open)", 3, "tight r2t svt"),
    ("SUM(owed)", 4, "tight lm em"),
    ("MEDIAN(age)", 5, "tight hist em"),
    ("QUANTILE(age, 0.9) FILTER (WHERE open)", 5, "tight hist em"),
]
CASES = [(text, tau, name) for text, tau, names in COUNTED for name in names.split()]


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
@pytest.mark.parametrize(("aggregate", "tau", "name"), CASES)
def test_statistics_are_what_the_decider_asks_for(
    tmp_path: Path, aggregate: str, tau: int, name: str, unit: str
) -> None:
    """Each one equals the decider's own direct evaluation of the events that count."""
    table = "shop,amount\neast,9\nnorth,30\nsouth,12\n"
    band = f"ABS({aggregate} - REFERENCE) >= {tau}"
    text = text_of(band, decider=name, reference="usual[shop]", budget=unit)
    query, budget = loaded(tmp_path, text, table)
    decider, references = query.band.decider, query.band.references
    cap = 2 if unit == USER else 10**6
    for seed in range(4):
        events = sales(random.Random(seed), (0, 1, 30, 60)[seed])
        found = counted(query, budget, events)
        rings = query.condition.truth(found)
        for cell, shop in enumerate(SHOPS):
            values = np.array(values_of(aggregate, query, events, shop, cap), np.int64)
            reference = int(references[cell])
            direct = [each.total(values, reference) for each in decider.statistics]
            assert found[: len(direct), cell].tolist() == direct
            assert rings[cell] == outside(query, values, reference)


def outside(query: Alarm, values: NDArray[np.int64], reference: int) -> bool:
    """Tell whether a cell is outside its band, by the definition; nothing has no quantile."""
    band: Any = query.band
    kind = band.decider.kind if hasattr(band.decider, "kind") else None
    if not isinstance(kind, Quantile):
        return abs(int(values.sum()) - reference) >= band.decider.tau
    if not values.size:
        return True
    rank = -(-values.size * kind.share.numerator // kind.share.denominator)
    return abs(int(np.sort(values)[rank - 1]) - reference) >= band.decider.tau


def with_ids(text: str) -> str:
    """Return a configuration whose events have bills."""
    text = text.replace("unit: person\n", "unit: person\n    id: bill\n")
    return text.replace("person: string", "person: string\n      bill: integer")


@pytest.mark.long
@pytest.mark.parametrize("ids", [False, True], ids=["no ids", "ids"])
@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
def test_a_neighbour_moves_statistics_by_no_more_than_stated(
    tmp_path: Path, case: tuple[str, int, str], unit: str, ids: bool
) -> None:
    """One event, or one person, less: each statistic by its D, what hist adds up by its cap."""
    aggregate, tau, name = case
    band = f"ABS({aggregate} - REFERENCE) >= {tau}"
    text = text_of(band, decider=name, reference="30", budget=unit)
    text = with_ids(text) if ids else text
    query, budget = loaded(tmp_path, text)
    stated = np.array(query.condition.sensitivities)[:, np.newaxis]
    for seed in range(2):
        rng = random.Random(seed)
        events = [replace(each, person=rng.choice("ab"), shop="north") for each in sales(rng, 12)]
        bills = [rng.randrange(2) for _ in events] if ids else []
        whole = counted(query, budget, events, bills)
        for gone in rng.sample(range(len(events)), 4):
            left = [at for at in range(len(events)) if at != gone]
            if unit == USER:
                left = [at for at in left if events[at].person != events[gone].person]
            rest = [events[at] for at in left]
            other = counted(query, budget, rest, [bills[at] for at in left if ids])
            assert (np.abs(whole - other) <= stated).all()
            assert_moves_by_one(query, whole, other)


def assert_moves_by_one(query: Alarm, whole: NDArray[np.int64], other: NDArray[np.int64]) -> None:
    """Check what deciders take of several statistics together."""
    band: Any = query.band
    decider = band.decider
    rows, others = (each[: len(decider.statistics)] for each in (whole, other))
    moved = np.abs(rows - others)
    if decider.name == "tight":
        steps = decider.steps(rows, band.references) - decider.steps(others, band.references)
        assert np.abs(steps).max() <= 1
    elif decider.name == "hist":  # the two ends are charged together
        assert (moved[1] + moved[2] <= decider.kind.events).all()
    elif decider.name == "em" and isinstance(decider.kind, Quantile):
        distances = decider.distances(rows) - decider.distances(others)
        assert np.abs(distances).max() <= decider.kind.sensitivity
    elif decider.name in {"r2t", "svt"}:  # who goes takes something from every sum, or nothing
        assert (rows >= others).all()


@pytest.mark.parametrize(("name", "moved"), [("tight", 2), ("em", 2), ("hist", 1)])
def test_an_id_that_comes_back_with_another_value(tmp_path: Path, name: str, moved: int) -> None:
    """Under unit ``event`` the first of two leaves their number as it is, but not their ranks.

    So the margin of a median moves by two where one event goes; ``hist`` pays for each by itself.
    """
    text = with_ids(text_of(MEDIAN, decider=name, reference="30"))
    query, budget = loaded(tmp_path, text)
    low = Sale("ann", "north", 1, 1, 12, open=True)
    log = [low, replace(low, age=30), replace(low, age=31)]
    both = counted(query, budget, log, [7, 7, 8])
    one = counted(query, budget, log[1:], [7, 8])
    assert_moves_by_one(query, both, one)
    decider: Any = query.band.decider
    assert decider.kind.events == moved
    if name == "tight":
        alone = replace(decider, kind=replace(decider.kind, events=1))
        steps = [alone.steps(each[:3], query.band.references) for each in (both, one)]
        broken = np.subtract(*steps)
        assert np.abs(broken).max() == 2


# --- what the page says


PAGE = (ROOT / "docs" / "how-to" / "deviation-alarms.md").read_text()


def test_the_page_s_example_loads(tmp_path: Path) -> None:
    """It has no error and no warning, and its budget carries it."""
    example, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    report = examined(tmp_path, example, usual="shop,orders\nnorth,200\nsouth,150\n")
    assert report.warnings == report.errors == ()
    assert budget_plan(report.alarms, plans_of(report.alarms)).fits


def test_the_page_s_errors_are_the_deciders_own(tmp_path: Path) -> None:
    """Every probability of the table is that of the decider that the configuration makes."""
    table = PAGE.partition("<!-- errors -->")[2].partition("<!-- /errors -->")[0]
    rows = re.findall(r"\| (\d+)[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", table)
    assert len(rows) == 7
    for at, name in enumerate(("tight", "lm", "em")):
        decider: Any = query_of(tmp_path, decider=name).band.decider
        for distance, *errors in rows:
            assert f"{decider.error(int(distance)):.4f}" == errors[at]
