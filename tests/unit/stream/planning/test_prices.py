"""Which comparison sets the price, and what a wider tolerance of it would save."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from stream.config.alarms.tolerances import aim_with
from stream.decisions.mechanisms import price_of
from stream.planning.prices import price_setter
from tests.support.commands import tocsin
from tests.support.planned import Alarm, Config

if TYPE_CHECKING:
    from pathlib import Path

OR = "COUNT(*) FILTER (WHERE paid > 1) > 30 OR COUNT(DISTINCT person) > 120"
FILTERED = "COUNT(*) FILTER(WHERE paid > 1) > 30"


def priced(tmp_path: Path, having: str, *tolerances: int) -> Config:
    """Return a file of one alarm, its tolerances in the order of its comparisons."""
    alarm = Alarm(having=having, tolerance="0")
    config = Config({"one": alarm}, epsilon_max="400")
    texts = config.load(tmp_path).by_name["one"].texts
    written = ", ".join(f'"{text}": {each}' for text, each in zip(texts, tolerances, strict=True))
    return replace(config, alarms={"one": replace(alarm, tolerance=f"{{{written}}}")})


@pytest.mark.parametrize(
    ("having", "tolerances", "sets", "wider"),
    [
        (OR, (2, 5), (FILTERED,), (5,)),
        # Two are tied: both have to be wider. All are: there is no next one.
        ("COUNT(*) > 90 AND COUNT(DISTINCT person) > 50 AND SUM(paid) > 99", (3, 3, 40), 2, (8, 8)),
        ("COUNT(*) > 90 AND COUNT(DISTINCT person) > 50", (3, 3), 2, ()),
        # As many steps as lead from what rings to what must not, on one statistic: none but the
        # first sets them, whose tolerance no other one's is wider than.
        ("COUNT(*) > 100 OR COUNT(*) > 200", (5, 0), ("COUNT(*) > 100",), ()),
        # A guard, which averages have, sets nothing.
        ("AVG(paid) > 2 OR COUNT(*) > 90", (10, 20), ("AVG(paid) > 2",), None),
        # No more than leaves an empty cell quiet: the price of that is told.
        ("COUNT(*) > 5 AND COUNT(DISTINCT person) > 90", (1, 40), ("COUNT(*) > 5",), (5,)),
    ],
)
def test_what_sets_the_price_is_named(
    tmp_path: Path,
    having: str,
    tolerances: tuple[int, ...],
    sets: tuple[str, ...] | int,
    wider: tuple[int, ...] | None,
) -> None:
    """And what it would cost is what the widened alarm costs; less of it saves less."""
    query = priced(tmp_path, having, *tolerances).load(tmp_path).by_name["one"]
    found = price_setter(query, None)
    assert found.comparisons == (query.texts[:sets] if isinstance(sets, int) else sets)
    own = price_of(query).epsilon
    asked = dict(zip(query.texts, query.aim.tolerances, strict=True))
    if found.epsilon is None:
        assert found.wider == wider == ()
        return
    assert wider is None or found.wider == tuple(map(Fraction, wider))
    per_unit = {
        text: query.aggregates[query.condition.atoms[name].statistic].per_unit
        for text, name in zip(query.texts, query.condition.formula.atoms, strict=True)
    }
    for text, each in zip(found.comparisons, found.wider, strict=True):
        asked[text] = int(each / per_unit[text])
    assert price_of(query, aim_with(query, [*asked.values()])).epsilon == found.epsilon < own
    if len(found.comparisons) > 1:  # one of them alone saves nothing
        asked[found.comparisons[0]] = query.aim.tolerances[0]
        assert price_of(query, aim_with(query, [*asked.values()])).epsilon == own


@pytest.mark.parametrize(
    ("having", "extra"),
    [("COUNT(*) > 90", {}), (OR, {"mechanism": "probe"}), (OR, {"mechanism": "probe-ent"})],
)
def test_one_comparison_or_a_sum_of_losses_has_no_setter(
    tmp_path: Path, having: str, extra: dict[str, str]
) -> None:
    """Nothing is said where it says nothing."""
    alarm = Alarm(having=having, tolerance="2", extra=extra)
    query = Config({"one": alarm}, epsilon_max="400").load(tmp_path).by_name["one"]
    assert price_setter(query, None) is None


def test_details_name_what_sets_the_price(tmp_path: Path) -> None:
    """One sentence a condition."""
    path = priced(tmp_path, OR, 2, 5).write(tmp_path)
    shown = tocsin("plan", path, "--details").stdout
    assert "with tolerance 2 sets the cost; with tolerance 5 it would be 0.415" in shown
