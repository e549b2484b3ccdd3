"""The measures of the layout see what they should, in trees made to break each of them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests.house import measures as house
from tests.house.imports import Package
from tests.house.mechanisms import Named, places
from tests.support.tree import ROOT

DESCRIPTOR = """\
class Svt:
    plan: Plan
    def decide(self): ...
class Grid:
    plan: Plan
SVT: Final = Mechanism(name="svt")
MOST: Final = 10
"""
NAMED = Named.by(("tslm", "svt"), [DESCRIPTOR])
SOUND = {
    "stream/__init__.py": "",
    "stream/cli/__init__.py": "'''The command.'''",
    "stream/cli/main.py": "from stream.model import alarm\nimport operators.registry\n",
    "stream/model/__init__.py": "",
    "stream/model/alarm.py": "from stream.windows import Calendar\n",
    "stream/windows.py": "class Calendar: ...\n",
    "stream/py.typed": "",
    "accountant/__init__.py": "from accountant.units import UNIT\n",
    "accountant/units.py": "UNIT = 1\n",
    "operators/__init__.py": "",
    "operators/registry.py": "NAMES = ('tslm', 'svt')\nSvt = object\n",
}
"""A tree within every bound: cli > model > windows."""


def tree(root, **changed):
    """Write the sound tree, with other files in it, and return its root."""
    for name, text in (SOUND | changed).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def found(root):
    """Return the measures of a tree by what they count."""
    return {each.what: each for each in house.measures(root, ("tslm", "svt"))}


def broken(root, changed):
    """Return what is beyond its bound in the sound tree with other files in it."""
    return {what for what, each in found(tree(root, **changed)).items() if not each.held}


def test_a_sound_tree_is_measured(tmp_path):
    """Rooms, ways and lines are counted as they are; ``py.typed`` and ``__init__`` are no rooms."""
    counted = found(tree(tmp_path))
    assert {what: each.found for what, each in counted.items()} == {
        "rooms under stream": 3,
        "longest way in stream": 2,
        "longest way in accountant": 0,
        "longest way in operators": 0,
        "circles": 0,
        "places that name a mechanism": 0,
        "longest file, lines": 2,
        "median file, lines": 1,
    }
    assert counted["rooms under stream"].where == ("cli", "model", "windows")
    assert counted["longest way in stream"].where == ["cli > model > windows"]


def rooms(count):
    """Return that many rooms beside the three of the sound tree."""
    return {f"stream/room{number}.py": "" for number in range(count)}


def stairs(arrows):
    """Return rooms of which each imports the next, the last one ``windows``."""
    names = [f"step{number}" for number in range(arrows)] + ["windows"]
    return {f"stream/{name}.py": f"from stream import {below}\n" for name, below in pairwise(names)}


@pytest.mark.parametrize(
    ("most", "above", "what"),
    [
        (rooms(12), rooms(13), "rooms under stream"),
        (stairs(7), stairs(8), "longest way in stream"),
        (
            {"operators/long.py": "x = 1\n" * 600},
            {"operators/long.py": "x = 1\n" * 601},
            "longest file, lines",
        ),
        (
            {f"operators/few{at}.py": "x = 1\n" * 190 for at in range(11)},
            {f"operators/many{at}.py": "x = 1\n" * 191 for at in range(11)},
            "median file, lines",
        ),
        (
            {"stream/cli/plan.py": "name = 'svt'\n" * 5},
            {"stream/cli/plan.py": "name = 'svt'\n" * 6},
            "places that name a mechanism",
        ),
    ],
)
def test_one_more_is_too_much(tmp_path, most, above, what):
    """A bound holds for what lies on it and for nothing above."""
    assert broken(tmp_path / "most", most) == set()
    assert broken(tmp_path / "above", above) == {what}


@pytest.mark.parametrize(
    "back",
    [
        "from stream.cli.main import command\n",
        "import stream.cli.main\n",
        "from stream.cli import main\n",
        "from .cli import main\n",
        "def late():\n    from stream.cli.main import command\n",
        "if TYPE_CHECKING:\n    from stream.cli.main import command\n",
    ],
)
def test_a_circle_is_seen_however_it_is_written(tmp_path, back):
    """An import back closes a circle of rooms and of files, for readers of types too."""
    root = tree(tmp_path, **{"stream/windows.py": back})
    circles = Package(root / "stream").circles()
    assert ["cli", "model", "windows"] in circles
    assert ["stream.cli.main", "stream.model.alarm", "stream.windows"] in circles
    assert not found(root)["circles"].held


def test_a_circle_within_a_room_is_seen(tmp_path):
    """Two files of one room that import each other are a circle, of files alone."""
    changed = {
        "accountant/store/__init__.py": "",
        "accountant/store/rows.py": "from accountant.store import chain\n",
        "accountant/store/chain.py": "from accountant.store.rows import row\n",
    }
    assert broken(tmp_path, changed) == {"circles"}
    expected = [["accountant.store.chain", "accountant.store.rows"]]
    assert Package(tmp_path / "accountant").circles() == expected


def test_a_circle_of_rooms_without_one_of_files_is_seen(tmp_path):
    """Two rooms import each other although no two files do."""
    changed = {
        "stream/model/late.py": "import stream.cli.words\n",
        "stream/cli/words.py": "",
    }
    assert Package(tree(tmp_path, **changed) / "stream").circles() == [["cli", "model"]]


@pytest.mark.parametrize(
    "line",
    [
        "if mechanism == 'svt': ...",
        "from operators.registry import RUN_MECHANISMS",
        "from operators.svt.mechanism import SVT",
        "kept = mechanism is SVT",
        "kept = isinstance(operator, Svt)",
        "kept = isinstance(operator, Svt | int)",
        "kept = isinstance(operator, (int, Svt))",
        "kept = alarm.band is not None",
        "band = None if alarm.band is None else alarm.band.feed",
    ],
)
def test_places_are_lines_that_ask_which_mechanism_it_is(line):
    """A name, a constant of names, a class, or a band: code that a new mechanism must visit."""
    assert places(f"x = 1\n{line}\n", NAMED) == [2]


@pytest.mark.parametrize(
    "line",
    [
        "'''Mechanism svt, in words.'''",
        "hint = 'write mechanism: svt'",
        "kept = isinstance(operator, int)",
        "kept = isinstance(operator, Grid) or most > MOST",
        "kept = band is None",
        "kept = descriptor.keeps_a_run",
    ],
)
def test_words_and_other_questions_are_no_places(line):
    """A new mechanism leaves them as they are."""
    assert places(f"x = 1\n{line}\n", NAMED) == []


def test_descriptors_may_name_themselves(tmp_path):
    """What stands in a descriptor is no place, and a folder of a like name is no descriptor."""
    named = "NAME = 'svt'\n" * 6
    assert broken(tmp_path / "home", {"operators/svt/mechanism.py": named}) == set()
    away = broken(tmp_path / "away", {"operators/svt_words/mechanism.py": named})
    assert away == {"places that name a mechanism"}


def test_units_mirror_the_source():
    """Every folder of unit tests stands where the folder it tests stands in the source."""
    units = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(units) for path in units.rglob("test_*.py")}
    assert {str(folder) for folder in folders if not (ROOT / folder).is_dir()} == set()


def test_examples_are_copied_in_one_place():
    """A test that copied them by itself could take the ledger of ``make demo`` along."""
    tests = ROOT / "tests"
    copying = {
        str(path.relative_to(tests))
        for path in tests.rglob("*.py")
        if re.search(r"copytree\([^)]*examples", path.read_text(), re.IGNORECASE)
    }
    assert copying == {"support/examples.py"}
