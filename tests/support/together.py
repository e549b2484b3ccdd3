"""One server for all processes of a run: who needs it first starts it, and stops it after the last.

A broker costs seconds of a processor to start, and a little for as long as it is there. Locks are
the kernel's, a process's own: who dies has let go, and no child holds on.
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["together"]

T = TypeVar("T")


@contextmanager
def together(
    folder: Path, start: Callable[[], AbstractContextManager[T]], join: Callable[[], T]
) -> Iterator[T]:
    """Let a block use what others use at the same time, in other processes.

    Args:
        folder: theirs alone; made here.
        start: starts it, and stops it once nobody is left.
        join: reaches what another process has started.
    """
    folder.mkdir(exist_ok=True)
    ready = folder / "ready"
    with (folder / "beginning").open("a+") as beginning, (folder / "users").open("a+") as users:
        fcntl.lockf(beginning, fcntl.LOCK_EX)
        fcntl.lockf(users, fcntl.LOCK_SH)  # waits for the end of one that is being stopped
        if ready.exists():
            fcntl.lockf(beginning, fcntl.LOCK_UN)
            yield join()
            return
        with start() as started:
            ready.touch()
            fcntl.lockf(beginning, fcntl.LOCK_UN)
            try:
                yield started
            finally:
                fcntl.lockf(users, fcntl.LOCK_EX)  # waits for the last of the others
                ready.unlink()
