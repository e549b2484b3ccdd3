"""A quantifier over groups: a SELECT around the one that says when a group counts.

::

    SELECT <outer fields> FROM (SELECT <group fields> FROM <feed> ...)
    [GROUP BY <outer fields>] HAVING COUNT(*) >= <number of groups> | = EVERY

The outer fields are some of the inner ones. What is counted are declared groups, and so is how many
of them there are: one that is found in data, or half of those that are, would follow a person.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.sql.nodes import SqlProblem, comparisons, is_word, numeric

__all__ = ["least_of"]

_SHAPE: Final = "write HAVING COUNT(*) >= 3, or COUNT(*) = EVERY"


def least_of(outer: exp.Select, size: int, groups: str) -> int:
    """Return how many groups have to meet the inner HAVING, from 1 to all.

    Args:
        outer: the SELECT around the one that says when a group counts.
        size: how many groups there are.
        groups: what they are called.

    Raises:
        SqlProblem: its HAVING asks for something else.
    """
    clause = outer.args.get("having")
    found = [] if clause is None else comparisons(clause.this.unnest(), _is_count)
    left, comparison, right = found[0] if len(found) == 1 else (outer, Comparison.EQ, outer)
    number = Fraction(size) if is_word(right, "EVERY") else numeric(right)
    if not _is_count(left) or number is None or number.denominator != 1:
        message = "the outer HAVING has to compare COUNT(*) with one whole number"
        raise SqlProblem(message, _SHAPE, clause.this if clause else 0)
    asked = int(number)
    if not comparison.upward and (comparison is not Comparison.EQ or asked != size):
        message = f"COUNT(*) {comparison.value} {asked} of {size} {groups} is not supported"
        hint = f"{_SHAPE}; or negate the inner HAVING, and count the groups that then meet it"
        raise SqlProblem(message, hint, right)
    least = asked + comparison.strict
    if not 1 <= least <= size:
        message = f"this is {'always' if least < 1 else 'never'} true: there are {size} {groups}"
        raise SqlProblem(message, f"write a number from 1 to {size}, or EVERY", right)
    return least


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star)
