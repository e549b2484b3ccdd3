"""A quantifier over groups: a SELECT around the one that says when a group counts.

::

    SELECT <outer fields> FROM (SELECT <group fields> FROM <feed> ...)
    [GROUP BY <outer fields>] HAVING COUNT(*) >= <number of groups> | = EVERY

The outer fields are some of the inner ones. What is counted are declared groups, and so is how many
of them there are: one that is found in data, or half of those that are, would follow a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.sql.nodes import (
    SqlProblem,
    column,
    first_extra,
    is_word,
    numeric,
    sides,
    unwrapped,
)

if TYPE_CHECKING:
    from stream.model.feeds import Feed

__all__ = ["Quantifier", "inner_of", "quantifier_of"]

_SHAPE: Final = "write HAVING COUNT(*) >= 3, or COUNT(*) = EVERY"
_ONE_NUMBER: Final = "the outer HAVING has to compare COUNT(*) with one number"
_WINDOW: Final = "the window is in the inner query already"
_INSIDE: Final = {"where": "WHERE", "joins": "JOIN", "order": "ORDER BY", "limit": "LIMIT"}


@dataclass(frozen=True, slots=True)
class Quantifier:
    """How many groups it takes.

    Args:
        outer: fields whose groups are decided, in the order of the outer GROUP BY.
        members: the other inner ones, whose groups are counted.
        least: how many of these have to meet the inner HAVING, from 1 to all.
    """

    outer: tuple[str, ...]
    members: tuple[str, ...]
    least: int


def inner_of(select: exp.Select) -> exp.Select | None:
    """Return the SELECT that stands in FROM; ``None`` where a feed does.

    Raises:
        SqlProblem: it is no plain SELECT, or what stands around it counts no groups.
    """
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Subquery):
        return None
    inner = clause.this.this
    if not isinstance(inner, exp.Select):
        message = "the parentheses do not contain one SELECT over a feed"
        raise SqlProblem(message, "write FROM (SELECT ...)", clause.this)
    extra = first_extra(clause.this, "this")
    if extra is not None:
        what = "an alias" if extra[0] == "alias" else extra[0].upper()
        at = extra[1] or clause.this
        raise SqlProblem(f"the inner query cannot have {what}", "remove it", at)
    extra = first_extra(select, "expressions", "from_", "group", "having")
    if extra is not None:
        name = _INSIDE.get(extra[0], extra[0].upper().rstrip("_"))
        hint = "write it into the inner query" if name == "WHERE" else "remove it"
        raise SqlProblem(f"the outer query cannot have {name}", hint, extra[1] or 0)
    return inner


def quantifier_of(
    select: exp.Select, inner: exp.Select, group: tuple[str, ...], feed: Feed
) -> Quantifier:
    """Read what stands around an inner query.

    Args:
        select: the outer SELECT.
        inner: the inner one.
        group: its group fields.
        feed: it reads.

    Raises:
        SqlProblem: the outer one is outside the grammar, or can never or always hold.
    """
    outer = _outer(select, inner, group, feed)
    members = tuple(name for name in group if name not in outer)
    if not members:
        message = "the outer query has the same groups as the inner one: there is nothing to count"
        raise SqlProblem(message, "write the inner query only, or group it by more fields", 0)
    size = prod(len(feed.fields[name].domain or ()) for name in members)
    return Quantifier(outer, members, _least(select, size, f"groups of {', '.join(members)}"))


def _outer(
    select: exp.Select, inner: exp.Select, group: tuple[str, ...], feed: Feed
) -> tuple[str, ...]:
    """Return the fields of the outer GROUP BY."""
    clause = select.args.get("group")
    found: list[str] = []
    if clause is None:
        return ()
    extra = first_extra(clause, "expressions")
    if extra is not None:
        message = f"GROUP BY {extra[0].upper()} is not supported"
        raise SqlProblem(message, "write names of fields", clause)
    selected = {node.name for node in inner.expressions if isinstance(node, exp.Column)}
    for node in clause.expressions:
        ends = isinstance(node, exp.Column) and node.name.startswith("window_")
        if isinstance(node, exp.Anonymous) or (ends and node.name not in feed.fields):
            raise SqlProblem(_WINDOW, "remove this one", node)
        name = column(node, feed.fields, "the outer GROUP BY takes").name
        if name not in group or name not in selected:
            where = "SELECT" if name in group else "GROUP BY"
            message = f"`{name}` is not in the inner {where}"
            raise SqlProblem(message, f"write {name} into the inner {where}, too", node)
        if name in found:
            raise SqlProblem(f"`{name}` is grouped by twice", "remove one", node)
        found.append(name)
    return tuple(found)


def _least(select: exp.Select, size: int, groups: str) -> int:
    """Return how many groups the outer HAVING asks for."""
    clause = select.args.get("having")
    if clause is None:
        raise SqlProblem("the outer HAVING is missing", _SHAPE, 0)
    node = unwrapped(clause.this)
    found = sides(node, _is_count)
    if found is None:
        raise SqlProblem(_ONE_NUMBER, _SHAPE, node)
    left, comparison, right = found
    asked = Fraction(size) if is_word(right, "EVERY") else numeric(right)
    if not _is_count(left) or asked is None:
        raise SqlProblem(_ONE_NUMBER, _SHAPE, right if _is_count(left) else left)
    if asked.denominator != 1:
        raise SqlProblem("the number of groups is not a whole number", _SHAPE, right)
    return _at_least(comparison, int(asked), size, SqlProblem(groups, "", right))


def _at_least(comparison: Comparison, asked: int, size: int, groups: SqlProblem) -> int:
    """Return the same of what COUNT(*) is compared with.

    Args:
        comparison: of COUNT(*), on the left.
        asked: what it is compared with.
        size: how many groups there are.
        groups: what they are called, and where the number stands.
    """
    if not comparison.upward and (comparison is not Comparison.EQ or asked != size):
        words = f"COUNT(*) {comparison.value} {asked} of {size} {groups.message} is not supported"
        fewer = size - asked + (comparison is Comparison.LT)
        number = "= EVERY" if fewer == size else f">= {fewer}"
        hint = f"negate the inner comparison, and write COUNT(*) {number} here"
        if comparison in {Comparison.EQ, Comparison.NE} or not 1 <= fewer <= size:
            hint = _SHAPE
        raise SqlProblem(words, hint, groups.offset)
    least = asked + (comparison is Comparison.GT)
    if not 1 <= least <= size:
        always = "always" if least < 1 else "never"
        words = f"this is {always} true: there are {size} {groups.message}"
        raise SqlProblem(words, f"write a number from 1 to {size}, or EVERY", groups.offset)
    return least


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star)
