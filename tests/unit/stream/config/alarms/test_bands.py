"""Band alarms: what their configuration means, where a bad one is wrong, and what is counted.

The mark ``⟦`` (removed before reading) stands where the error or warning must point to. Statistics
are counted by the real counter, and compared with a plain evaluation of each event list.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from operators.conditions.weights import Weight
from operators.deciders import Quantile
from operators.deciders.mechanism import DECIDER
from stream.config.alarms.band_statistics import MOST_STATISTICS
from stream.decisions.mechanisms import plans_of
from stream.planning.budget import budget_plan
from tests.support import reference
from tests.support.configurations import assert_named
from tests.support.keys import nested
from tests.support.reference import ROOMS, Event
from tests.support.tree import ROOT
from tests.unit.stream.config import given

USUAL = "room,amount\nattic,100\nbar,200\ncellar,-7\ndé,9\n"
CONFIG = """\
tables: {usual: usual.csv}
feeds:
  sales:
    topic: sales
    time: ts
    unit: person
    fields:
      person: string
      id: string
      room: {domain: [attic, bar, cellar, dé]}
      amount: {type: float, clip: [0, 20], resolution: "0.5"}
      size: {type: integer, clip: CLIP}
      open: boolean
      ts: timestamp
budget: BUDGET
alarms:
  drift:
    sql: SELECT room FROM sales GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING BAND
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


def text_of(band=BAND, *, budget=EVENT, clip="[10, 60]", **keys):
    """Return a configuration; keys that are ``None`` are left out."""
    written = {name: value for name, value in {**KEYS, **keys}.items() if value is not None}
    lines = "\n    ".join(nested(f"{name}: {value}" for name, value in written.items()))
    text = CONFIG.replace("BAND", band).replace("KEYS", lines)
    return text.replace("BUDGET", budget).replace("CLIP", clip)


def examined(folder, text, usual=USUAL):
    """Examine a configuration and its table."""
    return given.examined(folder, text, usual=usual)


def loaded(folder, text, usual=USUAL):
    """Return the alarm of a configuration without errors, and its budget."""
    alarms = given.loaded(folder, text, usual=usual)
    return alarms.by_name["drift"], alarms.budget


def query_of(folder, band=BAND, **keys):
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
def test_every_spelling_of_leaving_a_band_is_one_alarm(tmp_path, band):
    """Sides and negations do not matter; REFERENCE may be written in any case."""
    query = query_of(tmp_path, band)
    assert query.fingerprint == query_of(tmp_path).fingerprint
    assert query.mechanism == DECIDER.name
    decider = query.band.decider
    assert (decider.tau, decider.name, decider.boundary) == (50, "tight", query.aim.max_fnr)
    assert query.band.references.tolist() == [200] * 4
    ends = [query.condition.atoms[name].thresholds.tolist() for name in ("a1", "a2")]
    assert ends == [[250] * 4, [151] * 4]
    assert query.texts == ("COUNT(*) - REFERENCE >= 50", "COUNT(*) - REFERENCE > -50")


def test_a_table_gives_every_group_its_reference(tmp_path):
    """References follow the domain's order, in granules of the field."""
    band = "ABS(SUM(amount) FILTER (WHERE open) - REFERENCE) >= 50.5"
    query = query_of(tmp_path, band, reference="usual[room]", decider="tight")
    assert query.band.references.tolist() == [200, 400, -14, 18]
    assert query.band.decider.tau == 101
    assert query.aggregates[0].where is not None


@pytest.mark.parametrize(
    ("band", "unit", "sensitivity", "kind"),
    [
        ("COUNT(*)", EVENT, 1, Weight.COUNT),
        ("COUNT(*)", USER, 2, Weight.COUNT),
        ("COUNT(DISTINCT person)", USER, 1, Weight.DISTINCT_UNITS),
        ("COUNT(size)", USER, 2, Weight.COUNT),
        ("SUM(amount)", EVENT, 40, Weight.SUM),
        ("SUM(size)", USER, 120, Weight.SUM),
    ],
)
def test_sensitivities_are_those_under_the_caps(tmp_path, band, unit, sensitivity, kind):
    """One event counts once; one person as often as the cap allows, but is one person."""
    query = query_of(tmp_path, f"ABS({band} - REFERENCE) >= 60", budget=unit)
    assert query.condition.sensitivities == (sensitivity,)
    assert [spec.kind for spec in query.aggregates] == [kind]


