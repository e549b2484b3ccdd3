"""The text of a formula and its tree: read, written, NOT pushed down to the leaves.

``a AND NOT b``: NOT binds tighter than AND, AND tighter than OR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NoReturn, TypeVar

from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["NEGATION", "Node", "fold", "leaves", "parsed", "pushed", "text_of"]

NEGATION: Final = "NOT "
"""In front of an atom it makes the name of the negated literal."""

_DEEPEST: Final = 100
_SUPPORTED: Final = "supported: names of atoms, AND, OR, NOT and parentheses"
_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|(\S))", re.ASCII)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """One operator, or the name of a leaf; operators of one kind never nest in each other."""

    kind: Literal["leaf", "not", "and", "or"]
    name: str = ""
    parts: tuple[Node, ...] = ()


def parsed(text: str) -> Node:
    """Return the tree of a condition.

    Raises:
        ValueError: what was expected at which character (the first is 1), and what is supported.
    """
    return _Parser(text).formula()


def text_of(node: Node) -> str:
    """Return the condition with as few parentheses as it needs."""
    if node.kind == "leaf":
        return node.name
    if node.kind == "not":
        inner = text_of(node.parts[0])
        return f"NOT ({inner})" if node.parts[0].kind in {"and", "or"} else f"NOT {inner}"
    if node.kind == "or":
        return " OR ".join(map(text_of, node.parts))
    return " AND ".join(f"({text_of(p)})" if p.kind == "or" else text_of(p) for p in node.parts)


def pushed(node: Node, *, negate: bool = False) -> Node:
    """Return the node, negated or not, with NOT at the leaves only and in their names."""
    if node.kind == "leaf":
        return Node("leaf", NEGATION + node.name) if negate else node
    if node.kind == "not":
        return pushed(node.parts[0], negate=not negate)
    parts = [pushed(part, negate=negate) for part in node.parts]
    return _joined("and" if (node.kind == "and") is not negate else "or", parts)


def leaves(node: Node) -> Iterator[str]:
    """Yield the names of the leaves, left to right."""
    if node.kind == "leaf":
        yield node.name
    for part in node.parts:
        yield from leaves(part)


def fold(
    node: Node,
    leaf: Callable[[str], T],
    conjoin: Callable[[list[T]], T],
    disjoin: Callable[[list[T]], T],
) -> T:
    """Return a monotone tree's value from those of its leaves."""
    if node.kind == "leaf":
        return leaf(node.name)
    parts = [fold(part, leaf, conjoin, disjoin) for part in node.parts]
    return conjoin(parts) if node.kind == "and" else disjoin(parts)


class _Parser:
    """Recursive descent over the tokens; every token knows where it starts."""

    def __init__(self, text: str) -> None:
        self._tokens = [
            (m.group(m.lastindex or 1), m.start(m.lastindex or 1))
            for m in _TOKEN.finditer(text.rstrip())
        ]
        self._tokens.append(("", len(text)))
        self._next = 0
        self._depth = 0

    def formula(self) -> Node:
        tree = self._operands("OR", lambda: self._operands("AND", self._operand))
        token, _ = self._tokens[self._next]
        if token:
            self._fail("AND, OR or the end")
        return tree

    def _operands(self, keyword: str, operand: Callable[[], Node]) -> Node:
        parts = [operand()]
        while self._taken(keyword):
            parts.append(operand())
        return _joined("and" if keyword == "AND" else "or", parts)

    def _operand(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"at most {_DEEPEST} nested parentheses and NOTs")
        if self._taken("NOT"):
            node = Node("not", parts=(self._operand(),))
        elif self._taken("("):
            node = self._operands("OR", lambda: self._operands("AND", self._operand))
            if not self._taken(")"):
                self._fail("AND, OR or a closing parenthesis")
        else:
            name, _ = self._tokens[self._next]
            if not _is_name(name):
                self._fail("an atom, NOT or an opening parenthesis")
            self._next += 1
            node = Node("leaf", name)
        self._depth -= 1
        return node

    def _taken(self, wanted: str) -> bool:
        taken = self._tokens[self._next][0].upper() == wanted
        self._next += taken
        return taken

    def _fail(self, expected: str) -> NoReturn:
        token, at = self._tokens[self._next]
        found = repr(token) if token else "the end"
        raise ArgumentError(
            f"expected {expected} at character {at + 1}, found {found}; {_SUPPORTED}"
        )


def _is_name(token: str) -> bool:
    return token.isascii() and token.isidentifier() and token.upper() not in {"AND", "OR", "NOT"}


def _joined(kind: Literal["and", "or"], parts: Sequence[Node]) -> Node:
    """Join operands, those of the same operator taken up into it."""
    if len(parts) == 1:
        return parts[0]
    flat = [each for part in parts for each in (part.parts if part.kind == kind else (part,))]
    return Node(kind, parts=tuple(flat))
