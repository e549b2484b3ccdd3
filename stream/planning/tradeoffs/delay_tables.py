"""How often to look, as a table for a person and as JSON lines for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from stream.model.numbers import decimal
from stream.planning.fitting import Fitting
from stream.windows.shown import delay_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.planning.tradeoffs.delays import Paced, Pacing

__all__ = ["pacing_lines", "pacing_tables"]


def pacing_tables(pacings: Sequence[Pacing]) -> list[Fitting]:
    """Return a table an alarm: what an event pays against the expected delay.

    Args:
        pacings: of all alarms.
    """
    return [Fitting(_table(each)) for each in pacings]


def _table(pacing: Pacing) -> Table:
    table = Table(
        title=f"{pacing.query}: how often to look at {delay_text(pacing.window_ms)}",
        title_justify="left",
    )
    kinds = list(dict.fromkeys((way.mechanism, way.windows) for way in pacing.ways))
    table.add_column("looks", justify="right")
    table.add_column("every", justify="right")
    for mechanism, windows in kinds:
        table.add_column(f"{mechanism}\n{windows}", justify="right")
    for looks in dict.fromkeys(way.looks for way in pacing.ways):
        ways = [way for way in pacing.ways if way.looks == looks]
        known = {(way.mechanism, way.windows): way for way in ways}
        cells = (_cell(known[kind]) if kind in known else "" for kind in kinds)
        table.add_row(str(looks), delay_text(ways[0].step_ms), *cells)
    table.caption = (
        "epsilon of an event, and how long after a jump it rings, on average: the count goes to"
        f" {decimal(pacing.jumps_to)}, a tolerance beyond the first that should ring, as the window"
        " begins, and stays; * as configured; <= no more than this"
    )
    table.caption_justify = "left"
    return table


def _cell(way: Paced) -> str:
    most = "" if way.exact else "<= "
    return f"{float(way.epsilon):.3f}{' *' * way.used}\n{most}{delay_text(way.delay_ms)}"


def pacing_lines(pacings: Sequence[Pacing]) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object a way.

    Args:
        pacings: of all alarms.
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
                "epsilon": f"{float(way.epsilon):.12f}",
                "delay_s": float(f"{way.delay_ms / 1000:.6g}"),
                "exact": way.exact,
            }
