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
from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from stream.config.alarms.reduction import Tree
from stream.config.scalars import closest
from stream.config.sql.bands import band_of
from stream.config.sql.having import HavingReader
from stream.config.sql.nodes import SqlProblem, column, depth_limited, named, numeric, start
from stream.config.sql.quantifiers import least_of
from stream.config.sql.spans import check_steps, span_of
from stream.config.sql.text import SHAPE, inner_of, select_of
from stream.config.sql.where import WhereReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from stream.config.scalars import Duration
    from stream.config.sql.bands import BandAsked
    from stream.config.sql.comparisons import Asked, Measure
    from stream.model.feeds import Feed, Field
    from stream.model.filters import Where

__all__ = ["ParsedQuery", "SqlProblem", "parse_sql"]

_WINDOWS = (
    "write TUMBLE({time}, INTERVAL '1' HOUR), HOP({time}, step, size) or "
    "CUMULATE({time}, step, size)"
)
_ARGUMENTS = {"TUMBLE": 2, "HOP": 3, "CUMULATE": 3}


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
    band: BandAsked | None
    cumulative: bool
    members: tuple[str, ...] = ()
    least: int = 1

    @property
    def measures(self) -> set[Measure]:
        """The aggregates that are compared."""
        banded = {self.band.measure} if self.band else set()
        return banded.union(asked.measure for asked in self.having.leaves())


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
    with depth_limited():
        select = select_of(sql)
        inner = inner_of(select)
        if inner is None:
            return _Reader(select, feeds, tables, timezone).read()
        return _Reader(inner, feeds, tables, timezone).read_within(select)


@dataclass
class _Reader:
    """Reads one SELECT."""

    select: exp.Select
    feeds: Mapping[str, Feed]
    tables: Sequence[str]
    timezone: ZoneInfo
    notes: list[SqlProblem] = field(default_factory=list)

    def read(self) -> ParsedQuery:
        """Return the query."""
        feed, where = self.feed, self.select.args.get("where")
        group, window = self._group()
        step, size = self._window(window)
        self._check_selected(self.select, group)
        filters = WhereReader(feed.fields, self.timezone, self.notes)
        tree = None if where is None else filters.read(where.this)
        having = self.select.args.get("having")
        if having is None:
            raise SqlProblem("HAVING is missing: it is the condition", SHAPE, 0)
        reader = HavingReader(feed, group, self.tables, filters, tree)
        band = band_of(having.this, reader)
        return ParsedQuery(
            feed=feed,
            group=group,
            size=size,
            step=step,
            window_offset=start(window),
            where=tree,
            where_offset=start(where.this) if where else 0,
            having=reader.read(having.this) if band is None else Tree(),
            having_offset=start(having.this),
            reader=reader,
            notes=tuple(self.notes),
            band=band,
            cumulative=window.name.upper() == "CUMULATE",
        )

    def read_within(self, outer: exp.Select) -> ParsedQuery:
        """Return the query whose groups another one counts."""
        parsed, where = self.read(), outer.args.get("where")
        if parsed.band or where is not None:
            message = "a query that counts groups has neither WHERE nor a band"
            raise SqlProblem(message, "write WHERE into the inner query", where or 0)
        group = self._outer_group(outer, parsed.group)
        members = tuple(name for name in parsed.group if name not in group)
        if not members:
            raise SqlProblem(
                "the outer query has the same groups as the inner one: there is nothing to count",
                "write the inner query only, or group it by more fields",
                0,
            )
        size = prod(len(self.feed.fields[name].domain or ()) for name in members)
        least = least_of(outer, size, f"groups of {', '.join(members)}")
        self._check_selected(outer, group)
        return replace(parsed, group=group, members=members, least=least)

    @cached_property
    def feed(self) -> Feed:
        """What FROM names."""
        clause = self.select.args.get("from_")
        if clause is None:
            raise SqlProblem("FROM is missing", SHAPE, 0)
        table = clause.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise SqlProblem(f"FROM takes a feed, not {named(table)}", SHAPE, table)
        full = ".".join(part.name for part in table.parts)
        if table.db or full not in self.feeds:
            hint = f'quote it: "{full}"' if full in self.feeds else closest(full, self.feeds)
            raise SqlProblem(f"`{full}` is not a feed", hint, table)
        return self.feeds[full]

    @property
    def _windows(self) -> str:
        """The hint at the windows that there are."""
        return _WINDOWS.format(time=self.feed.time)

    def _group(self) -> tuple[tuple[str, ...], exp.Anonymous]:
        """Return the group fields, and the window."""
        nodes, names = _grouped_by(self.select), []
        windows = [node for node in nodes if isinstance(node, exp.Anonymous)]
        if len(windows) != 1:
            at = [self.select, *nodes, *windows][-1]
            raise SqlProblem("GROUP BY takes one window", self._windows, at)
        fields = [node for node in nodes if node not in windows]
        for node, by in self._fields(fields, "GROUP BY takes"):
            if by.domain is None:
                message = f"GROUP BY {by.name} needs the public values of {by.name}"
                hint = f"add domain: {by.name}.txt to this field, a string or an integer"
                if by.name == self.feed.unit:
                    message = f"GROUP BY {by.name} would make a group of every person"
                    hint = "group by another field"
                raise SqlProblem(message, hint, node)
            names.append(by.name)
        return tuple(names), windows[0]

    def _outer_group(self, outer: exp.Select, group: tuple[str, ...]) -> tuple[str, ...]:
        """Return the fields of the outer GROUP BY: some of the inner one."""
        names = []
        selected = {node.name for node in self.select.expressions if isinstance(node, exp.Column)}
        for node, by in self._fields(_grouped_by(outer), "the outer GROUP BY takes"):
            if by.name not in selected.intersection(group):
                message = f"`{by.name}` is not in SELECT and GROUP BY of the inner query"
                raise SqlProblem(message, f"write {by.name} into both", node)
            names.append(by.name)
        return tuple(names)

    def _fields(self, nodes: Sequence[exp.Expr], role: str) -> Iterator[tuple[exp.Expr, Field]]:
        """Yield columns and the declared fields that they name, each once.

        Args:
            nodes: the columns.
            role: what they are for, as in ``GROUP BY takes``.
        """
        found: set[str] = set()
        for node in nodes:
            field = column(node, self.feed.fields, role)
            if field.name in found:
                raise SqlProblem(f"`{field.name}` is grouped by twice", "remove one", node)
            found.add(field.name)
            yield node, field

    def _window(self, node: exp.Anonymous) -> tuple[Duration, Duration]:
        """Return step and size."""
        name, arguments = node.name.upper(), node.expressions
        if _ARGUMENTS.get(name) != len(arguments):
            raise SqlProblem(f"{named(node)} is not a window", self._windows, node)
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
            grouped = isinstance(node, exp.Column) and not node.table and node.name in group
            if not grouped and (group or numeric(node) != 1):
                message = "SELECT takes group fields only, because exact values are not published"
                hint = f"write SELECT {', '.join(group) or 1} instead of {named(node)}"
                raise SqlProblem(message, hint, node)


def _grouped_by(select: exp.Select) -> list[exp.Expr]:
    """Return what stands in GROUP BY."""
    nodes: list[exp.Expr] = (select.args.get("group") or exp.Group()).expressions
    return nodes
