"""Where code outside the descriptors names a mechanism.

A place is a line with one of these on it:

- a text that is a mechanism's name: ``"probe-ent"``;
- a name that stands for some mechanisms: ``PHASED``;
- a question whose class an operator has: ``isinstance(operator, Svt)``;
- a question whether an alarm is a band, which only the deciders' mechanism decides:
  ``query.band is None``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["STAND_INS", "places"]

STAND_INS = frozenset({"RUN_MECHANISMS", "PHASED", "DECIDER", "MECHANISMS", "EXPERIMENTAL"})
"""Names of constants that hold names of mechanisms."""


def places(source: str, names: Collection[str], classes: Collection[str]) -> list[int]:
    """Return the lines of a module that name a mechanism.

    Args:
        source: the module's text.
        names: the mechanisms' names in configurations.
        classes: the names of their operators' classes.
    """
    tree = ast.parse(source)
    return sorted(set(_lines(tree, frozenset(names), frozenset(classes))))


def _lines(tree: ast.AST, names: frozenset[str], classes: frozenset[str]) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in names:
                yield node.lineno
            case ast.Name(id=name) | ast.alias(name=name) if name in STAND_INS:
                yield node.lineno
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if any(isinstance(n, ast.Name) and n.id in classes for n in ast.walk(kinds)):
                    yield node.lineno
            case ast.Compare(left=ast.Attribute(attr="band"), ops=[ast.Is() | ast.IsNot()]):
                yield node.lineno
