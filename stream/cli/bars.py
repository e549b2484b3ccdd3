"""How far a long piece of work is, as a person at a terminal sees it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["bar"]


@contextmanager
def bar(description: str, *, lasting: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, there when all is done or not; yield what moves it."""
    console = Console(stderr=True)
    nobody = not lasting and not console.is_terminal
    with Progress(console=console, transient=not lasting, disable=nobody) as progress:
        task = progress.add_task(description, total=None)

        def update(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield update
