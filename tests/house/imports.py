"""Who imports whom in a package, read from the source: between files, and between rooms.

A *room* is a file or folder directly under the package, other than ``__init__`` and ``py.typed``.
Every import counts wherever it stands: in a function, and under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Package"]


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
        for name, path in self.modules.items():
            for target in self._imported(name, path):
                if target != name:
                    graph.add_edge(name, target)
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

    def _imported(self, name: str, path: Path) -> Iterator[str]:
        """Yield the modules of this package that one of them names in its imports."""
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._nearest(alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) + 1 - node.level]
                    base = ".".join([*above, *filter(None, [node.module])])
                for alias in node.names:
                    yield from self._nearest(f"{base}.{alias.name}")

    def _nearest(self, dotted: str) -> Iterator[str]:
        """Yield the module that a dotted name is, or is an attribute of, if it is one of ours."""
        while dotted:
            if dotted in self.modules:
                yield dotted
                return
            dotted = dotted.rpartition(".")[0]


def _room(module: str) -> str:
    """Return a module's room, the empty text for the package itself."""
    return [*module.split(".", 2), ""][1]
