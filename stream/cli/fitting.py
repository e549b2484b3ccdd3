"""Tables of a terminal: cells are folded where they must be, and never cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

__all__ = ["fitting"]


def fitting(
    title: str,
    left: Sequence[str],
    right: Iterable[str],
    rows: Iterable[Sequence[RenderableType]],
    caption: str = "",
) -> Table:
    """Return a table.

    Args:
        title: above it.
        left: headings of its first columns.
        right: of those after them, which are aligned to the right.
        rows: a cell a column.
        caption: below; "" for none.
    """
    table = Table(title=title, caption=caption or None, title_justify="left")
    table.caption_justify = "left"
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, overflow="fold", justify="right")
    for row in rows:
        table.add_row(*row)
    return table
