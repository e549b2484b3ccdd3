"""Tables that fit a terminal: columns beyond its width go on in another table below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["FittingTable", "Row"]

_WIDEST_NAME: Final = 16  # of a setting's cell: a longer one is folded
_ENDLESS: Final = 10_000  # columns of a terminal that every table fits


@dataclass(frozen=True, slots=True)
class Row:
    """One setting.

    Args:
        names: what tells it apart, first in every table.
        cells: what is said of it.
        style: of the whole row.
    """

    names: Sequence[str]
    cells: Sequence[str]
    style: str


@dataclass(frozen=True, slots=True)
class FittingTable:
    """A table, or as many as the width asks for, each with the settings' names.

    Args:
        names: headings of the first columns.
        headings: of the others.
        rows: in order.
        caption: below.
    """

    names: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Row]
    caption: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the tables one below the other."""
        for columns in self._parts(console, options.max_width):
            yield self._table(columns)
        yield Text(self.caption, style="dim italic")

    def _parts(self, console: Console, width: int) -> Iterator[range]:
        """Yield which columns each table has, as many as fit and at least one."""
        first = 0
        unbounded = console.options.update(max_width=_ENDLESS)
        for at in range(1, len(self.headings) + 1):
            wide = console.measure(self._table(range(first, at)), options=unbounded).maximum
            if at - 1 > first and wide > width:
                yield range(first, at - 1)
                first = at - 1
        yield range(first, len(self.headings))

    def _table(self, columns: range) -> Table:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for at, heading in enumerate(self.names):
            table.add_column(
                heading,
                justify="right" if at else "left",
                overflow="fold",
                max_width=_WIDEST_NAME,
                no_wrap=not at,
            )
        for at in columns:
            table.add_column(self.headings[at], justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*row.names, *(row.cells[at] for at in columns), style=row.style)
        return table
