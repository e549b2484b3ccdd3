"""From SQL text to one parsed SELECT statement, by sqlglot.

Whatever sqlglot cannot read, or reads as something else than one SELECT, is refused at its place.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, TokenError

from stream.config.sql.nodes import SqlProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import Token

__all__ = ["SHAPE", "expression_of", "inner_of", "name_in_sql", "select_of"]

SHAPE = (
    "write SELECT fields FROM feed [WHERE condition] GROUP BY fields, "
    "TUMBLE(time, INTERVAL '1' HOUR) HAVING COUNT(*) > 10"
)
"""The shortest hint at the whole grammar."""

_WINDOWS: Final = "write TUMBLE(time, size) or HOP(time, step, size) into GROUP BY"
_FOREIGN: Final = {
    "SESSION(": f"{_WINDOWS}: the end of a session depends on data",
    "TABLE(": _WINDOWS,
    "DESCRIPTOR(": _WINDOWS,
    "TUMBLING(": _WINDOWS,
    "HOPPING(": _WINDOWS,
    "EMIT": "remove it: a window is decided once",
    "MATCH_RECOGNIZE": SHAPE,
    "TOP": "remove it: every group is decided",
    "XOR": "write (a AND NOT b) OR (b AND NOT a)",
    "&&": "write AND",
    "PREWHERE": "write WHERE",
}
"""Words of other systems, or functions, with what to write instead."""
_READ: Final = frozenset(
    {"this", "expression", "expressions", "from_", "where", "group", "having", "query"}
    | {"table", "db", "catalog", "quoted", "is_string", "low", "high", "unit", "to", "nested"}
)
"""Parts of nodes that somebody reads, or that say nothing about the query."""
_WHOLE: Final = (exp.Alias, exp.Binary, exp.Func, exp.Ordered, exp.Window)
"""Nodes that are read, or refused, with all that is in them."""
_SAID: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.Subquery: ("the inner query cannot have {}", "remove it"),
    exp.Table: ("FROM takes one feed without {}", "write the name of the feed only"),
    exp.Between: ("BETWEEN {} is not supported", "write the lower bound first"),
}
"""What is said of other parts, and what to write instead."""
_PARTS: Final = {
    "alias": "an alias",
    "all": "GROUP BY ALL",
    "distinct": "SELECT DISTINCT",
    "locks": "FOR UPDATE",
    "order": "ORDER BY",
}
"""What sqlglot's parts are called in SQL, where it is not their name."""


def select_of(sql: str) -> exp.Select:
    """Return the one SELECT statement of a text; none of its nodes has parts that nobody reads.

    Raises:
        SqlProblem: it is not one, or cannot be read.
    """
    tokens = _tokens(sql)
    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True  # its warnings would go to stderr
    try:
        statement = sqlglot.parse(sql, error_message_context=len(sql))[0]
    except ParseError as error:
        _refuse_foreign(tokens)
        detail = (error.errors or [{}])[0]
        before, near = (detail.get(part) or "" for part in ("start_context", "highlight"))
        message = f"this SQL cannot be read near `{near.strip()}`"
        raise SqlProblem(message, SHAPE, len(before)) from None
    finally:
        logger.disabled = disabled
    if not isinstance(statement, exp.Select):
        raise SqlProblem("the SQL is not one SELECT, but several joined ones", SHAPE, 0)
    for node in statement.walk():
        _check_parts(node)
    return statement


def _tokens(sql: str) -> Sequence[Token]:
    """Return the tokens of what may be one SELECT statement.

    Raises:
        SqlProblem: it is none.
    """
    try:
        tokens = sqlglot.tokenize(sql)
    except TokenError:
        offset = _open_quote(sql)
        raise SqlProblem("a quote or comment is not closed", "close it", offset) from None
    if not tokens or tokens[0].token_type is not TokenType.SELECT:
        raise SqlProblem("the SQL does not begin with SELECT", SHAPE, 0)
    for token in tokens[:-1]:
        if token.token_type is TokenType.SEMICOLON:
            raise SqlProblem("the SQL has a second statement", "remove it", token.start)
    return tokens


def inner_of(select: exp.Select) -> exp.Subquery | None:
    """Return what stands in parentheses in FROM; ``None`` where nothing does."""
    clause = select.args.get("from_")
    return clause.this if clause is not None and isinstance(clause.this, exp.Subquery) else None


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
    message, hint = _SAID.get(type(node), ("{} is not supported", SHAPE))
    if isinstance(node, exp.Select) and inner_of(node) is not None:
        message, hint = "the outer query cannot have {}", "remove it"
    for name, value in node.args.items():
        if value and name not in _READ:
            part = value[0] if isinstance(value, list) else value
            called = _PARTS.get(name, name.upper().rstrip("S_").replace("_", " "))
            at = part if isinstance(part, exp.Expr) else node
            raise SqlProblem(message.format(called), hint, at)


def _refuse_foreign(tokens: Sequence[Token]) -> None:
    """Name what other systems have, where a text that cannot be read has it.

    Raises:
        SqlProblem: it is there.
    """
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        word = token.text.upper()
        called = after is not None and after.token_type is TokenType.L_PAREN
        hint = _FOREIGN.get(f"{word}(" if called else word, _FOREIGN.get(word))
        if hint is not None:
            raise SqlProblem(f"{word} is not supported", hint, token.start)


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
