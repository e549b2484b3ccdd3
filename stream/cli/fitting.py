"""Tables as wide as they need to be, and the same as words where a terminal is too narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

__all__ = ["Fitting"]

_ENDLESS: Final = 10_000
_CUT: Final = "…"
_NAME: Final = 8  # columns that a name may be folded to before a table is told in words


@dataclass(frozen=True, slots=True)
class Fitting:
    """A table of one row per alarm, whose cells are never cut off.

    Where its longest words do not stand side by side, a row is its first cell and, beside it, each
    other cell after its heading.

    Args:
        table: of cells that are texts.
    """

    table: Table

    @classmethod
    def of(
        cls,
        title: str,
        left: Sequence[str],
        right: Iterable[str],
        rows: Iterable[Sequence[RenderableType]],
        caption: str = "",
    ) -> Fitting:
        """Return a table.

        Args:
            title: above it; "" for none.
            left: headings of its first columns, the first of which is folded where it must be.
            right: of those after them, which are aligned to the right.
            rows: a cell a column.
            caption: below; "" for none.
        """
        table = Table(title=title or None, caption=caption or None)
        table.title_justify = table.caption_justify = "left"
        for heading in left:
            table.add_column(heading, overflow="ellipsis" if table.columns else "fold")
        for heading in right:
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(*row)
        return cls(table)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or its words."""
        yield self.table if self._fits(console, options) else self._in_words()

    def _fits(self, console: Console, options: ConsoleOptions) -> bool:
        if self._needs(console, options) > options.max_width:
            return False
        # rich narrows all columns alike, some below their longest word before others have to give
        drawn = console.render_lines(self.table, options)
        return not any(_CUT in segment.text for line in drawn for segment in line)

    def _needs(self, console: Console, options: ConsoleOptions) -> int:
        endless = options.update(max_width=_ENDLESS)
        needed = Measurement.get(console, endless, self.table).minimum
        first = self.table.columns[0]
        longest = max(
            (Measurement.get(console, endless, cell).minimum for cell in first.cells), default=0
        )
        return needed - (max(0, longest - _NAME) if first.overflow == "fold" else 0)

    def _in_words(self) -> Table:
        first, *others = self.table.columns
        told = Table(
            title=self.table.title,
            title_justify="left",
            caption=self.table.caption,
            caption_justify="left",
            show_header=False,
        )
        told.add_column(overflow="fold")
        told.add_column(overflow="fold")
        rows = zip(*(column.cells for column in self.table.columns), strict=True)
        for name, *cells in rows:
            pairs = zip(others, cells, strict=True)
            words = [f"{_words(of.header)} {_words(cell)}" for of, cell in pairs if _words(cell)]
            told.add_row(name, Text(", ".join(words)), end_section=True)
        if _words(first.header):
            told.columns[0].header = first.header
        return told


def _words(cell: RenderableType) -> str:
    """Return a cell's text on one line."""
    text = cell.plain if isinstance(cell, Text) else str(cell)
    return " ".join(text.split())
