"""The protocol's models, searched in full by spin: ``python -m tests.model.check [NAME...]``.

Every variant names a promise and whether the model keeps it. Where it does, every state that can
be reached was seen; where it does not, spin stops at the first way in which the promise breaks.
What the models leave out stands in ``docs/dev/protocol.md``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["VARIANTS", "Search", "Variant", "search"]

_HERE = Path(__file__).parent
_TOOLS = {"spin": "spin", "gcc": "gcc"}
_MEGABYTES = 1_800
_DEEPEST = 200_000  # steps; the searches say how deep they were
_PATIENCE_S = 1_800

_STATES = re.compile(r"^ *([0-9.e+]+) states, stored", flags=re.MULTILINE)
_DEPTH = re.compile(r"depth reached (\d+), errors: (\d+)")
_INCOMPLETE = ("max search depth too small", "out of memory", "reached -DMEMLIM bound")


@dataclass(frozen=True)
class Variant:
    """A model, true or with one step broken.

    Args:
        name: of the variant.
        promise: what is looked at: ``all``, one of the assertions, or ``decided``, which is
            temporal and holds under weak fairness.
        kept: whether the promise holds.
        flags: what is defined: the step that is broken, and how much may happen.
        model: its file.
    """

    name: str
    promise: str
    kept: bool
    flags: tuple[str, ...] = ()
    model: str = "wall.pml"


@dataclass(frozen=True)
class Search:
    """What spin found.

    Args:
        broken: whether the promise was broken on some way.
        states: how many were stored.
        depth: steps of the longest way.
        said: all that the search printed.
    """

    broken: bool
    states: int
    depth: int
    said: str


def _wall(name, promise, *flags, kept=False, **bounds):
    """Return a variant on Kafka; what is not given happens at most once, and there are 3 starts."""
    given = {"STARTS": 3, "KILLS": 1, "TIMEOUTS": 0, "ARCHIVES": 0, "EDITS": 0} | bounds
    amounts = [f"{key}={value}" for key, value in given.items()]
    return Variant(name, promise, kept, (*amounts, *flags))


_ALONE = {"COPIES": 0, "CUSTODY": 0}
_AGED = {"TIMEOUTS": 1, "ARCHIVES": 1}

VARIANTS = (
    _wall("one ledger", "all", kept=True, **_ALONE, **_AGED),
    _wall("one ledger, two kills", "all", kept=True, **_ALONE, **_AGED | {"KILLS": 2, "STARTS": 4}),
    _wall("one ledger, three windows", "all", "WINDOWS=3", kept=True, **_ALONE, **_AGED),
    _wall("two ledgers", "all", kept=True),
    _wall("two ledgers, denials", "all", kept=True, KILLS=0, TIMEOUTS=1),
    _wall("two ledgers, an archive", "all", kept=True, KILLS=0, ARCHIVES=1),
    _wall("two ledgers, a changed file", "all", kept=True, EDITS=1),
    _wall("decided in the end", "decided", "LIVE", kept=True, **_ALONE, **_AGED),
    Variant("replays", "all", kept=True, model="replay.pml"),
    _wall("V1: only configured alarms", "wall", "CONFIGURED_ONLY", EDITS=1),
    _wall("V2: registered before compared", "wall", "REGISTERS_FIRST"),
    _wall("V3: two units", "wall", "TWO_UNITS", **_ALONE, EDITS=1),
    Variant("V4: files by name", "wall", False, ("NO_DIGEST",), "replay.pml"),
    _wall("V5: no claim", "wall", "NO_CLAIM", CUSTODY=0),
    Variant("V6: no heads", "wall", False, ("NO_HEADS",), "replay.pml"),
    _wall("two that draw without a claim", "holder", "NO_CLAIM", CUSTODY=0),
    _wall("a claim that is not read back", "holder", "NOT_READ_BACK", CUSTODY=0),
    _wall("heads are not said", "once", "NO_TOPIC_HEADS", CUSTODY=0),
    _wall("later than what was said", "once", "LATER_TOO", CUSTODY=0, TIMEOUTS=1),
    _wall("charged after the draw", "wall", "CHARGES_LATER", **_ALONE),
    _wall("published before it is stored", "charged", "PUBLISHES_FIRST", **_ALONE),
    _wall("published, killed, drawn again", "once", "PUBLISHES_FIRST", **_ALONE),
    _wall("a second draw is stored", "once", "OVERWRITES", **_ALONE),
    _wall("an archive forgets what is open", "wall", "FORGETS_OPEN", **_ALONE, ARCHIVES=1),
    _wall("a refused window is not ended", "decided", "LIVE", "SILENT_REFUSALS", **_ALONE),
    Variant("heads are not synced", "wall", False, ("NO_SYNC",), "replay.pml"),
    Variant("heads after the print", "wall", False, ("HEADS_LATER",), "replay.pml"),
    _wall("charged though it went on", "wall", "DREW_MEANWHILE"),
    _wall("claimed while workers run", "wall", "CLAIMS_WHILE_RUNNING"),
)


def search(variant: Variant) -> Search:
    """Search every state of a model, or up to the first that breaks its promise.

    Raises:
        RuntimeError: spin or gcc is missing, or the search is not of every state.
    """
    for command, package in _TOOLS.items():
        if shutil.which(command) is None:
            raise RuntimeError(f"missing: {command}, of Debian's package {package!r}")
    with tempfile.TemporaryDirectory() as folder:
        said = _searched(variant, Path(folder))
    depth, states = _DEPTH.search(said), _STATES.search(said)
    if depth is None or states is None or any(words in said for words in _INCOMPLETE):
        raise RuntimeError(f"{variant.name}: not every state was seen\n{said}")
    return Search(depth[2] != "0", int(float(states[1])), int(depth[1]), said)


def _searched(variant, folder):
    lives = variant.promise == "decided"
    flags = [f"-D{flag}" for flag in variant.flags]
    if variant.promise not in {"all", "decided"}:
        flags.append(f"-DONLY={variant.promise}")
    kind = ["-DNFAIR=3"] if lives else ["-DSAFETY"]
    limits = ["-DCOLLAPSE", f"-DMEMLIM={_MEGABYTES}"]
    _run(folder, "spin", "-a", *flags, str(_HERE / variant.model))
    _run(folder, "gcc", "-O1", "-w", *kind, *limits, "-o", "pan", "pan.c")
    return _run(folder, "./pan", f"-m{_DEEPEST}", *(["-a", "-f"] if lives else []))


def _run(folder, *command):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def main(names: list[str]) -> int:
    """Search the variants of these names, or all; print a line for each."""
    wrong = 0
    for variant in VARIANTS:
        if names and variant.name not in names:
            continue
        found = search(variant)
        as_said = found.broken is not variant.kept
        wrong += not as_said
        print(
            f"{'ok   ' if as_said else 'WRONG'} {variant.name:33} {variant.promise:8}"
            f"{'broken' if found.broken else 'kept':7} {found.states:>9,} states,"
            f" {found.depth} deep",
            flush=True,
        )
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
