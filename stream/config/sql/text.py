"""From SQL text to one parsed SELECT statement, by sqlglot.

Whatever sqlglot cannot read, or reads as something else than one SELECT, is refused at its place.
"""

from __future__ import annotations

import logging
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from stream.config.sql.nodes import SqlProblem

__all__ = ["SHAPE", "expression_of", "inner_of", "name_in_sql", "select_of"]

SHAPE = (
    "write SELECT fields FROM feed [WHERE condition] GROUP BY fields, "
    "TUMBLE(time, INTERVAL '1' HOUR) HAVING COUNT(*) > 10"
)
"""The shortest hint at the whole grammar."""

_READ: Final = frozenset(
    {"this", "expression", "expressions", "from_", "where", "group", "having", "query"}
    | {"table", "db", "catalog", "quoted", "is_string", "low", "high", "unit", "to", "nested"}
)
"""Parts of nodes that somebody reads, or that say nothing about the query."""
_WHOLE: Final = (exp.Alias, exp.Binary, exp.Func, exp.Ordered, exp.Window)
"""Nodes that are read, or refused, with all that is in them."""


def select_of(sql: str) -> exp.Select:
    """Return the one SELECT statement of a text; none of its nodes has parts that nobody reads.

    Raises:
        SqlProblem: it is not one, or cannot be read.
    """
    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True  # its warnings would go to stderr
    try:
        parsed = sqlglot.parse(sql, error_message_context=len(sql))
    except TokenError:
        offset = _open_quote(sql)
        raise SqlProblem("a quote or comment is not closed", "close it", offset) from None
    except ParseError as error:
        detail = (error.errors or [{}])[0]
        before, near = (detail.get(part) or "" for part in ("start_context", "highlight"))
        message = f"this SQL cannot be read near `{near.strip()}`"
        raise SqlProblem(message, SHAPE, len(before)) from None
    finally:
        logger.disabled = disabled
    statements = [each for each in parsed if not isinstance(each, exp.Semicolon | None)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise SqlProblem("the SQL is not one SELECT", SHAPE, 0)
    for node in statements[0].walk():
        _check_parts(node)
    return statements[0]


def inner_of(select: exp.Select) -> exp.Select | None:
    """Return the SELECT in parentheses in FROM; ``None`` where there is none."""
    clause = select.args.get("from_")
    inner = clause.this.this if clause and isinstance(clause.this, exp.Subquery) else None
    return inner if isinstance(inner, exp.Select) else None


def expression_of(text: str, called: str = "this") -> exp.Expr:
    """Return the one expression that a text is.

    Args:
        text: as written.
        called: what it is, for errors.

    Raises:
        SqlProblem: it is none, or cannot be read (the offset says nothing).
    """
    select = select_of(f"SELECT {text}")
    more = [name for name, value in select.args.items() if value and name != "expressions"]
    if more or len(select.expressions) != 1:
        raise SqlProblem(f"{called} is not one number or one table's value", "", 0)
    expression: exp.Expr = select.expressions[0].unnest()
    return expression


def _check_parts(node: exp.Expr) -> None:
    """Refuse what is in a node beside what is read: ignored, it could change who is protected."""
    if isinstance(node, _WHOLE) and not isinstance(node, exp.Cast):
        return
    for name, value in node.args.items():
        if value and name not in _READ:
            part = value[0] if isinstance(value, list) else value
            at = part if isinstance(part, exp.Expr) else node
            word = name.upper().rstrip("_").replace("_", " ")
            raise SqlProblem(f"{word} is not supported here", SHAPE, at)


def name_in_sql(name: str) -> str:
    """Return a field's name as SQL, in double quotes where it needs them."""
    plain = exp.Anonymous(this="f", expressions=[exp.column(name)])
    try:
        quoted = select_of(f"SELECT f({name})").expressions != [plain]
    except (SqlProblem, ValueError):
        quoted = True
    return exp.column(name, quoted=quoted).sql()


def _open_quote(sql: str) -> int:
    """Return where the quote begins that its line does not close, or the comment."""
    at = 0
    for line in sql.splitlines(keepends=True):
        for mark in "'\"`":
            if line.count(mark) % 2:
                return at + line.rindex(mark)
        at += len(line)
    return max(sql.find("/*"), 0)
