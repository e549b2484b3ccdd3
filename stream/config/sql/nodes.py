"""Pieces shared by the readers of SQL: where a node stands, names, numbers.

Positions are character offsets into the SQL text; ``stream.config.loading`` turns them into lines
and columns of the YAML file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from accountant.errors import ConfigError
from operators.conditions.comparison import Comparison
from stream.config.scalars import closest
from stream.model.numbers import LONGEST_NUMBER, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from stream.model.feeds import Field

__all__ = [
    "COMPARISONS",
    "SqlProblem",
    "column",
    "first_extra",
    "has_aggregate",
    "is_aggregate",
    "is_word",
    "named",
    "numeric",
    "operands",
    "sides",
    "start",
    "unwrapped",
]

COMPARISONS: Final[dict[type[exp.Expr], Comparison]] = {
    exp.EQ: Comparison.EQ,
    exp.NEQ: Comparison.NE,
    exp.LT: Comparison.LT,
    exp.LTE: Comparison.LE,
    exp.GT: Comparison.GT,
    exp.GTE: Comparison.GE,
}
"""Comparisons as sqlglot reads them."""

# Set by sqlglot itself on every COUNT; says nothing about the query.
_INTERNAL = frozenset({"big_int"})
_PLAIN: Final[Mapping[type[exp.Expr], str]] = {
    exp.Boolean: "TRUE or FALSE",
    exp.Bracket: "a table's value",
    exp.Column: "a field",
    exp.GroupingSets: "GROUPING SETS",
    exp.ILike: "ILIKE",
    exp.In: "IN with a subquery",
    exp.Like: "LIKE",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Parameter: "a parameter",
    exp.Placeholder: "a parameter",
    exp.SimilarTo: "SIMILAR TO",
    exp.Star: "*",
    exp.Subquery: "a subquery",
    exp.Tuple: "a list",
    exp.Window: "a window function",
}
"""What a construct is called in an error, where sqlglot's name is not SQL's."""


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


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return what stands inside any parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def first_extra(node: exp.Expr, *allowed: str) -> tuple[str, exp.Expr | None] | None:
    """Return the first part of a node beyond the allowed ones: its name and its expression."""
    for name, value in node.args.items():
        if not value or name in allowed or name in _INTERNAL:
            continue
        part = value[0] if isinstance(value, list) else value
        return name, part if isinstance(part, exp.Expr) else None
    return None


def sides(
    node: exp.Expr, goes_left: Callable[[exp.Expr], bool]
) -> tuple[exp.Expr, Comparison, exp.Expr] | None:
    """Return what is compared with what, and how; ``None`` where a node is no comparison.

    Args:
        node: the comparison.
        goes_left: what is turned to the left.
    """
    comparison = COMPARISONS.get(type(node))
    if comparison is None:
        return None
    left, right = unwrapped(node.this), unwrapped(node.expression)
    if goes_left(right) and not goes_left(left):
        return right, comparison.flipped, left
    return left, comparison, right


def operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return the operands of a chain of one connective, left to right, without recursion.

    Args:
        node: the outermost one.
        kind: the connective.
    """
    found: list[exp.Expr] = []
    stack = [node]
    while stack:
        part = unwrapped(stack.pop())
        if isinstance(part, kind):
            stack += [part.expression, part.this]
        else:
            found.append(part)
    return found


def column(node: exp.Expr, fields: Mapping[str, Field], role: str) -> Field:
    """Return the declared field that a column names.

    Args:
        node: what should be a plain column.
        fields: the feed's declared fields.
        role: what the column is for, as in ``GROUP BY takes``.

    Raises:
        SqlProblem: it is no plain column, or not declared.
    """
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise SqlProblem(
            f"{role} a declared field, not {named(node)}",
            "write one field of the feed alone: no function, no arithmetic, no 'single quotes'; a "
            'keyword in "double quotes"',
            node,
        )
    name = node.this.name
    if node.args.get("table") is not None:
        if node.sql() in fields:
            hint = f'quote a name with dots: "{node.sql()}"'
        else:
            hint = f"write {name}"
        raise SqlProblem("a field name has no prefix here", hint, node)
    if name not in fields:
        raise SqlProblem(f"`{name}` is not a field of the feed", closest(name, fields), node)
    return fields[name]


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a node computes an aggregate, filter included."""
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)


def is_word(node: exp.Expr, word: str) -> bool:
    """Tell whether a node is a word that stands for what a key says, such as REFERENCE."""
    return (
        isinstance(node, exp.Column)
        and isinstance(node.this, exp.Identifier)
        and first_extra(node, "this") is None
        and not node.this.args.get("quoted")
        and node.name.upper() == word
    )


def has_aggregate(node: exp.Expr) -> bool:
    """Tell whether there is an aggregate anywhere in a node."""
    return any(is_aggregate(part) for part in node.walk())


def numeric(node: exp.Expr) -> Fraction | None:
    """Return the exact value of a number literal, signs and parentheses allowed, else ``None``.

    Raises:
        SqlProblem: it is longer than any number that is read.
    """
    node = unwrapped(node)
    if isinstance(node, exp.Neg):
        value = numeric(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Literal) and not node.is_string:
        if len(node.name) > LONGEST_NUMBER:
            message = f"a number has at most {LONGEST_NUMBER} characters"
            raise SqlProblem(message, "write a shorter number", node)
        return number(node.name)
    return None


def named(node: exp.Expr) -> str:
    """Return a short name of a construct for an error text."""
    if isinstance(node, exp.Literal):
        return "a string" if node.is_string else "a number"
    if isinstance(node, exp.Anonymous):
        return f"{node.name.upper()}()"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return f"{node.sql_name()}()"
    if isinstance(node, exp.Predicate):
        empty = isinstance(node, exp.In) and first_extra(node, "this") is None
        return "IN without values" if empty else _PLAIN.get(type(node), "a comparison")
    if isinstance(node, exp.Binary | exp.Neg):
        return "an expression"
    return _PLAIN.get(type(node), node.key.upper())
