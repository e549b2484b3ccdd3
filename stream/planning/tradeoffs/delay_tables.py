"""How often to look, as a table for a person and as JSON lines for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import to_loss_units
from stream.model.losses import loss_name, rounded_loss
from stream.model.numbers import decimal
from stream.planning.fitting import Fitting
from stream.windows.shown import delay_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.loss.gaussian import Gaussian
    from stream.planning.tradeoffs.delays import Paced, Pacing

__all__ = ["pacing_lines", "pacing_tables"]


def pacing_tables(pacings: Sequence[Pacing], gaussian: Gaussian | None = None) -> list[Fitting]:
    """Return a table an alarm: what an event pays against the expected delay.

    Args:
        pacings: of all alarms.
        gaussian: what the budget promises; ``None`` for a pure one.
    """
    return [_table(each, gaussian) for each in pacings]


def _table(pacing: Pacing, gaussian: Gaussian | None) -> Fitting:
    kinds, rows = list(dict.fromkeys((way.mechanism, way.windows) for way in pacing.ways)), []
    for looks in dict.fromkeys(way.looks for way in pacing.ways):
        ways = [way for way in pacing.ways if way.looks == looks]
        known = {(way.mechanism, way.windows): way for way in ways}
        cells = (_cell(known[kind], gaussian) if kind in known else "" for kind in kinds)
        rows.append((str(looks), delay_text(ways[0].step_ms), *cells))
    return Fitting.of(
        f"{pacing.query}: how often to look at {delay_text(pacing.window_ms)}",
        (),
        ("looks", "every", *map("\n".join, kinds)),
        rows,
        f"{loss_name(gaussian)} of an event, and how long after a jump it rings, on average: the"
        f" count goes to {decimal(pacing.jumps_to)}, a tolerance beyond the first that should ring,"
        " as the window begins, and stays; * as configured; <= no more than this",
    )


def _cell(way: Paced, gaussian: Gaussian | None) -> str:
    most = "" if way.exact else "<= "
    loss = rounded_loss(gaussian, to_loss_units(way.epsilon))
    return f"{loss}{' *' * way.used}\n{most}{delay_text(way.delay_ms)}"


def pacing_lines(
    pacings: Sequence[Pacing], gaussian: Gaussian | None = None
) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object a way.

    Args:
        pacings: of all alarms.
        gaussian: what the budget promises; ``None`` for a pure one.
    """
    for pacing in pacings:
        for way in pacing.ways:
            yield {
                "record": "delay",
                "alarm": pacing.query,
                "window_s": pacing.window_ms / 1000,
                "jumps_to": float(pacing.jumps_to),
                "mechanism": way.mechanism,
                "windows": way.windows,
                "looks": way.looks,
                "step_s": way.step_ms / 1000,
                "configured": way.used,
                loss_name(gaussian): f"{float(way.epsilon):.12f}",
                "delay_s": float(f"{way.delay_ms / 1000:.6g}"),
                "exact": way.exact,
            }
