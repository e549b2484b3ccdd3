"""Who imports whom in a package, by its source: between files, and between rooms.

A *room* is a file or folder directly under the package, other than ``__init__`` and ``py.typed``.
Every import counts wherever it stands: in a function, and under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import grimp
import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, eq=False)
class Package:
    """One package of a tree.

    Args:
        folder: the package's own folder; its name is the package's.
    """

    folder: Path

    @cached_property
    def modules(self) -> Mapping[str, Path]:
        """The file of every module, by its dotted name; a folder's is its ``__init__``."""
        found = {}
        for path in sorted(self.folder.rglob("*.py")):
            parts = path.relative_to(self.folder.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        return found

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        """The names of the rooms."""
        return tuple(sorted({room for name in self.modules if (room := _room(name))}))

    @cached_property
    def files(self) -> nx.DiGraph[str]:
        """An arrow from every module to each module of the package that it imports."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.modules)
        found = _graph_of(self.folder)
        for name in found.modules:
            graph.add_edges_from(
                (name, each) for each in found.find_modules_directly_imported_by(name)
            )
        return graph

    @cached_property
    def arrows(self) -> nx.DiGraph[str]:
        """An arrow from every room to each other room that one of its modules imports."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.rooms)
        for source, target in self.files.edges:
            pair = _room(source), _room(target)
            if all(pair) and pair[0] != pair[1]:
                graph.add_edge(*pair)
        return graph

    def longest_way(self) -> list[str]:
        """Return the rooms along the longest way of imports; one of each circle stands for it."""
        whole = nx.condensation(self.arrows)
        way = nx.dag_longest_path(whole)
        return [min(whole.nodes[each]["members"]) for each in way]

    def circles(self) -> list[list[str]]:
        """Return every set of rooms, and of modules, that import each other in a circle."""
        found = (
            sorted(each)
            for graph in (self.arrows, self.files)
            for each in nx.strongly_connected_components(graph)
            if len(each) > 1
        )
        return sorted(found)


def _graph_of(folder):
    """Return what grimp reads in a folder, also where a package of its name is imported already."""
    known = sys.modules.pop(folder.name, None)
    sys.path.insert(0, str(folder.parent))
    importlib.invalidate_caches()
    try:
        return grimp.build_graph(folder.name, cache_dir=None)
    finally:
        sys.path.pop(0)
        if known is not None:
            sys.modules[folder.name] = known


def _room(module):
    """Return a module's room, the empty text for the package itself."""
    return [*module.split(".", 2), ""][1]
