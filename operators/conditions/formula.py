"""Conditions that combine atoms with AND, OR and NOT.

A *literal* is an atom or its negation, written ``a`` or ``NOT a``. With NOT pushed down to the
atoms a formula is monotone in its literals: none of them turns it false by turning true. A prime
implicant is a least set of literals that makes it true, a prime implicate a least set that makes it
false where all of them are. They say how far apart data are where it is true and where it is not
(``docs/research/proofs/score.md``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from accountant.arguments import TEXT, expect
from accountant.errors import ArgumentError
from operators.conditions.primes import MOST_PRIMES, conjoined, disjoined, primes, truth_columns
from operators.conditions.syntax import NEGATION, fold, leaves, parsed, pushed, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from operators.conditions.syntax import Node

__all__ = ["MOST_ATOMS", "MOST_PRIMES", "Formula", "atom_of"]

MOST_ATOMS: Final = 16
"""Most distinct atoms of one formula."""

T = TypeVar("T")


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

    tree: Node
    monotone: Node = field(init=False, compare=False, repr=False)
    """The same with NOT at the leaves only."""
    atoms: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The distinct atoms, in order of first appearance."""
    literals: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The distinct literals once NOT stands at the atoms only, in order of first appearance."""
    occurrences: tuple[int, ...] = field(init=False, compare=False, repr=False)
    """How often each literal is written, in the order of ``literals``."""

    def __post_init__(self) -> None:
        """Push NOT down, collect atoms and literals, refuse what cannot be asked."""
        monotone = pushed(self.tree)
        written = list(leaves(monotone))
        object.__setattr__(self, "monotone", monotone)
        object.__setattr__(self, "atoms", tuple(dict.fromkeys(map(atom_of, written))))
        object.__setattr__(self, "literals", tuple(dict.fromkeys(written)))
        object.__setattr__(self, "occurrences", tuple(Counter(written).values()))
        if len(self.atoms) > MOST_ATOMS:
            raise ArgumentError(
                f"the formula has {len(self.atoms)} distinct atoms and may have {MOST_ATOMS}: the"
                " ways to be true double with each; split the query"
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
        expect(TEXT, text=text)
        return cls(parsed(text))

    def __str__(self) -> str:
        """Return the condition with as few parentheses as it needs."""
        return text_of(self.tree)

    def evaluate(self, truth: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the truth of the formula from that of its atoms, cell by cell.

        Args:
            truth: one array per atom, no more and no fewer, all of one shape, bool.

        Returns:
            The same shape, bool.

        Raises:
            ValueError: atoms missing or unknown, or arrays of another type or of several shapes.
        """
        _check_names(truth, self.atoms, "atoms")
        _check_arrays(truth.values())
        return self._folded(
            lambda literal: (
                ~truth[atom_of(literal)] if literal.startswith(NEGATION) else truth[literal].copy()
            )
        )

    def evaluate_literals(self, holds: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the truth of the formula from that of its literals, each with its own value.

        A mechanism decides ``a`` and ``NOT a`` with different shifts, so both may hold at once, and
        neither may be derived from the other.

        Args:
            holds: one array per literal, no more and no fewer, all of one shape, bool.

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
            ValueError: more than ``MOST_PRIMES`` of them, or more than 20 literals.
        """
        return primes(self.monotone, dual=False)

    def prime_implicates(self) -> tuple[frozenset[str], ...]:
        """Return the least sets of literals that make the formula false where all are false.

        Returns:
            The sets, by size and then by the order of ``literals``; each meets every prime
            implicant.

        Raises:
            ValueError: more than ``MOST_PRIMES`` of them, or more than 20 literals.
        """
        return primes(self.monotone, dual=True)

    def _folded(self, leaf: Callable[[str], T]) -> T:
        value: T = fold(self.monotone, leaf, conjoined, disjoined)
        return value

    def _refuse_constant(self) -> None:
        """Compare the whole truth table with all ones and all zeros."""
        columns, full = truth_columns(self.atoms)
        table = self._folded(
            lambda literal: (
                full ^ columns[atom_of(literal)]
                if literal.startswith(NEGATION)
                else columns[literal]
            )
        )
        if table in {0, full}:
            raise ArgumentError(
                f"the formula is {'true' if table else 'false'} whatever its atoms are:"
                " there is nothing to decide"
            )


def atom_of(literal: str) -> str:
    """Return the atom that a literal is about.

    Args:
        literal: ``a`` or ``NOT a``.
    """
    return literal.removeprefix(NEGATION)


def _check_names(given: Iterable[str], wanted: Sequence[str], what: str) -> None:
    names = set(given)
    missing = [name for name in wanted if name not in names]
    unknown = sorted(map(str, names.difference(wanted)))
    if missing or unknown:
        problems = [f"missing: {', '.join(missing)}"] if missing else []
        problems += [f"unknown: {', '.join(unknown)}"] if unknown else []
        raise ArgumentError(f"one value for each of the formula's {what}; {'; '.join(problems)}")


def _check_arrays(arrays: Iterable[NDArray[np.bool_]]) -> None:
    shapes = set()
    for array in arrays:
        if array.dtype != np.bool_:
            raise ArgumentError("truth values are arrays of bool")
        shapes.add(array.shape)
    if len(shapes) != 1:
        raise ArgumentError("truth values are arrays of one shape")
