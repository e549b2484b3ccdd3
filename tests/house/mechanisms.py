"""Where code outside the descriptors names a mechanism.

A place is a line with one of these on it:

- a text that is a mechanism's name: ``"probe-ent"``;
- a descriptor, or a constant that holds names of some mechanisms: ``SVT``, ``RUN_MECHANISMS``;
- a question whose class an operator has: ``isinstance(operator, Svt)``;
- a question whether an alarm is a band, which only the deciders' mechanism decides:
  ``query.band is None``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SOME = frozenset({"MECHANISMS", "RUN_MECHANISMS"})


@dataclass(frozen=True)
class Named:
    """What names a mechanism.

    Args:
        texts: the mechanisms' names in configurations.
        constants: names of descriptors, and of constants that hold names of some mechanisms.
        operators: names of classes.
    """

    texts: frozenset[str]
    constants: frozenset[str]
    operators: frozenset[str]

    @classmethod
    def by(cls, texts: Collection[str], sources: Iterable[str]) -> Named:
        """Return the names that the modules of the descriptors define.

        Descriptors are what is made by ``Mechanism(...)``, operators the classes that have both a
        plan and a way to decide.

        Args:
            texts: as in the class.
            sources: the modules' texts.
        """
        nodes = [node for source in sources for node in ast.parse(source).body]
        constants = {
            node.target.id
            for node in nodes
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "Mechanism"
        }
        operators = {
            node.name
            for node in nodes
            if isinstance(node, ast.ClassDef) and {"plan", "decide"} <= _members(node)
        }
        return cls(frozenset(texts), _SOME | constants, frozenset(operators))


def places(source: str, named: Named) -> list[int]:
    """Return the lines of a module that name a mechanism.

    Args:
        source: the module's text.
        named: what does.
    """
    return sorted(set(_lines(ast.parse(source), named)))


def _members(node):
    """Return the names of a class's fields and methods."""
    return {
        each.target.id if isinstance(each, ast.AnnAssign) else each.name
        for each in node.body
        if isinstance(each, ast.FunctionDef)
        or (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name))
    }


def _lines(tree, named):
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in named.texts:
                yield node.lineno
            case ast.Name(id=name) | ast.alias(name=name) if name in named.constants:
                yield node.lineno
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if any(
                    isinstance(n, ast.Name) and n.id in named.operators for n in ast.walk(kinds)
                ):
                    yield node.lineno
            case ast.Compare(left=ast.Attribute(attr="band"), ops=[ast.Is() | ast.IsNot()]):
                yield node.lineno
