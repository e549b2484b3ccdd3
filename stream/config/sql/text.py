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

__all__ = ["SHAPE", "name_in_sql", "select_of"]

SHAPE = (
    "write SELECT fields FROM feed [WHERE condition] GROUP BY fields, "
    "TUMBLE(time, INTERVAL '1' HOUR) HAVING COUNT(*) > 10"
)
"""The shortest hint at the whole grammar."""

_WINDOWS: Final = "write TUMBLE(time, size) or HOP(time, step, size) into GROUP BY"
_FOREIGN: Final = {
    "SESSION": f"{_WINDOWS}: the end of a session depends on data",
    "TABLE": _WINDOWS,
    "DESCRIPTOR": _WINDOWS,
    "TUMBLING": _WINDOWS,
    "HOPPING": _WINDOWS,
    "EMIT": "remove it: a window is decided once",
    "MATCH_RECOGNIZE": SHAPE,
    "TOP": "remove it: every group is decided",
    "XOR": "write (a AND NOT b) OR (b AND NOT a)",
    "&&": "write AND",
    "PREWHERE": "write WHERE",
}
"""Words of other systems, with what to write instead."""
_CALLS: Final = frozenset({"SESSION", "TABLE", "DESCRIPTOR", "TUMBLING", "HOPPING"})
"""Those that are plain names unless a parenthesis follows."""


def select_of(sql: str) -> exp.Select:
    """Return the one SELECT statement of a text.

    Raises:
        SqlProblem: it is not one, or cannot be read.
    """
    try:
        tokens = sqlglot.tokenize(sql)
    except TokenError:
        offset = _open_quote(sql)
        raise SqlProblem("a quote or comment is not closed", "close it", offset) from None
    if not tokens:
        raise SqlProblem("the SQL is empty", SHAPE, 0)
    if tokens[0].token_type is not TokenType.SELECT:
        raise SqlProblem(f"the SQL begins with {tokens[0].text} instead of SELECT", SHAPE, 0)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON and token is not tokens[-1]:
            raise SqlProblem("the SQL has a second statement", "remove it", token.start)
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
        for token in tokens:
            if token.token_type in (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT):
                raise SqlProblem(f"{token.text} is not supported", SHAPE, token.start)
        raise SqlProblem("the SQL is not one SELECT", SHAPE, 0)
    return statement


def _refuse_foreign(tokens: Sequence[Token]) -> None:
    """Name what other systems have, where a text that cannot be read has it.

    Raises:
        SqlProblem: it is there.
    """
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        word = token.text.upper()
        hint = _FOREIGN.get(word)
        called = after is not None and after.token_type is TokenType.L_PAREN
        if hint is not None and (called or word not in _CALLS):
            raise SqlProblem(f"{word} is not supported", hint, token.start)


def name_in_sql(name: str) -> str:
    """Return a field's name as SQL, in double quotes where it needs them."""
    try:
        (call,) = select_of(f"SELECT f({name})").expressions
    except (SqlProblem, ValueError):
        plain = False
    else:
        plain = isinstance(call, exp.Anonymous) and call.expressions == [exp.column(name)]
    return exp.column(name, quoted=not plain).sql()


def _open_quote(sql: str) -> int:
    """Return where the quote begins that its line does not close, or the comment."""
    at = 0
    for line in sql.splitlines(keepends=True):
        for mark in "'\"`":
            if line.count(mark) % 2:
                return at + line.rindex(mark)
        at += len(line)
    return max(sql.find("/*"), 0)
