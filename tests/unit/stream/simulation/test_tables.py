"""What a terminal shows fits it, whatever its width."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from stream.simulation import fitting
from stream.simulation.tables import percent, simulation_tables
from tests.support.simulated import alarm, near_the_threshold, simulated

if TYPE_CHECKING:
    from stream.simulation.results import Simulation


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    """Return a simulation whose tables have every column there is."""
    found = simulated(alarm(12), near_the_threshold(6, 12), mechanisms=("tslm", "probe-ent"))
    (results,) = found.results
    stricter = [
        replace(one, setting=replace(one.setting, aim=replace(one.setting.aim, max_fnr=rate)))
        for one in results.measured
        for rate in (one.setting.aim.max_fnr, Fraction(1, 1000))
    ]
    return replace(found, results=(replace(results, measured=tuple(stricter)),))


def lines(simulation: Simulation, width: int) -> list[str]:
    """Return what a terminal of a width shows."""
    out = io.StringIO()
    console = Console(width=width, file=out, soft_wrap=False)
    console.print(*simulation_tables(simulation), sep="\n")
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 61, 66, 72, 79, 80, 81, 100, 132, 200])
def test_tables_fit_and_nothing_is_cut_off(simulation: Simulation, width: int) -> None:
    """From 60 to 200 columns every figure stands whole on a line with all of its setting."""
    shown = lines(simulation, width)
    assert max(map(len, shown)) <= width
    text = "\n".join(shown)
    assert "\u2026" not in text
    for heading in ("true missed %", "false rang %", "median", "max_fnr", "fits", "entr."):
        assert heading in text
    words = [line.split() for line in shown]
    tables = sum(each[:1] == ["mechanism"] for each in words)
    (results,) = simulation.results
    for one in results.measured:
        setting = one.setting
        name = f"{setting.mechanism}{' *' * setting.configured} {setting.aim.tolerances[0]}"
        named = [*name.split(), f"{float(setting.aim.max_fnr):g}"]
        own = [each for each in words if each[: len(named)] == named]
        assert len(own) == tables
        figures = [*percent(one.fnr).split(), *percent(one.fpr).split(), f"{one.entropy:.3f}"]
        figures += [f"{one.losses.mean:.3g}", f"{one.losses.quantile(0.5):.3g}"]
        assert {word for each in own for word in each} >= set(figures)


def test_a_wide_terminal_has_two_tables_an_alarm(simulation: Simulation) -> None:
    """Columns go on below only where they must; a twin that never does is cut off."""
    tables = {
        width: sum(line.strip().startswith("mechanism ") for line in lines(simulation, width))
        for width in (60, 120)
    }
    assert tables[120] == 2
    assert tables[60] > 2


def test_a_table_that_never_goes_on_is_found_out(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin keeps all columns in one table, and loses figures at 60 columns."""
    monkeypatch.setattr(
        fitting.FittingTable, "_parts", lambda self, *_: iter([range(len(self.headings))])
    )
    with pytest.raises(AssertionError):
        test_tables_fit_and_nothing_is_cut_off(simulation, 60)