def test_the_fingerprint_holds_what_decides(tmp_path):
    """Decider, epsilon, tau, bound and reference change it; the way they are written does not."""
    share = "ABS(SUM(amount) - REFERENCE) >= 0.25 * REFERENCE"
    same = [
        [query_of(tmp_path), query_of(tmp_path, epsilon="1/2", decider="tight")],
        [query_of(tmp_path, decider="lm")],
        [query_of(tmp_path, epsilon='"0.6"')],
        [query_of(tmp_path, "ABS(COUNT(*) - REFERENCE) >= 51")],
        [query_of(tmp_path, reference="201")],
        [query_of(tmp_path, reference="usual[room]")],
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


MEDIAN = "ABS(MEDIAN(size) - REFERENCE) >= 5"


def test_em_counts_no_more_than_it_may(tmp_path):
    """A domain of too many points is refused for em, and is no matter to tight."""
    text = text_of(MEDIAN, reference="30", decider="⟦em").replace("[10, 60]", "[0, 300]")
    assert_named(examined(tmp_path, text).errors, text, str(MOST_STATISTICS))
    assert not examined(tmp_path, text.replace("⟦em", "tight")).errors


# --- what is counted


def sales(rng, number):
    """Return random events, with values beyond the clips and some missing."""
    return [
        Event(
            *(at, at, at, rng.choice("abcdefgh"), rng.choice("xy")),
            room=rng.choice(ROOMS).encode(),
            amount=rng.choice((None, -3.0, 0.0, 0.2, 0.25, 1.5, 7.0, 20.0, 99.0)),
            open=rng.random() < 0.7,
            size=rng.choice((None, -30, -9, 0, 3, 5, 6, 10, 25, 30, 31, 59, 60, 99)),
        )
        for at in range(number)
    ]


def counted(query, budget, log):
    """Return the statistics of the first hour, shape (statistics, cells), by the real counter."""
    values = reference.count(query, budget, log, range(1))[0].values
    flat = np.zeros(len(query.aggregates) * len(query.domain), np.int64)
    flat[list(values)] = list(values.values())
    return flat.reshape(len(query.aggregates), len(query.domain))


def values_of(aggregate, query, events):
    """Return what an aggregate is computed from, in granules; of counts, ones."""
    if aggregate.startswith("COUNT"):
        return np.ones(len(events), np.int64)
    field = query.feed.fields[re.findall(r"\w+", aggregate)[1]]
    low, high = (int((end or 0) / (field.resolution or 1)) for end in (field.lo, field.hi))
    exact = [Fraction(getattr(event, field.name)) / (field.resolution or 1) for event in events]
    return np.array([min(max(round(each), low), high) for each in exact], np.int64)


COUNTED = [
    ("COUNT(*)", "[10, 60]", 2, "tight lm em"),
    ("COUNT(size) FILTER (WHERE open)", "[10, 60]", 2, "tight lm em"),
    ("SUM(amount)", "[10, 60]", 3, "tight lm em r2t svt"),
    ("SUM(amount) FILTER (WHERE open)", "[10, 60]", 3, "tight r2t svt"),
    ("SUM(size)", "[-9, 6]", 4, "tight lm em"),
    ("MEDIAN(size)", "[10, 60]", 5, "tight hist em"),
    ("QUANTILE(size, 0.9) FILTER (WHERE open)", "[10, 60]", 5, "tight hist em"),
]
CASES = [(text, clip, tau, name) for text, clip, tau, names in COUNTED for name in names.split()]


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[-1]}")
def test_statistics_are_what_the_decider_asks_for(tmp_path, case, unit):
    """Each one equals the decider's own direct evaluation of the events that count."""
    aggregate, clip, tau, name = case
    band = f"ABS({aggregate} - REFERENCE) >= {tau}"
    text = text_of(band, decider=name, reference="usual[room]", budget=unit, clip=clip)
    usual = "room,amount\nattic,9\nbar,30\ncellar,12\ndé,25\n"
    query, budget = loaded(tmp_path, text, usual)
    decider, references = query.band.decider, query.band.references
    for seed, number in enumerate((0, 1, 30, 60)):
        log = sales(random.Random(seed), number)
        found = counted(query, budget, log)
        fires = query.condition.truth(found)
        members = [event for event in log if reference.is_member(query, event, 0)]
        counting = reference.bounded(query, budget, members)[0]
        for cell, room in enumerate(ROOMS):
            mine = [event for event in counting if event.room == room.encode()]
            values, centre = values_of(aggregate, query, mine), int(references[cell])
            direct = [each.total(values, centre) for each in decider.statistics]
            assert found[: len(direct), cell].tolist() == direct
            assert fires[cell] == outside(query, values, centre)


