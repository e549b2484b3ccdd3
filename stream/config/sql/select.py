"""The SQL of an alarm: parsed by sqlglot, then read against a small grammar.

::

    SELECT <group fields> FROM <feed> [WHERE <condition>]
    GROUP BY <group fields>, TUMBLE(<time>, <size>) | HOP(<time>, <step>, <size>)
                           | CUMULATE(<time>, <step>, <size>)
    HAVING <comparisons of aggregates under AND, OR, NOT>   (``stream.config.sql.having``)
         | ABS(<aggregate> - REFERENCE) >= <number>         (``stream.config.sql.bands``)

A SELECT may stand around it that counts its groups (``stream.config.sql.quantifiers``).
The whole tree is accounted for: a construct outside the grammar is refused where it stands and
never ignored, since what is ignored could change who is protected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from stream.config.alarms.reduction import Tree
from stream.config.scalars import closest
from stream.config.sql.bands import band_of
from stream.config.sql.having import HavingReader
from stream.config.sql.nodes import (
    SqlProblem,
    column,
    first_extra,
    named,
    numeric,
    start,
)
from stream.config.sql.quantifiers import inner_of, quantifier_of
from stream.config.sql.spans import check_steps, span_of
from stream.config.sql.text import SHAPE, select_of
from stream.config.sql.where import WhereReader
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from stream.config.scalars import Duration
    from stream.config.sql.bands import BandAsked
    from stream.config.sql.comparisons import Asked, Measure
    from stream.model.feeds import Feed
    from stream.model.filters import Where

__all__ = ["ParsedQuery", "SqlProblem", "parse_sql"]

_WINDOWS = (
    "write TUMBLE({time}, INTERVAL '1' HOUR), HOP({time}, step, size) or "
    "CUMULATE({time}, step, size)"
)
_DECLARED = {
    FieldType.STRING: "add domain: {name}.txt to {name} in the feed's fields",
    FieldType.INTEGER: "declare {name}: {{type: integer, domain: [1, 2]}} in the feed's fields",
    FieldType.BOOLEAN: "write one alarm for each value, with WHERE {name} = TRUE",
}
_WINDOW_ENDS = frozenset({"window_start", "window_end", "window_time"})
_CLAUSES = {
    "distinct": "SELECT DISTINCT",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "with_": "WITH",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "locks": "FOR UPDATE",
    "hint": "a hint",
    "into": "INTO",
}


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What the SQL says, checked against the feed.

    Args:
        feed: the feed read.
        group: group fields in the order of GROUP BY; those that are decided, of a quantifier.
        size: length of a window.
        step: distance between the starts of windows, or of looks at one.
        cumulative: whether a window is looked at after every step.
        window_offset: where the window stands.
        where: the row filter.
        where_offset: where it stands.
        having: the comparisons, NOT pushed down to them; empty where there is a band.
        having_offset: where the first of them stands.
        reader: reads texts of comparisons as this query's HAVING was read.
        notes: warnings.
        band: what is asked instead of comparisons, if it is a band around REFERENCE.
        members: further group fields, whose groups a quantifier counts.
        least: how many of these it takes.
    """

    feed: Feed
    group: tuple[str, ...]
    size: Duration
    step: Duration
    window_offset: int
    where: Where | None
    where_offset: int
    having: Tree[Asked]
    having_offset: int
    reader: HavingReader
    notes: tuple[SqlProblem, ...]
    band: BandAsked | None = None
    cumulative: bool = False
    members: tuple[str, ...] = ()
    least: int = 1

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The aggregates that are compared, once for every way in which they are written."""
        measures = [asked.measure for asked in self.having.leaves()]
        if self.band:
            measures.append(self.band.measure)
        return tuple({measure.text: measure for measure in measures}.values())


def parse_sql(
    sql: str, *, feeds: Mapping[str, Feed], tables: Sequence[str], timezone: ZoneInfo
) -> ParsedQuery:
    """Read the SQL of one alarm.

    Args:
        sql: its text.
        feeds: declared feeds by name.
        tables: names of the declared public tables.
        timezone: of timestamps written without an offset.

    Raises:
        SqlProblem: it is not in the grammar, or contradicts the declarations.
    """
    try:
        select = select_of(sql)
        inner = inner_of(select)
        reader = _Reader(inner or select, feeds, tables, timezone)
        return reader.read() if inner is None else reader.read_within(select)
    except RecursionError:  # conditions nest as deeply as their parentheses
        raise SqlProblem("the SQL is nested too deeply", "use fewer parentheses", 0) from None


@dataclass
class _Reader:
    """Reads one SELECT."""

    select: exp.Select
    feeds: Mapping[str, Feed]
    tables: Sequence[str]
    timezone: ZoneInfo
    cumulative: bool = False
    notes: list[SqlProblem] = field(default_factory=list)

    def read(self) -> ParsedQuery:
        """Return the query."""
        select, fields, notes = self.select, self.feed.fields, self.notes
        allowed = ("expressions", "from_", "where", "group", "having")
        extra = first_extra(select, *allowed)
        if extra is not None:
            name, node = extra
            clause = _CLAUSES.get(name, name.upper().replace("_", " "))
            raise SqlProblem(f"{clause} is not supported", SHAPE, node or select)
        group, (step, size), window_offset = self._group()
        self._check_selected(select, group)
        where = select.args.get("where")
        tree = None if where is None else WhereReader(fields, self.timezone, notes).read(where.this)
        having = self._having()
        present = required_fields(self.feed) | set(group)
        reader = HavingReader(self.feed, group, present, self.tables, self.timezone, notes, tree)
        band = band_of(having, reader)
        return ParsedQuery(
            feed=self.feed,
            group=group,
            size=size,
            step=step,
            window_offset=window_offset,
            where=tree,
            where_offset=start(where.this) if where else 0,
            having=reader.read(having) if band is None else Tree(),
            having_offset=start(having),
            reader=replace(reader, notes=[]),
            notes=tuple(notes),
            band=band,
            cumulative=self.cumulative,
        )

    def read_within(self, outer: exp.Select) -> ParsedQuery:
        """Return the query whose groups another one counts."""
        parsed = self.read()
        if parsed.band:
            message = "a band cannot count groups"
            raise SqlProblem(message, "write the inner query only", parsed.band.offset)
        found = quantifier_of(outer, self.select, parsed.group, self.feed)
        self._check_selected(outer, found.outer)
        return replace(parsed, group=found.outer, members=found.members, least=found.least)

    @cached_property
    def feed(self) -> Feed:
        """What FROM names."""
        feeds = self.feeds
        clause = self.select.args.get("from_")
        if clause is None:
            raise SqlProblem("FROM is missing", SHAPE, 0)
        table = clause.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            message = f"FROM takes a feed, not {named(table)}"
            raise SqlProblem(message, SHAPE, table)
        extra = first_extra(table, "this")
        if extra is not None and extra[0] in ("db", "catalog"):
            full = ".".join(part.name for part in table.parts)
            hint = f'quote it: "{full}"' if full in feeds else closest(full, feeds)
            raise SqlProblem(f"`{full}` is not a feed", hint, table)
        if extra is not None:
            what = "an alias" if extra[0] == "alias" else extra[0].upper()
            raise SqlProblem(
                f"FROM takes one feed without {what}",
                "write the name of the feed only",
                extra[1] or 0,
            )
        name = table.this.name
        if name not in feeds:
            raise SqlProblem(f"`{name}` is not a feed", closest(name, feeds), table)
        return feeds[name]

    def _group(self) -> tuple[tuple[str, ...], tuple[Duration, Duration], int]:
        clause = self.select.args.get("group")
        hint = _WINDOWS.format(time=self.feed.time)
        if clause is None:
            raise SqlProblem("GROUP BY with a window is missing", hint, 0)
        extra = first_extra(clause, "expressions")
        if extra is not None:
            message = f"GROUP BY {extra[0].upper()} is not supported"
            raise SqlProblem(message, hint, clause)
        fields: list[str] = []
        windows: list[tuple[Duration, Duration]] = []
        offset = 0
        for node in clause.expressions:
            if isinstance(node, exp.Anonymous):
                if windows:
                    raise SqlProblem("GROUP BY takes one window", "remove this one", node)
                windows.append(self._window(node))
                offset = start(node)
                continue
            self._check_grouped(node, hint)
            grouping = column(node, self.feed.fields, "GROUP BY takes")
            name = grouping.name
            if grouping.domain is None:
                message = f"GROUP BY {name} needs the public values of {name}"
                hint = _DECLARED.get(grouping.type, "group by a string or an integer")
                if name == self.feed.unit:
                    message = f"GROUP BY {name} would make a group of every person"
                    hint = "group by another field"
                raise SqlProblem(message, hint.format(name=name), node)
            if name in fields:
                raise SqlProblem(f"`{name}` is grouped by twice", "remove one", node)
            fields.append(name)
        if not windows:
            raise SqlProblem("GROUP BY has no window", hint, clause)
        return tuple(fields), windows[0], offset

    def _check_grouped(self, node: exp.Expr, hint: str) -> None:
        """Refuse what is no name, and the names that other systems give a window's ends."""
        if not isinstance(node, exp.Column):
            message = f"GROUP BY takes declared fields and a window, not {named(node)}"
            hint = "write fields by their names, and one window: "
            hint += f"TUMBLE({self.feed.time}, INTERVAL '1' HOUR)"
            raise SqlProblem(message, hint, node)
        if node.name in _WINDOW_ENDS and node.name not in self.feed.fields:
            raise SqlProblem("GROUP BY needs the window function itself", hint, node)

    def _window(self, node: exp.Anonymous) -> tuple[Duration, Duration]:
        """Return step and size."""
        name, arguments = node.name.upper(), node.expressions
        hint = _WINDOWS.format(time=self.feed.time)
        count = {"TUMBLE": 2, "HOP": 3, "CUMULATE": 3}.get(name)
        if count is None:
            raise SqlProblem(f"{name}() is not a window", hint, node)
        if len(arguments) != count:
            message = f"{name} takes {count} arguments, not {len(arguments)}"
            raise SqlProblem(message, hint, node)
        if column(arguments[0], self.feed.fields, f"{name} takes").name != self.feed.time:
            raise SqlProblem(
                f"windows use the feed's time, `{self.feed.time}`",
                f"write {name}({self.feed.time}, ...)",
                arguments[0],
            )
        spans = [span_of(argument) for argument in arguments[1:]]
        step, size = spans[0], spans[-1]
        if name == "CUMULATE":
            check_steps(step, size, arguments[1])
            self.cumulative = True
        if bool(step.days) != bool(size.days):
            raise SqlProblem(
                "step and size mix days or weeks with shorter units",
                "write both in DAY or both in HOUR: a local day has 23 to 25 hours",
                arguments[1],
            )
        if step.milliseconds > size.milliseconds:
            self.notes.append(
                SqlProblem(
                    "the windows leave gaps, because the step is longer than the size",
                    "write the step first, then the size",
                    arguments[1],
                )
            )
        return step, size

    def _check_selected(self, select: exp.Select, group: tuple[str, ...]) -> None:
        """Refuse anything selected but group fields (or a bare 1 where there are none)."""
        for node in select.expressions:
            if not group and numeric(node) == 1:
                continue
            allowed = ", ".join(group) or "1"
            if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
                name = column(node, self.feed.fields, "SELECT takes").name
                if name in group:
                    continue
                message = f"`{name}` is not in GROUP BY"
            elif isinstance(node, exp.Alias):
                message = "SELECT takes no alias"
            elif isinstance(node, exp.AggFunc):
                message = (
                    f"SELECT cannot have {named(node)}, because exact values are never published"
                )
            else:
                message = f"SELECT takes group fields, not {named(node)}"
            raise SqlProblem(message, f"write SELECT {allowed}", node)

    def _having(self) -> exp.Expr:
        clause = self.select.args.get("having")
        if clause is None:
            raise SqlProblem("HAVING is missing: it is the condition", SHAPE, 0)
        condition: exp.Expr = clause.this
        return condition
