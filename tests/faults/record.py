"""What a campaign lived through, a line a seed and a mutant, so that it can be gone on with.

A campaign takes an hour and more. Its record grows as it goes: whoever starts it again on the same
record lives through what is not in there yet. The first line names the code that was run; a record
of other code is refused, because its seeds lived in another world.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.faults.world import Outcome
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Found", "Record", "code"]

_PACKAGES: Final = ("accountant", "operators", "stream", "tests/faults")
_BESIDE: Final = frozenset(
    {"__main__.py", "campaign.py", "record.py", "report.py", "test_faults.py"}
)
"""Modules of ``tests/faults`` that start worlds and tell of them, and that no world has in it."""


@dataclass(frozen=True, slots=True)
class Found:
    """By which seed a mutant was found.

    Args:
        seed: the first one; ``None`` where none did.
        violation: what was seen then.
        seeds: how many it was given.
    """

    seed: int | None
    violation: str
    seeds: int


class Record:
    """What came of seeds and of mutants, in a file that each is added to at once.

    Args:
        path: of the file; made where there is none.
        of: the code that is run.

    Raises:
        ValueError: it is a record of other code.
    """

    def __init__(self, path: Path, *, of: str) -> None:
        self._path = path
        self.outcomes: dict[int, Outcome] = {}
        self.found: dict[str, Found] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        lines = list(self._whole_lines())
        if not lines:
            self._append({"code": of})
        elif lines[0] != {"code": of}:
            raise ValueError(f"{path} is a record of other code: remove it, or name another")
        for line in lines[1:]:
            self._take(line)

    def lived(self, outcome: Outcome) -> None:
        """Add what came of a seed."""
        self.outcomes[outcome.seed] = outcome
        self._append(_plain(outcome))

    def hunted(self, mutant: str, found: Found) -> None:
        """Add by which seed a mutant was found."""
        self.found[mutant] = found
        self._append({"mutant": mutant, **_plain(found)})

    def _whole_lines(self) -> Iterator[dict[str, Any]]:
        whole, newline, _ = self._path.read_bytes().rpartition(b"\n")
        self._path.write_bytes(whole + newline)  # without one that an end cut off
        return map(json.loads, whole.splitlines())

    def _take(self, line: dict[str, Any]) -> None:
        if "mutant" in line:
            mutant = line.pop("mutant")
            self.found[mutant] = Found(**line)
        else:
            line |= {name: Counter(line[name]) for name in ("happened", "windows")}
            self.outcomes[line["seed"]] = Outcome(**line)

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")


def code() -> str:
    """Return a digest of all modules that a seed's world is made of."""
    digest, here = sha256(), Path(__file__).parent
    for path in sorted(path for each in _PACKAGES for path in (ROOT / each).rglob("*.py")):
        if path.parent == here and path.name in _BESIDE:
            continue
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _plain(one: Outcome | Found) -> dict[str, Any]:
    return {each.name: getattr(one, each.name) for each in fields(one)}
