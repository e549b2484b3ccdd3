"""Pieces shared by the readers of SQL: where a node stands, names, numbers.

Positions are character offsets into the SQL text; ``stream.config.loading`` turns them into lines
and columns of the YAML file.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from accountant.errors import ConfigError
from operators.conditions.comparison import Comparison
from stream.config.scalars import closest, shown
from stream.model.numbers import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from stream.model.feeds import Field

__all__ = [
    "AGGREGATE",
    "SqlProblem",
    "column",
    "comparisons",
    "depth_limited",
    "is_word",
    "named",
    "numeric",
    "operands",
    "start",
]

AGGREGATE: Final = (exp.AggFunc, exp.Filter, exp.WithinGroup)
"""What computes an aggregate, filter included."""

_COMPARISONS: Final[dict[type[exp.Expr], Comparison]] = {
    exp.EQ: Comparison.EQ,
    exp.NEQ: Comparison.NE,
    exp.LT: Comparison.LT,
    exp.LTE: Comparison.LE,
    exp.GT: Comparison.GT,
    exp.GTE: Comparison.GE,
}


class SqlProblem(ConfigError):  # noqa: N818 -- its place in the file is not known yet
    """SQL that is not in the grammar.

    Args:
        message: what is wrong.
        hint: what to write instead.
        at: where: a node, or in characters from the start of the SQL.
    """

    def __init__(self, message: str, hint: str, at: exp.Expr | int) -> None:
        """Keep the parts."""
        super().__init__(message, hint=hint)
        self.offset = at if isinstance(at, int) else start(at)


def start(node: exp.Expr) -> int:
    """Return where a node begins: its first token, or that of the nearest node around it."""
    outer: exp.Expr | None = node
    while outer is not None:
        places = [inner.meta["start"] for inner in outer.walk() if "start" in inner.meta]
        if places:
            return int(min(places))
        outer = outer.parent
    return 0


@contextmanager
def depth_limited() -> Iterator[None]:
    """Refuse SQL that is nested more deeply than Python's stack.

    Raises:
        SqlProblem: it is.
    """
    try:
        yield
    except RecursionError:
        raise SqlProblem("the SQL is nested too deeply", "use fewer parentheses", 0) from None


def comparisons(
    node: exp.Expr, goes_left: Callable[[exp.Expr], object]
) -> list[tuple[exp.Expr, Comparison, exp.Expr]]:
    """Return what is compared with what, and how: two of BETWEEN, none where there is nothing.

    Args:
        node: the comparison.
        goes_left: what is turned to the left.
    """
    ends: dict[Comparison, exp.Expr] = {}
    if isinstance(node, exp.Between):
        ends = {Comparison.GE: node.args["low"], Comparison.LE: node.args["high"]}
    elif type(node) in _COMPARISONS:
        ends = {_COMPARISONS[type(node)]: node.expression}
    found = []
    for comparison, other in ends.items():
        left, right = node.this.unnest(), other.unnest()
        turned = goes_left(right) and not goes_left(left)
        found.append((right, comparison.flipped, left) if turned else (left, comparison, right))
    return found


def operands(node: exp.Expr) -> list[exp.Expr]:
    """Return the operands of a chain of one connective, left to right, without recursion."""
    kept = (type(node), exp.Paren)
    parts = node.walk(bfs=False, prune=lambda part: not isinstance(part, kept))
    return [part for part in parts if not isinstance(part, kept)]


def column(node: exp.Expr, fields: Mapping[str, Field], role: str) -> Field:
    """Return the declared field that a column names.

    Args:
        node: what should be a plain column.
        fields: the feed's declared fields.
        role: what the column is for, as in ``GROUP BY takes``.

    Raises:
        SqlProblem: it is no plain column, or not declared.
    """
    if not isinstance(node, exp.Column) or node.table or not isinstance(node.this, exp.Identifier):
        raise SqlProblem(
            f"{role} a declared field, not {named(node)}",
            "write one field of the feed alone, without prefix, function, arithmetic or 'single "
            'quotes\'; a keyword or a name with dots in "double quotes"',
            node,
        )
    name = node.this.name
    if name not in fields:
        raise SqlProblem(f"`{name}` is not a field of the feed", closest(name, fields), node)
    return fields[name]


def is_word(node: exp.Expr, word: str) -> bool:
    """Tell whether a node is a word that stands for what a key says, such as REFERENCE."""
    return isinstance(node, exp.Column) and node.sql(comments=False).upper() == word


def numeric(node: exp.Expr) -> Fraction | None:
    """Return the exact value of a number literal, signs and parentheses allowed, else ``None``."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        value = numeric(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Literal) and not node.is_string:
        return number(node.name)
    return None


def named(node: exp.Expr) -> str:
    """Return a construct for an error text: as SQL, shortened."""
    return shown(node.sql(comments=False))
