"""Released counts are sums of stored noisy panes, whatever is killed; none leave with denials."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

from accountant.costs.charges import UniformCost
from operators.conditions.weights import Weight
from stream.config.alarms import panes
from stream.decisions.counts import counts_of
from stream.decisions.mechanisms import panes_of
from stream.decisions.records import decode_count, encode
from stream.decisions.release import Drawn, count_records, encode_fired
from stream.model.alarm import AggregateSpec
from stream.model.feeds import Domain
from stream.planning.details import detail_lines
from tests.statistical.enumeration import GivenNoise
from tests.support.checking import check
from tests.support.paned import alarm, configured, decided, rows
from tests.support.published import schema

SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"
COUNTED = alarm("counted", SLIDING, "COUNT(*) > 9", release="counts")
SILENT = alarm("silent", SLIDING, "COUNT(*) > 12")
ROOMS = ("hall", "lab")


def counted(decisions):
    """Return all counts that leave."""
    return [one for each in decisions for one in count_records(each)]


def test_a_count_is_what_the_noisy_panes_add_up_to(tmp_path):
    """Of the alarm that releases them alone, of each group, with its noise and its panes."""
    alarms = configured(tmp_path, COUNTED, SILENT, rooms=ROOMS, until="00:04")
    noise = GivenNoise(np.array([0, -9, 5, 0, -7, 1, 100, 0], dtype=np.int64))
    left = counted(decided(alarms, rows(tmp_path, (4, 0, 9, 2), ROOMS), noise=noise))
    assert [(one.alarm, one.group["room"], one.count) for one in left] == [
        ("counted", "hall", 13 + 0 + 5 - 7),
        ("counted", "lab", 13 - 9 + 0 + 1),
        ("counted", "hall", 11 + 5 - 7 + 100),
        ("counted", "lab", 11 + 0 + 1 + 0),
    ]
    (own,) = alarms.panes
    rate = float(noise.rates[0])
    q = math.exp(-rate)
    for one in left:
        jsonschema.validate(json.loads(encode(one)), schema("count"))
        assert decode_count(encode(one)) == one
        assert (one.noisy_panes, one.panes) == (own, 3)
        assert one.standard_deviation == pytest.approx(math.sqrt(3 * 2 * q) / (1 - q), rel=1e-5)
    assert len({one.count_id for one in left}) == 4


def test_releasing_counts_is_a_change_to_accept(tmp_path):
    """Of the alarm, not of the panes: these are the same, and their noise stays."""

    def written(release):
        one = alarm("counted", SLIDING, "COUNT(*) > 9", release=release)
        alarms = configured(tmp_path / str(release), one)
        assert not any(each.releases_counts for each in alarms.panes.values())
        panes = {name: each.fingerprint for name, each in alarms.panes.items()}
        return panes, alarms.by_name["counted"].fingerprint

    panes, counted = written("counts")
    assert written(None) == written("alarms")
    assert written(None)[0] == panes
    assert written(None)[1] != counted


def test_the_plan_says_how_noisy_the_counts_are(tmp_path):
    """Before any data is read, what every record will say; of others nothing."""
    alarms = configured(tmp_path, COUNTED, SILENT, until="00:04")
    (line,) = [line for line in detail_lines(alarms) if "noisy counts" in line]
    left = counted(decided(alarms, rows(tmp_path, (1,) * 4)))
    assert line == (
        "counted: its noisy counts leave for nothing more, with a standard deviation of"
        f" {left[0].standard_deviation:.3g}"
    )


def test_more_counts_than_a_row_holds_are_refused(tmp_path, monkeypatch):
    """At the key, before anything is charged; as many as it holds are let by."""
    configured(tmp_path, COUNTED, SILENT, rooms=ROOMS)
    file = tmp_path / "alarms.yaml"
    monkeypatch.setattr(panes, "_MOST_COUNTS", 2)
    assert check(file, environ={}) == []
    monkeypatch.setattr(panes, "_MOST_COUNTS", 1)
    (error,) = check(file, environ={})
    assert (
        file.read_text().splitlines()[error.line - 1] == "    mechanism: {panes: {release: counts}}"
    )
    assert "2 counts a window, more than 1" in error.message
    assert error.hint == "group by fewer fields, shorten a domain, or remove release"


HUGE = Fraction(10) ** 308


@pytest.mark.parametrize(
    ("resolution", "steps", "count"),
    [
        (Fraction(1), -3, -3),
        (Fraction(5), 7, 35),
        (Fraction(1, 100), -1234, -12.34),
        (Fraction(1, 3), 1, 1 / 3),
        (Fraction(1), 1 << 60, float(1 << 60)),
        (HUGE, 1 << 40, sys.float_info.max),
        (HUGE, -(1 << 40), -sys.float_info.max),
    ],
)
def test_sums_are_in_the_fields_own_unit(tmp_path, resolution, steps, count):
    """Whole where that is exact, else the nearest float: never what JSON cannot say."""
    query = configured(tmp_path, COUNTED).by_name["counted"]
    spec = AggregateSpec(Weight.SUM, field="n", lo=-1, hi=1, resolution=resolution)
    noise = SimpleNamespace(deviation=lambda panes: 2.0 * panes)  # in steps
    noisy = np.array([[steps - 1], [1]])
    found = counts_of(replace(query, aggregates=(spec,)), noise, noisy)
    assert (found.counts, found.panes) == ([count], 2)
    assert type(found.counts[0]) is type(count)
    deviation = min(4 * float(resolution), 1.79769e308)
    assert found.standard_deviation == pytest.approx(deviation, rel=1e-5)


@pytest.mark.parametrize("values", [(), (("x", "y", "z"), ("1", "2"))])
def test_counts_are_named_as_the_domain_numbers_them(tmp_path, values):
    """Of several fields, and of none, which is one group over everything."""
    domain = Domain(("a", "b")[: len(values)], values)
    query = replace(configured(tmp_path, COUNTED).by_name["counted"], domain=domain)
    found = counts_of(query, panes_of(query), np.arange(len(domain))[None])
    assert list(found.by_group()) == [(domain.group(cell), cell) for cell in range(len(domain))]


def test_others_are_stored_as_before(tmp_path):
    """Not a byte more: what older versions stored has the same digest."""
    query = configured(tmp_path, SILENT, rooms=ROOMS).by_name["silent"]
    fired = Drawn(np.array([False, True]), UniformCost(1, 2))
    assert encode_fired(query, fired) == b'[{"room":"lab"}]'
    spent = Drawn(np.zeros(2, np.bool_), UniformCost(1, 2), unanswered=2)
    assert encode_fired(query, spent) == b'{"fired":[],"late":[],"unanswered":2}'
    assert counts_of(query, panes_of(query), np.zeros((3, 2), dtype=np.int64)) is None