def outside(query, values, centre):
    """Tell whether a cell is outside its band, by the definition; nothing has no quantile."""
    band = query.band
    kind = band.decider.kind if hasattr(band.decider, "kind") else None
    if not isinstance(kind, Quantile):
        return abs(int(values.sum()) - centre) >= band.decider.tau
    if not values.size:
        return True
    rank = -(-values.size * kind.share.numerator // kind.share.denominator)
    return abs(int(np.sort(values)[rank - 1]) - centre) >= band.decider.tau


def with_ids(text):
    """Return a configuration whose events have ids."""
    return text.replace("unit: person\n", "unit: person\n    id: id\n")


@pytest.mark.long
@pytest.mark.parametrize("ids", [False, True], ids=["no ids", "ids"])
@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[-1]}")
def test_a_neighbour_moves_statistics_by_no_more_than_stated(tmp_path, case, unit, ids):
    """One event, or one person, less: each statistic by its D, what hist adds up by its cap."""
    aggregate, clip, tau, name = case
    band = f"ABS({aggregate} - REFERENCE) >= {tau}"
    text = text_of(band, decider=name, reference="30", budget=unit, clip=clip)
    query, budget = loaded(tmp_path, with_ids(text) if ids else text)
    stated = np.array(query.condition.sensitivities)[:, np.newaxis]
    for seed in range(2):
        rng = random.Random(seed)
        log = [replace(each, unit=rng.choice("ab"), room=b"bar") for each in sales(rng, 12)]
        whole = counted(query, budget, log)
        for gone in rng.sample(log, 4):
            rest = [each for each in log if each is not gone]
            if unit == USER:
                rest = [each for each in log if each.unit != gone.unit]
            other = counted(query, budget, rest)
            assert (np.abs(whole - other) <= stated).all()
            assert_moves_by_one(query, whole, other)


def assert_moves_by_one(query, whole, other):
    """Check what deciders take of several statistics together."""
    band = query.band
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
def test_an_id_that_comes_back_with_another_value(tmp_path, name, moved):
    """Under unit ``event`` the first of two leaves their number as it is, but not their ranks.

    So the margin of a median moves by two where one event goes; ``hist`` pays for each by itself.
    """
    query, budget = loaded(tmp_path, with_ids(text_of(MEDIAN, decider=name, reference="30")))
    low = Event(0, 0, 0, "ann", "x", b"bar", 1.0, open=True, size=12)
    log = [low, replace(low, offset=1, size=30), replace(low, offset=2, size=31, id="y")]
    both, one = counted(query, budget, log), counted(query, budget, log[1:])
    assert_moves_by_one(query, both, one)
    decider = query.band.decider
    assert decider.kind.events == moved
    if name == "tight":
        alone = replace(decider, kind=replace(decider.kind, events=1))
        steps = [alone.steps(each[:3], query.band.references) for each in (both, one)]
        assert np.abs(np.subtract(*steps)).max() == 2


# --- what the page says


PAGE = (ROOT / "docs" / "how-to" / "deviation-alarms.md").read_text()


def test_the_page_s_example_loads(tmp_path):
    """It has no error and no warning, and its budget carries it."""
    example, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    report = examined(tmp_path, example, usual="shop,orders\nnorth,200\nsouth,150\n")
    assert report.warnings == report.errors == ()
    assert budget_plan(report.alarms, plans_of(report.alarms)).fits


def test_the_page_s_errors_are_the_deciders_own(tmp_path):
    """Every probability of the table is that of the decider that the configuration makes."""
    table = PAGE.partition("<!-- errors -->")[2].partition("<!-- /errors -->")[0]
    rows = re.findall(r"\| (\d+)[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", table)
    assert len(rows) == 7
    for at, name in enumerate(("tight", "lm", "em")):
        decider = query_of(tmp_path, decider=name).band.decider
        for distance, *errors in rows:
            assert f"{decider.error(int(distance)):.4f}" == errors[at]
