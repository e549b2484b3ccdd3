"""Windows in Flink's spelling as table functions, read as those in GROUP BY are.

::

    FROM TABLE(TUMBLE(TABLE feed, DESCRIPTOR(time), size)) ...
    GROUP BY fields, window_start, window_end

The text is split in two of the same length, so that every word keeps its place: one SELECT over the
feed alone, and the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import TokenError

from stream.config.sql.nodes import SqlProblem, start
from stream.config.sql.text import select_of

if TYPE_CHECKING:
    from sqlglot import Token

__all__ = ["ENDS", "TableFunction", "split", "without_ends"]

ENDS: Final = ("window_start", "window_end")
"""Names that GROUP BY gives the window where FROM says it."""

_SHAPE: Final = "write FROM TABLE({call}(TABLE feed, DESCRIPTOR(time), INTERVAL '1' HOUR))"


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A window that FROM says.

    Args:
        call: as GROUP BY would have it, its first argument the time.
        offset: where it stands.
    """

    call: exp.Anonymous
    offset: int


def split(sql: str) -> tuple[str, TableFunction | None]:
    """Return the text with its feed alone after FROM, and the window that stood there.

    Args:
        sql: of an alarm; without a table function, or where it cannot be read, it is returned as it
            is.

    Raises:
        SqlProblem: FROM has a table function that is no window over a feed.
    """
    try:
        tokens = sqlglot.tokenize(sql)
    except TokenError:
        return sql, None
    at = next(
        (
            at
            for at in range(len(tokens) - 3)
            if tokens[at].token_type is TokenType.FROM
            and tokens[at + 1].token_type is TokenType.TABLE
            and tokens[at + 2].token_type is TokenType.L_PAREN
        ),
        None,
    )
    if at is None or tokens[0].token_type is not TokenType.SELECT:
        return sql, None
    name = tokens[at + 3]
    hint = _SHAPE.format(call=name.text.upper() or "TUMBLE")
    last = _closing(tokens, at + 2)
    inner = tokens[at + 3 : last]
    if last is None or len(inner) < 4 or inner[1].token_type is not TokenType.L_PAREN:
        raise SqlProblem("FROM TABLE() takes one window over a feed", hint, name.start)
    if inner[2].token_type is not TokenType.TABLE:
        raise SqlProblem(f"{name.text} takes TABLE and a feed first", hint, inner[2].start)
    feed = inner[3]
    blank = list(" " * len(sql))
    plain, call = list(sql), blank.copy()
    plain[tokens[at + 1].start : tokens[last].end + 1] = " " * (
        tokens[last].end + 1 - tokens[at + 1].start
    )
    plain[feed.start : feed.end + 1] = sql[feed.start : feed.end + 1]
    call[tokens[0].start : tokens[0].end + 1] = "SELECT"
    call[name.start : tokens[last].start] = sql[name.start : tokens[last].start]
    call[inner[2].start : inner[2].end + 1] = " " * len("TABLE")
    return "".join(plain), _window("".join(call), name.start, hint)


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


def _window(text: str, offset: int, hint: str) -> TableFunction:
    """Return the call with its time for the feed and its descriptor."""
    (node,) = select_of(text).expressions
    arguments = node.expressions if isinstance(node, exp.Anonymous) else []
    described = arguments[1] if len(arguments) > 1 else None
    if not isinstance(described, exp.Anonymous) or described.name.upper() != "DESCRIPTOR":
        where = offset if described is None else start(described)
        raise SqlProblem("a table function names its time as DESCRIPTOR(time)", hint, where)
    if len(described.expressions) != 1:
        raise SqlProblem("DESCRIPTOR takes one time", hint, described)
    node.set("expressions", [described.expressions[0], *arguments[2:]])
    return TableFunction(node, offset)


def _closing(tokens: list[Token], opening: int) -> int | None:
    """Return the place of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for at in range(opening, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return at
    return None
