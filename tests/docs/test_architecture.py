"""The pages for contributors name what is there, and their tables say what import-linter holds."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec

import pytest

from accountant.log import entries
from tests.support.names import functions
from tests.support.tree import ROOT, blocks, cells, text_of

PACKAGES = ("stream", "accountant", "operators")
ARCHITECTURE = text_of("docs/dev/architecture.md")
CONTRIBUTING = text_of("CONTRIBUTING.md")
CONTRACTS = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]


@pytest.mark.parametrize("text", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_path_and_module_exists(text):
    """Files, folders, modules and tests that a page names are in the tree."""
    quoted = set(re.findall(r"`([\w./:-]+)`", text)) | set(_drawn(text))
    paths = {one for one in quoted if "/" in one}
    modules = {one for one in quoted - paths if one.split(".")[0] in PACKAGES}
    assert len(paths) > 20
    assert sorted(path for path in paths if not _exists(path)) == []
    assert sorted(name for name in modules if not _is_there(name)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_says_what_the_contracts_hold(package):
    """Each room may import, by the page, exactly what import-linter lets it."""
    allowed = _by_contracts(package)
    assert _by_the_page(ARCHITECTURE, package) == allowed
    folder = ROOT / package
    rooms = {one.name for one in folder.iterdir() if (one / "__init__.py").is_file()}
    files = {one.stem for one in folder.glob("*.py")} - {"__init__"}
    assert set(allowed) == rooms | files


def test_a_table_of_other_directions_is_caught():
    """A room that is let in deeper, or moved, or left out, is another table."""
    held = _by_the_page(ARCHITECTURE, "stream")
    for old, new in (
        ("`planning` and below, but not `config`", "`planning` and below"),
        ("| `replay` and below |", "| `planning` and below |"),
        ("| `metrics` | the public", "| `meters` | the public"),
    ):
        assert old in ARCHITECTURE
        assert _by_the_page(ARCHITECTURE.replace(old, new, 1), "stream") != held


def test_every_promise_names_its_files_and_tests():
    """The twelve promises are there, each with what keeps it and what fails without."""
    section = ARCHITECTURE.partition("## Promises\n")[2].partition("\n## ")[0]
    promises = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]
    assert len(promises) == 12
    for promise in promises:
        kept, _, fails = promise.partition("Fails:")
        assert re.search(r"Kept by\s+`[\w/.]+\.(py|yml)`", kept), promise
        assert re.search(r"`tests/[\w/]+\.py", fails), promise


def test_every_kind_of_entry_is_in_the_table():
    """The table of the ledger's entries names each kind once, and no other."""
    section = ARCHITECTURE.partition("| entry | says |\n")[2].partition("\n\n")[0]
    named = [name for row in cells(section) for name in re.findall(r"`(\w+)`", row[0])]
    kinds = [one.kind for one in entries.Entry.__subclasses__()]
    assert sorted(named) == sorted(kinds)


def _drawn(text):
    """Yield the paths in the drawings of a page."""
    for block in blocks(text, "text"):
        yield from re.findall(r"\b(?:stream|operators|accountant)/[\w/.]*", block)


def _exists(named):
    path, _, test = named.partition("::")
    return test in functions(ROOT / path) if test else (ROOT / path).exists()


def _is_there(name):
    """Tell whether a dotted name is a module, or stands in one."""
    module, _, attribute = name.rpartition(".")
    try:
        if find_spec(name) is not None:
            return True
        return hasattr(__import__(module, fromlist=[attribute]), attribute)
    except ImportError:
        return False


def _by_the_page(text, package):
    """Read a table: "`x` and below" is x, the rooms beside it and all in later rows."""
    section = text.partition(f"\n### {package}\n")[2].partition("\n#")[0]
    order, targets, without = [], {}, {}
    for room, _, may, _ in cells(section)[2:]:
        found = re.fullmatch(r"`(\w+)` and below(?:, but not `(\w+)`)?|nothing here", may)
        assert found is not None, may
        order.append(name := room.strip("`"))
        targets[name], without[name] = found.groups()
    floors = [targets[name] for name in order]
    return {
        name: frozenset(order[floors.index(targets[first]) :] if first else ()) - {without[name]}
        for name, first in targets.items()
    }


def _by_contracts(package):
    """Return what layers leave open, less what another contract forbids."""
    (contract,) = [one for one in CONTRACTS if one.get("containers") == [package]]
    layers = [re.split(r"\s*\|\s*", layer) for layer in contract["layers"]]
    allowed = {
        room: frozenset(other for floor in layers[at + 1 :] for other in floor)
        for at, floor in enumerate(layers)
        for room in floor
    }
    for contract in CONTRACTS:
        if contract["type"] == "forbidden" and "ignore_imports" not in contract:
            for room in set(allowed) & _rooms(contract["source_modules"], package):
                allowed[room] -= _rooms(contract["forbidden_modules"], package)
    return allowed


def _rooms(modules, package):
    return {
        one.removeprefix(f"{package}.").removesuffix(".**")
        for one in modules
        if one.startswith(f"{package}.")
    }
