"""Windows in Flink's spelling as table functions, read as those in GROUP BY are.

::

    FROM TABLE(TUMBLE(TABLE feed, DESCRIPTOR(time), size)) ...
    GROUP BY fields, window_start, window_end

Without its two words TABLE, sqlglot reads the call. Blanks stand in their place, so that every
other word keeps its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import TokenError

from stream.config.sql.nodes import SqlProblem, start

if TYPE_CHECKING:
    from sqlglot import Token

__all__ = ["ENDS", "window_of", "without_ends", "without_table"]

ENDS: Final = ("window_start", "window_end")
"""Names that GROUP BY gives the window where FROM says it."""

_SHAPE: Final = "write FROM TABLE({call}(TABLE feed, DESCRIPTOR(time), INTERVAL '1' HOUR))"
_OPENED: Final = [TokenType.FROM, TokenType.TABLE, TokenType.L_PAREN]


def without_table(sql: str) -> str:
    """Return the text with the call alone after FROM, where a table function stands there.

    Args:
        sql: of an alarm; where it cannot be read, it is returned as it is.

    Raises:
        SqlProblem: FROM has a table function that is no window over a feed.
    """
    try:
        tokens = sqlglot.tokenize(sql)
    except TokenError:
        return sql
    kinds = [token.token_type for token in tokens]
    at = next((at for at in range(len(kinds) - 3) if kinds[at : at + 3] == _OPENED), None)
    if at is None or kinds[0] is not TokenType.SELECT:
        return sql
    name, last = tokens[at + 3], _closing(tokens, at + 2)
    inner = tokens[at + 4 : last]
    hint = _SHAPE.format(call=name.text.upper())
    if last is None or len(inner) < 3 or inner[0].token_type is not TokenType.L_PAREN:
        raise SqlProblem("FROM TABLE() takes one window over a feed", hint, name.start)
    if inner[1].token_type is not TokenType.TABLE:
        raise SqlProblem(f"{name.text} takes TABLE and a feed first", hint, inner[1].start)
    for token in (tokens[at + 1], tokens[at + 2], inner[1], tokens[last]):
        blank = " " * (token.end + 1 - token.start)
        sql = sql[: token.start] + blank + sql[token.end + 1 :]
    return sql


def window_of(select: exp.Select) -> exp.Anonymous | None:
    """Return the window that FROM says, as GROUP BY would have it, and leave the feed there.

    Args:
        select: of a text from which a table function's words TABLE were taken.

    Raises:
        SqlProblem: the window does not name its time.
    """
    table = select.find(exp.Table)
    call = None if table is None else table.this
    if table is None or not isinstance(call, exp.Anonymous):
        return None
    hint = _SHAPE.format(call=call.name.upper())
    arguments = call.expressions
    described = arguments[1] if len(arguments) > 1 else None
    if not isinstance(described, exp.Anonymous) or described.name.upper() != "DESCRIPTOR":
        message = "a table function names its time as DESCRIPTOR(time)"
        raise SqlProblem(message, hint, described or start(call))
    if len(described.expressions) != 1:
        raise SqlProblem("DESCRIPTOR takes one time", hint, described)
    feed = arguments[0]
    table.set("db", feed.args.get("table"))
    table.set("this", feed.this if isinstance(feed, exp.Column) else feed)
    call.set("expressions", [described.expressions[0], *arguments[2:]])
    return call


def without_ends(clause: exp.Group) -> list[exp.Expr]:
    """Return what GROUP BY has beside the ends of the window that FROM says.

    Raises:
        SqlProblem: one of the ends is missing.
    """
    grouped = {node.name for node in clause.expressions if _is_end(node)}
    for name in ENDS:
        if name not in grouped:
            message = f"GROUP BY lacks {name} of the window in FROM"
            hint = f"write GROUP BY ..., {', '.join(ENDS)}"
            raise SqlProblem(message, hint, clause)
    return [node for node in clause.expressions if not _is_end(node)]


def _is_end(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name in ENDS


def _closing(tokens: list[Token], opening: int) -> int | None:
    """Return the place of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for at in range(opening, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return at
    return None
