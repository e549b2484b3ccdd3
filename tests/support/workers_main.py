"""A command that runs workers which only write down what they are told.

Arguments are FOLDER COUNT HOW PATIENCE_S. HOW is ``willing``, ``deaf`` (SIGTERM does not end them),
``starting`` (they are not ready when they are told) or ``failing`` (worker 1 ends with exit code 4
once there is a file ``fail``).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from stream.cli import workers

if TYPE_CHECKING:
    from types import FrameType

_NAP_S = 0.05


def main() -> None:
    """Run the workers, or be one of them."""
    folder, count, how, patience_s = sys.argv[1:]
    workers._END_S = float(patience_s)
    place = workers.Place.taken()
    if place is None:
        sys.exit(workers.run_workers(int(count)))
    place.end_with_parent()
    _work(Path(folder), place.index, how)


def _work(folder: Path, index: int, how: str) -> None:
    def hear(number: int, _frame: FrameType | None) -> None:
        with (folder / f"{index}.heard").open("a", encoding="utf-8") as file:
            file.write(f"{signal.Signals(number).name}\n")
        if number != signal.SIGHUP and how != "deaf":
            sys.exit(143 if how == "starting" else 0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hear)
    begun = folder / f"{index}.begun"
    begun.write_text(str(os.getpid()), encoding="utf-8")
    begun.rename(folder / f"{index}.pid")
    while True:
        time.sleep(_NAP_S)
        if how == "failing" and index == 1 and (folder / "fail").exists():
            sys.exit(4)


if __name__ == "__main__":
    main()
