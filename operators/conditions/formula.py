"""Conditions that combine atoms with AND, OR and NOT.

A *literal* is an atom or its negation, written ``a`` or ``NOT a``. With NOT pushed down to the
atoms a formula is monotone in its literals: none of them turns it false by turning true. A prime
implicant is a least set of literals that makes it true, a prime implicate a least set that makes it
false where all of them are. They say which misses and which false alarms can reach the answer
(``docs/proofs/prime-implicants.md``).
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeVar

import numpy as np

from operators.conditions.leastsets import MOST_PRIMES, LeastSets, refuse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_ATOMS", "MOST_PRIMES", "Formula", "atom_of"]

MOST_ATOMS: Final = 16
"""Most distinct atoms of one formula."""

_MOST_TABULATED: Final = 20
_DEEPEST: Final = 100
_NEGATION: Final = "NOT "
_SUPPORTED: Final = "supported: names of atoms, AND, OR, NOT and parentheses"
_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|(\S))", re.ASCII)

T = TypeVar("T")
_Kind = Literal["leaf", "not", "and", "or"]


@dataclass(frozen=True, slots=True)
class _Node:
    """One operator, or the name of a leaf; operators of one kind never nest in each other."""

    kind: _Kind
    name: str = ""
    parts: tuple[_Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Formula:
    """A condition over named atoms; make one with ``Formula.parse``.

    Two formulas are equal where they are written alike but for spaces, superfluous parentheses
    and the case of keywords; ``str`` gives a text that parses to an equal one.

    Args:
        tree: the parsed text.

    Raises:
        ValueError: more than ``MOST_ATOMS`` distinct atoms, or a formula that is true (or false)
            whatever its atoms are.
    """

    tree: _Node
    atoms: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The distinct atoms, in order of first appearance."""
    literals: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The distinct literals once NOT stands at the atoms only, in order of first appearance."""
    occurrences: tuple[int, ...] = field(init=False, compare=False, repr=False)
    """How often each literal is written, in the order of ``literals``."""
    _monotone: _Node = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Push NOT down, collect atoms and literals, refuse what cannot be asked."""
        monotone = _pushed(self.tree, negate=False)
        written = list(_leaves(monotone))
        literals = tuple(dict.fromkeys(written))
        object.__setattr__(self, "atoms", tuple(dict.fromkeys(map(atom_of, written))))
        object.__setattr__(self, "literals", literals)
        object.__setattr__(self, "occurrences", tuple(Counter(written).values()))
        object.__setattr__(self, "_monotone", monotone)
        if len(self.atoms) > MOST_ATOMS:
            raise ValueError(
                f"the formula has {len(self.atoms)} distinct atoms and may have {MOST_ATOMS}: each"
                " one is charged, and the ways to be true double with each; split the query"
            )
        self._refuse_constant()

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a condition such as ``(a AND NOT b) OR c``.

        NOT binds tighter than AND, AND tighter than OR. Keywords are read in any case; a name is
        letters, digits and underscores, not starting with a digit.

        Args:
            text: the condition.

        Raises:
            ValueError: what is wrong, at which character (the first is 1) and what is supported;
                or a formula that is refused (see the class).
        """
        return cls(_Parser(text).formula())

    def __str__(self) -> str:
        """Return the condition with as few parentheses as it needs."""
        return _text(self.tree)

    def evaluate(self, truth: Mapping[str, bool]) -> bool:
        """Return the truth of the formula from that of its atoms.

        Args:
            truth: one value per atom, no more and no fewer.

        Raises:
            ValueError: atoms missing or unknown.
        """
        _check_names(truth, self.atoms, "atoms")
        return bool(self._folded(lambda literal: _scalar(truth, literal)))

    def evaluate_literals(self, holds: Mapping[str, bool]) -> bool:
        """Return the truth of the formula from that of its literals, each with its own value.

        A mechanism decides ``a`` and ``NOT a`` with different shifts, so both may hold at once, and
        neither may be derived from the other.

        Args:
            holds: one value per literal, no more and no fewer.

        Raises:
            ValueError: literals missing or unknown.
        """
        _check_names(holds, self.literals, "literals")
        return bool(self._folded(lambda literal: bool(holds[literal])))

    def evaluate_arrays(self, truth: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the truth per cell from that of the atoms (``evaluate``, vectorised).

        Args:
            truth: one array per atom, all of one shape, bool.

        Returns:
            The same shape, bool.

        Raises:
            ValueError: atoms missing or unknown, or arrays of another type or of several shapes.
        """
        _check_names(truth, self.atoms, "atoms")
        _check_arrays(truth.values())
        return self._folded(
            lambda literal: (
                ~truth[atom_of(literal)] if literal.startswith(_NEGATION) else truth[literal].copy()
            )
        )

    def evaluate_literal_arrays(self, holds: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the truth per cell from that of the literals (``evaluate_literals``, vectorised).

        Args:
            holds: one array per literal, all of one shape, bool.

        Returns:
            The same shape, bool.

        Raises:
            ValueError: literals missing or unknown, or arrays of another type or several shapes.
        """
        _check_names(holds, self.literals, "literals")
        _check_arrays(holds.values())
        return self._folded(lambda literal: holds[literal].copy())

    def prime_implicants(self) -> tuple[frozenset[str], ...]:
        """Return the least sets of literals that make the formula true.

        Literals count as independent variables here: ``a`` and ``NOT a`` may stand in one set,
        which no data can then satisfy.

        Returns:
            The sets, by size and then by the order of ``literals``.

        Raises:
            ValueError: more than ``MOST_PRIMES`` of them (or far more on the way there).
        """
        return _primes(self, dual=False)

    def prime_implicates(self) -> tuple[frozenset[str], ...]:
        """Return the least sets of literals that make the formula false where all are false.

        Returns:
            The sets, by size and then by the order of ``literals``; each meets every prime
            implicant.

        Raises:
            ValueError: more than ``MOST_PRIMES`` of them (or far more on the way there).
        """
        return _primes(self, dual=True)

    def _folded(self, leaf: Callable[[str], T]) -> T:
        value: T = _fold(self._monotone, leaf, _and, _or)
        return value

    def _refuse_constant(self) -> None:
        """Compare the whole truth table with all ones and all zeros."""
        columns, full = _columns(self.atoms)
        table = self._folded(
            lambda literal: (
                full ^ columns[atom_of(literal)]
                if literal.startswith(_NEGATION)
                else columns[literal]
            )
        )
        if table in {0, full}:
            raise ValueError(
                f"the formula is {'true' if table else 'false'} whatever its atoms are:"
                " there is nothing to decide"
            )


def atom_of(literal: str) -> str:
    """Return the atom that a literal is about.

    Args:
        literal: ``a`` or ``NOT a``.
    """
    return literal.removeprefix(_NEGATION)


class _Parser:
    """Recursive descent over the tokens; every token knows where it starts."""

    def __init__(self, text: str) -> None:
        self._tokens = [(m.group(m.lastindex or 1), m.start(m.lastindex or 1)) for m in _scan(text)]
        self._tokens.append(("", len(text)))
        self._next = 0
        self._depth = 0

    def formula(self) -> _Node:
        tree = self._operands("OR", lambda: self._operands("AND", self._operand))
        token, _ = self._tokens[self._next]
        if token:
            self._fail("AND, OR or the end")
        return tree

    def _operands(self, keyword: str, operand: Callable[[], _Node]) -> _Node:
        parts = [operand()]
        while self._taken(keyword):
            parts.append(operand())
        return _joined("and" if keyword == "AND" else "or", parts)

    def _operand(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"at most {_DEEPEST} nested parentheses and NOTs")
        if self._taken("NOT"):
            node = _Node("not", parts=(self._operand(),))
        elif self._taken("("):
            node = self._operands("OR", lambda: self._operands("AND", self._operand))
            if not self._taken(")"):
                self._fail("AND, OR or a closing parenthesis")
        else:
            name, _ = self._tokens[self._next]
            if not _is_name(name):
                self._fail("an atom, NOT or an opening parenthesis")
            self._next += 1
            node = _Node("leaf", name)
        self._depth -= 1
        return node

    def _taken(self, wanted: str) -> bool:
        taken = self._tokens[self._next][0].upper() == wanted
        self._next += taken
        return taken

    def _fail(self, expected: str) -> NoReturn:
        token, at = self._tokens[self._next]
        found = repr(token) if token else "the end"
        raise ValueError(f"expected {expected} at character {at + 1}, found {found}; {_SUPPORTED}")


def _scan(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(text.rstrip())


def _is_name(token: str) -> bool:
    return token.isascii() and token.isidentifier() and token.upper() not in {"AND", "OR", "NOT"}


def _joined(kind: Literal["and", "or"], parts: Sequence[_Node]) -> _Node:
    """Join operands, those of the same operator taken up into it."""
    if len(parts) == 1:
        return parts[0]
    flat = [each for part in parts for each in (part.parts if part.kind == kind else (part,))]
    return _Node(kind, parts=tuple(flat))


def _pushed(node: _Node, *, negate: bool) -> _Node:
    """Return the node, negated or not, with NOT at the leaves only and in their names."""
    if node.kind == "leaf":
        return _Node("leaf", _NEGATION + node.name) if negate else node
    if node.kind == "not":
        return _pushed(node.parts[0], negate=not negate)
    parts = [_pushed(part, negate=negate) for part in node.parts]
    return _joined("and" if (node.kind == "and") is not negate else "or", parts)


def _leaves(node: _Node) -> Iterator[str]:
    if node.kind == "leaf":
        yield node.name
    for part in node.parts:
        yield from _leaves(part)


def _text(node: _Node) -> str:
    if node.kind == "leaf":
        return node.name
    if node.kind == "not":
        inner = _text(node.parts[0])
        return f"NOT ({inner})" if node.parts[0].kind in {"and", "or"} else f"NOT {inner}"
    if node.kind == "or":
        return " OR ".join(map(_text, node.parts))
    return " AND ".join(f"({_text(p)})" if p.kind == "or" else _text(p) for p in node.parts)


def _fold(
    node: _Node,
    leaf: Callable[[str], T],
    conjoin: Callable[[list[T]], T],
    disjoin: Callable[[list[T]], T],
) -> T:
    """Compute a monotone tree's value from those of its leaves."""
    if node.kind == "leaf":
        return leaf(node.name)
    parts = [_fold(part, leaf, conjoin, disjoin) for part in node.parts]
    return conjoin(parts) if node.kind == "and" else disjoin(parts)


def _and(parts: list[Any]) -> Any:
    return reduce(operator.and_, parts)


def _or(parts: list[Any]) -> Any:
    return reduce(operator.or_, parts)


def _columns(names: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return the truth table's columns, one bit per assignment, and that of "always true".

    In assignment number r, name i is true iff bit i of r is set.
    """
    rows = 1 << len(names)
    columns = {}
    for i, name in enumerate(names):
        # Bit r of column i is bit i of r: runs of 2^i zeros and 2^i ones.
        column, width = ((1 << (1 << i)) - 1) << (1 << i), 2 << i
        while width < rows:
            column |= column << width
            width *= 2
        columns[name] = column
    return columns, (1 << rows) - 1


def _scalar(truth: Mapping[str, bool], literal: str) -> bool:
    return bool(truth[atom_of(literal)]) is not literal.startswith(_NEGATION)


def _check_names(given: Iterable[str], wanted: Sequence[str], what: str) -> None:
    names = set(given)
    missing = [name for name in wanted if name not in names]
    unknown = sorted(map(str, names.difference(wanted)))
    if missing or unknown:
        problems = [f"missing: {', '.join(missing)}"] if missing else []
        problems += [f"unknown: {', '.join(unknown)}"] if unknown else []
        raise ValueError(f"one value for each of the formula's {what}; {'; '.join(problems)}")


def _check_arrays(arrays: Iterable[NDArray[np.bool_]]) -> None:
    shapes = set()
    for array in arrays:
        if array.dtype != np.bool_:
            raise ValueError("truth values are arrays of bool")
        shapes.add(array.shape)
    if len(shapes) != 1:
        raise ValueError("truth values are arrays of one shape")


@lru_cache(maxsize=64)
def _primes(formula: Formula, *, dual: bool) -> tuple[frozenset[str], ...]:
    """List the prime implicants, or (the same with AND and OR swapped) the prime implicates."""
    literals = formula.literals
    tree = formula._monotone  # noqa: SLF001  # the cache stands outside the class
    least = _tabulated if len(literals) <= _MOST_TABULATED else _multiplied
    masks = least(tree, literals, dual=dual)
    if masks.size > MOST_PRIMES:
        refuse_size()
    members = [[i for i in range(len(literals)) if mask >> i & 1] for mask in masks.tolist()]
    members.sort(key=lambda indices: (len(indices), indices))
    return tuple(frozenset(literals[i] for i in indices) for indices in members)


def _tabulated(tree: _Node, literals: Sequence[str], *, dual: bool) -> NDArray[np.uint64]:
    """Read the least true assignments off the truth table over the literals."""
    columns, full = _columns(literals)
    table = _fold(tree, columns.__getitem__, *((_or, _and) if dual else (_and, _or)))
    least = table
    for i, literal in enumerate(literals):  # still true without literal i: not least
        least &= full ^ (table << (1 << i) & columns[literal])
    packed = np.frombuffer(least.to_bytes(-(-full.bit_length() // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little")).astype(np.uint64)


def _multiplied(tree: _Node, literals: Sequence[str], *, dual: bool) -> NDArray[np.uint64]:
    """Multiply the sets out, up the tree, keeping the least ones (for wide truth tables)."""
    bits = {literal: np.array([1 << i], dtype=np.uint64) for i, literal in enumerate(literals)}
    work = LeastSets()
    combine = (work.union, work.product)
    return _fold(tree, bits.__getitem__, *(combine if dual else combine[::-1]))
