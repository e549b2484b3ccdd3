"""The names that a module defines, read from its text: nothing is imported."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@lru_cache
def _parsed(module):
    return ast.parse(module.read_text())


def functions(module: Path) -> set[str]:
    """Return the names of a module's functions, and of its classes' methods behind the class."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    body = _parsed(module).body
    found = {node.name for node in body if isinstance(node, kinds)}
    for each in body:
        if isinstance(each, ast.ClassDef):
            found |= {f"{each.name}.{node.name}" for node in each.body if isinstance(node, kinds)}
    return found


def classes(module: Path) -> set[str]:
    """Return the names of a module's classes."""
    return {node.name for node in _parsed(module).body if isinstance(node, ast.ClassDef)}
