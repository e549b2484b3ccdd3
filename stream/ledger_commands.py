"""``tocsin ledger FILE ...``: what the custodian does with a ledger."""

from __future__ import annotations

from dataclasses import asdict
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from accountant.records import QueryRegistration
from stream.alarms import epsilon_text, iso_utc
from stream.build import budget_plan, open_ledger, wall_clock_ms
from stream.commandline import CONFIG, echo_json, load_alarms, require_ledger_file
from stream.console import ledger_place, status_tables
from stream.definition import definition_json
from stream.release import scope_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accountant.ledger import Ledger
    from stream.model import Alarms, Query

__all__ = ["accept_changes", "ledger"]

_BAD_INPUT = 2


@click.group()
@click.argument("file", type=CONFIG)
@click.pass_context
def ledger(ctx: click.Context, file: Path) -> None:
    """Look at the ledger of a configuration, or settle what it refuses.

    FILE is the configuration; the command stands after it: tocsin ledger FILE status.
    """
    ctx.obj = lambda: load_alarms(file, quiet=True)


@ledger.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def status(load: Callable[[], Alarms], *, as_json: bool) -> None:
    """Show how much of every budget is spent, and how far every alarm is."""
    alarms = load()
    with _opened(alarms) as opened:
        now = opened.status()
    if not as_json:
        Console().print(*status_tables(now), sep="\n")
        click.echo(f"ledger  {ledger_place(alarms.settings.ledger_url)}")
        return
    echo_json({"record": "ledger", "ledger": now.ledger_id})
    for scope in now.scopes.values():
        echo_json(
            {
                "record": "budget",
                "budget": scope.scope,
                "unit": scope.unit.value,
                "epsilon_max": epsilon_text(scope.epsilon_max_units),
                "spent": epsilon_text(scope.spent_units),
                "periods": {iso_utc(at): epsilon_text(u) for at, u in scope.periods.items()},
                "reservations": scope.reservations,
            }
        )
    for query in now.queries.values():
        shown: dict[str, Any] = asdict(query)
        name, budget, cursor_ms = (shown.pop(key) for key in ("query", "scope", "cursor_ms"))
        echo_json(
            {
                "record": "alarm",
                "alarm": name,
                "budget": budget,
                "next": iso_utc(cursor_ms),
                **shown,
            }
        )


@ledger.command()
@click.pass_obj
def verify(load: Callable[[], Alarms]) -> None:
    """Recompute everything from the charges; say what contradicts them."""
    with _opened(load()) as opened:
        problems = opened.verify()
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        click.get_current_context().exit(_BAD_INPUT)
    click.echo("ok")


@ledger.command()
@click.pass_obj
def export(load: Callable[[], Alarms]) -> None:
    """Write every row but raw counts and the hash key as JSON lines."""
    with _opened(load()) as opened:
        for row in opened.export():
            echo_json(row)


@ledger.command("mark-spent")
@click.pass_obj
def mark_spent(load: Callable[[], Alarms]) -> None:
    """Take published decisions that the ledger lacks over as spent.

    For a ledger restored from an older copy: what the decisions topic shows was released, so it is
    charged, and its windows are never drawn again.
    """
    from stream.kafka.guard import seen_decisions  # noqa: PLC0415  # imports Kafka's client

    alarms = load()
    seen = seen_decisions(alarms)
    with open_ledger(alarms) as opened:
        for scope in budget_plan(alarms).scopes:
            opened.register_budget(scope.terms)
        adopted = opened.mark_spent(seen)
    click.echo(f"{adopted} decision(s) taken over as spent, of {len(seen)} on the topic")


@ledger.command()
@click.pass_obj
def accept(load: Callable[[], Alarms]) -> None:
    """Take the changed configuration on, from the next window boundary of every changed alarm.

    Windows that began before are denied, uncharged. Stop all workers first.
    """
    alarms = load()
    with _opened(alarms) as opened:
        lines = accept_changes(alarms, opened, now_ms=wall_clock_ms())
    for line in lines:
        click.echo(line)
    if not lines:
        click.echo("nothing has changed")


def accept_changes(alarms: Alarms, opened: Ledger, *, now_ms: int) -> list[str]:
    """Accept every changed alarm; return one line for each.

    A feed with a declared history is read again, so its change takes effect at the oldest undecided
    window; a live one's at the first window that starts at or after ``now_ms``. The decider denies
    the windows in between.

    Raises:
        LedgerError: the ledger refuses a change.
    """
    registered = _fingerprints(opened)
    lines: list[str] = []
    for query in alarms.queries.values():
        if registered.get(query.id, query.fingerprint) == query.fingerprint:
            continue
        cursor_ms = opened.cursor(query.id)
        floor_ms = cursor_ms if query.feed.history else max(cursor_ms, now_ms)
        calendar = query.calendar
        index = calendar.next_active(calendar.first_starting_at(floor_ms))
        from_ms = calendar.bounds(index)[0]
        opened.accept_change(_registration(query, alarms), from_ms)
        lines.append(f"{query.id}: accepted, in force from {iso_utc(from_ms)}")
    return lines


def _registration(query: Query, alarms: Alarms) -> QueryRegistration:
    return QueryRegistration(
        query=query.id,
        scope=scope_of(query, alarms),
        feed=query.feed.name,
        fingerprint=query.fingerprint,
        definition=definition_json(query, alarms.budget),
        first_start_ms=0,
    )


def _fingerprints(opened: Ledger) -> dict[str, str]:
    """Return the registered fingerprints; their rows stand before the long tables."""
    early = takewhile(lambda row: row["record"] != "charges", opened.export())
    return {row["query"]: row["fingerprint"] for row in early if row["record"] == "queries"}


def _opened(alarms: Alarms) -> Ledger:
    require_ledger_file(alarms)
    return open_ledger(alarms)
