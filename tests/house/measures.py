"""The measures of the layout: printed, and held, by ``python -m tests.house.measures``.

They keep the tree one in which a newcomer finds a thing by the names of folders. What may import
what is said by import-linter in ``pyproject.toml``; here it is how many rooms there are, how deep
they stand upon each other, how long their files are, and how often code outside a mechanism's
descriptor asks which mechanism it has.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from operators import registry
from tests.house.imports import Package
from tests.house.mechanisms import Named, places
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

PACKAGES = ("stream", "accountant", "operators")
MOST_ROOMS = 15
LONGEST_WAY = 7
MOST_PLACES = 5
MOST_LINES = 600
MEDIAN_LINES = 190

DESCRIPTORS = (
    "operators.registry",
    "operators.single",
    "operators.formulas",
    "operators.svt",
    "operators.deciders",
    "operators.panes",
)
"""Where mechanisms are described and made: their own names stand there, and nowhere else."""

KEYS = ("decider",)
"""Mechanisms of the same name as a key of alarms: a text of it says nothing of a mechanism."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of the tree, and the most it may be.

    Args:
        what: is counted.
        found: the figure.
        most: that may be.
        where: what it was counted from, for whoever has to bring it down.
    """

    what: str
    found: int
    most: int
    where: Sequence[str] = ()

    @property
    def held(self) -> bool:
        """Whether the figure is within its bound."""
        return self.found <= self.most


def measures(root: Path, names: Collection[str]) -> Iterator[Measure]:
    """Yield every measure of a tree.

    Args:
        root: the folder that the packages stand in.
        names: of the mechanisms, as configurations have them.
    """
    packages = [Package(root / name) for name in PACKAGES]
    stream = packages[0]
    yield Measure("rooms under stream", len(stream.rooms), MOST_ROOMS, stream.rooms)
    for package in packages:
        way = package.longest_way()
        shown = [" > ".join(way)]
        yield Measure(f"longest way in {package.folder.name}", len(way) - 1, LONGEST_WAY, shown)
    circles = [" - ".join(circle) for package in packages for circle in package.circles()]
    yield Measure("circles", len(circles), 0, circles)
    yield _places(packages, names)
    lines = _lines(root, packages)
    longest = max(lines, key=lambda name: lines[name])
    yield Measure("longest file, lines", lines[longest], MOST_LINES, [longest])
    files = [count for name, count in lines.items() if not name.endswith("__init__.py")]
    yield Measure("median file, lines", median_low(files), MEDIAN_LINES)


def _places(packages, names):
    files = {
        module: path.read_text() for package in packages for module, path in package.modules.items()
    }
    homes = {
        module: any(f"{module}.".startswith(f"{home}.") for home in DESCRIPTORS) for module in files
    }
    named = Named.by(names, (text for module, text in files.items() if homes[module]))
    found = [
        f"{module}:{line}"
        for module, text in files.items()
        if not homes[module]
        for line in places(text, named)
    ]
    return Measure("places that name a mechanism", len(found), MOST_PLACES, found)


def _lines(root, packages):
    paths = [path for package in packages for path in package.modules.values()]
    return {str(path.relative_to(root)): _count(path) for path in paths}


def _count(path):
    return len(path.read_text().splitlines())


def main() -> int:
    """Print every measure of this tree; return 1 where one is beyond its bound."""
    names = [name for name in registry.ALL if name not in KEYS]
    failed = False
    for measure in measures(ROOT, names):
        print(f"{measure.what:30} {measure.found:4} of {measure.most}")
        if not measure.held:
            failed = True
            print("\n".join(f"    {each}" for each in measure.where))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
