"""``tocsin ledger FILE ...``: what the custodian does with a ledger."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from accountant.errors import LedgerError
from accountant.loss.gaussian import Gaussian
from accountant.store.store import Store
from stream.build import wall_clock_ms
from stream.cli.console import losses_table, status_tables
from stream.cli.main import Suggesting
from stream.cli.options import CONFIGURATION, JSON_LINES, PUBLISHED, TIME, YES, configured, typed_ms
from stream.cli.restore import reconcile, reset_clock, take_ownership
from stream.cli.shared import (
    agreed,
    echo_json,
    echo_lines,
    note,
    open_existing_ledger,
    refuse_found,
    say,
)
from stream.custody.archive import archive as move_entries
from stream.custody.archive import archived_in
from stream.custody.changes import apply_changes, orphans
from stream.custody.checkpoints import read_checkpoint
from stream.custody.history import entry_fields
from stream.custody.losses import group_losses
from stream.custody.published import Records
from stream.custody.released import Comparison, compare, published_by
from stream.custody.restoring import records_in
from stream.decisions.held import held_from_ms
from stream.decisions.records import AlarmRecord, CountRecord, DecisionRecord, epsilon_text
from stream.decisions.registration import scopes_of, terms_of
from stream.model.alarms import require_kafka
from stream.model.losses import loss_name, spent_fields, wall_fields
from stream.windows.instants import iso_utc
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from accountant.records import LedgerStatus
    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

__all__ = ["ledger"]

_CONNECT_S = 30.0


@click.group(cls=Suggesting)
@CONFIGURATION
@click.pass_context
def ledger(ctx: click.Context, file: Path) -> None:
    """Show or maintain the ledger of a configuration.

    FILE is the configuration; the command follows: tocsin ledger FILE status.
    """
    ctx.obj = file


@ledger.command()
@JSON_LINES
@configured
def status(alarms: Alarms, *, as_json: bool) -> None:
    """Show how much of every budget is spent, and how far every alarm is."""
    with open_existing_ledger(alarms) as opened:
        now = opened.reports.status()
    _warn_of_orphans(alarms, now)
    if not as_json:
        Console().print(*status_tables(now, alarms.timezone), sep="\n")
        click.echo(f"ledger  {alarms.settings.ledger_place}")
        return
    echo_json({"record": "ledger", "ledger": now.ledger_id, "checkpoint": now.checkpoint})
    for scope in now.scopes.values():
        gaussian = Gaussian.read(scope.promise)
        echo_json(
            {
                "record": "budget",
                "budget": scope.scope,
                "unit": scope.unit.value,
                **wall_fields(gaussian, scope.epsilon_max_units),
                "spent": epsilon_text(scope.spent_units),
                **spent_fields(gaussian, scope.spent_units),
                "periods": {iso_utc(at): epsilon_text(u) for at, u in scope.periods.items()},
                "reservations": scope.reservations,
                "pending": scope.pending,
            }
        )
    for alarm in now.queries.values():
        shown: dict[str, Any] = asdict(alarm)
        name, budget, cursor_ms = (shown.pop(key) for key in ("query", "scope", "cursor_ms"))
        del shown["decided_at_ms"], shown["denied_at_ms"]  # when: on the metrics page
        echo_json(
            {
                "record": "alarm",
                "alarm": name,
                "budget": budget,
                "next": iso_utc(cursor_ms),
                "configured": name in alarms.running,
                **shown,
            }
        )


@ledger.command()
@click.option(
    "--checkpoint",
    "noted",
    metavar="NUMBER:HASH",
    help="A checkpoint noted elsewhere, as status and verify print it.",
)
@click.option(
    "--since",
    "trusted",
    metavar="NUMBER:HASH",
    help="A trusted checkpoint: read only later entries.",
)
@click.option(
    "--archive",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIRECTORY",
    help="Folder of archived entries: read them too.",
)
@PUBLISHED
@click.option(
    "--topics", is_flag=True, help="Compare the published topics with the ledger's decisions."
)
@configured
def verify(
    alarms: Alarms,
    noted: str | None,
    trusted: str | None,
    folder: Path | None,
    saved: tuple[Path, ...],
    *,
    topics: bool,
) -> None:
    """Follow the log from its beginning, and add up what it granted; say what contradicts it.

    Ends with the checkpoint to note: with it, a later call shows whether anything before was
    changed, dropped or inserted.
    """
    if saved and topics:
        raise click.UsageError("--published and --topics exclude each other")
    if trusted and folder is not None:
        raise click.UsageError("--since and --archive exclude each other")
    checkpoints = {} if noted is None else dict([read_checkpoint(noted)])
    since = None if trusted is None else read_checkpoint(trusted)
    notes: list[str] = []
    with open_existing_ledger(alarms) as opened:
        checkpoint = opened.reports.status().checkpoint
        archived = None if folder is None else archived_in(opened, folder)
        problems = opened.reports.verify(checkpoints, since=since, archived=archived)
        problems += opened.heads.lost()
        if (saved or topics) and not problems:  # nothing is compared with what contradicts itself
            problems, notes = _compare_published(alarms, opened, saved)
    refuse_found(problems)
    click.echo("ok")
    if since is not None:
        click.echo(f"read since entry {since.number} only; what came before was not compared")
    echo_lines(notes)
    click.echo(f"checkpoint {checkpoint}")


@ledger.command()
@click.argument("alarm")
@click.option(
    "--at",
    metavar=TIME,
    help="An instant, by the clocks of `timezone` without an offset. Default: that of the latest "
    "settled window.",
)
@JSON_LINES
@configured
def losses(alarms: Alarms, alarm: str, at: str | None, *, as_json: bool) -> None:
    """Show the realised loss of each group of ALARM. PRIVATE: never show it to analysts.

    Unit event: events of one instant, over all alarms of the feed. Unit user: one person within the
    budget period, over the alarm's own windows.
    """
    query = alarms.running.get(alarm)
    if query is None:
        raise LedgerError(
            f"there is no alarm {alarm!r} in the configuration",
            hint=f"write one of: {', '.join(alarms.running)}",
        )
    at_ms = typed_ms(at, alarms.timezone, "--at")
    with open_existing_ledger(alarms) as opened:
        if alarm not in {row.query for row in opened.pins.queries()}:
            raise LedgerError(
                f"there is no decision of alarm {alarm!r} yet",
                hint="start a worker or a replay with this configuration first",
            )
        found = group_losses(alarms, opened, query, at_ms)
    since = None if found.since_ms is None else iso_utc(found.since_ms)
    if as_json:
        for index, units in enumerate(found.units.tolist()):
            echo_json(
                {
                    "record": "loss",
                    "alarm": alarm,
                    "at": since,
                    "group": query.domain.group(index),
                    loss_name(alarms.budget.gaussian): epsilon_text(units),
                    "exact": found.exact,
                    "complete": found.complete,
                }
            )
        return
    Console().print(losses_table(query, found, alarms.budget, alarms.timezone))


@ledger.command()
@configured
def export(alarms: Alarms) -> None:
    """Print every entry of the ledger, one JSON object a line. PRIVATE: it has realised losses.

    It has no raw count and no hash key. For the events of a topic, use tocsin export.
    """
    with open_existing_ledger(alarms) as opened:
        for row in opened.reports.entries():
            echo_json(entry_fields(row))


@ledger.command("remove-alarm")
@click.argument("alarm")
@YES
@configured
def remove_alarm(alarms: Alarms, alarm: str, *, yes: bool) -> None:
    """Remove an alarm that is no longer in the configuration, for good.

    Its reservations are given back, so that windows that wait for them go on; what it spent stays
    spent. Its name cannot be used again.
    """
    if alarm in alarms.running:
        raise LedgerError(
            f"alarm {alarm!r} is still in the configuration",
            hint="take it out first, and restart the workers",
        )
    with open_existing_ledger(alarms) as opened:
        known = opened.reports.status().queries
        if alarm not in known:
            others = (name for name in known if name not in alarms.running)
            raise LedgerError(
                f"there is no alarm {alarm!r} in the ledger",
                hint=f"alarms that can be removed: {', '.join(others) or 'none'}",
            )
        if known[alarm].removed:
            click.echo(f"{alarm}: removed already")
            return
        if known[alarm].unpublished:
            note(
                f"{known[alarm].unpublished} decision(s) of {alarm!r} are not published. Without "
                "the alarm in a configuration they never are, and later entries are not archived"
            )
        agreed(f"remove {alarm!r} from budget {known[alarm].scope!r} for good?", yes=yes)
        opened.pins.remove_alarm(alarm)
    click.echo(f"{alarm}: removed")


@ledger.command()
@click.argument("path", type=click.Path(path_type=Path))
@configured
def backup(alarms: Alarms, path: Path) -> None:
    """Copy a SQLite ledger to PATH, also while workers use it.

    Ends with a checkpoint that the copy holds. Keep it from analysts, as the ledger itself.
    """
    with open_existing_ledger(alarms) as opened:
        checkpoint = opened.reports.status().checkpoint
    with closing(Store.open(alarms.settings.ledger_url, connect_timeout_s=_CONNECT_S)) as store:
        store.backup(path)
    click.echo(f"copied to {path}")
    click.echo(f"checkpoint {checkpoint}")


@ledger.command()
@configured
def apply(alarms: Alarms) -> None:
    """Apply the changed configuration from the next window boundary of every changed alarm.

    Windows that began before the change are denied at no cost. Stop all workers first.
    """
    with open_existing_ledger(alarms) as opened:
        _refuse_other_budgets(alarms, opened)
        lines = apply_changes(alarms, opened, now_ms=wall_clock_ms())
    echo_lines(lines or ["nothing has changed"])


def _compare_published(alarms: Alarms, opened: Ledger, saved: tuple[Path, ...]) -> Comparison:
    """Compare saved output, or the topics, with what was decided."""
    through, records = published_by(opened), Records()
    for path in saved:
        for record in records_in(path):
            records.take(record)
    if not saved:
        kafka = require_kafka(alarms, hint="give what replays printed: --published FILE.jsonl")
        from stream.kafka.guard import read_records  # noqa: PLC0415  # imports Kafka's client

        # In the order in which they leave: whose decision is read has its alarms there by then.
        topics: dict[type[Record], str] = {
            DecisionRecord: kafka.decisions_topic,
            AlarmRecord: kafka.alarms_topic,
        }
        if any(alarm.releases_counts for alarm in alarms.running.values()):
            topics[CountRecord] = kafka.counts_topic
        for kind, topic in topics.items():
            read_records(kafka, topic, 0, partial(records.read, kind))
    return compare(alarms, opened, records, through=through, to_the_end=not saved)


ledger.add_command(reconcile)
ledger.add_command(take_ownership)
ledger.add_command(reset_clock)


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIRECTORY")
@click.option(
    "--before",
    metavar=TIME,
    help="Entries of windows that end by then, by the clocks of `timezone` without an offset. "
    "Default: the start of the current budget period, or now where there is none.",
)
@configured
def archive(alarms: Alarms, folder: Path, before: str | None) -> None:
    """Move old entries from the ledger to a Parquet file in DIRECTORY; totals stay the same.

    Only entries that no later decision needs are moved; undecided windows that end before the
    limit can then only be denied. Run it again if it was interrupted. Keep DIRECTORY from analysts,
    like the ledger.
    """
    now_ms = wall_clock_ms()
    before_ms = typed_ms(before, alarms.timezone, "--before")
    if before_ms is None:
        before_ms = _period_start_ms(alarms, now_ms)
    with open_existing_ledger(alarms) as opened:
        _refuse_other_budgets(alarms, opened)
        held_ms = held_from_ms(alarms.running, opened.progress)
        # A window may be decided until it is older than this.
        ages = (alarm.max_age_ms + alarm.grace_ms for alarm in alarms.by_name.values())
        before_ms = min(before_ms, held_ms, now_ms - max(ages, default=0))
        moved = move_entries(opened, folder, before_ms)
        later = opened.reports.status()
    _warn_of_orphans(alarms, later)
    where = f" to {', '.join(moved.files)}" if moved.files else ""
    until = moment_text(before_ms, alarms.timezone)
    click.echo(f"{moved.entries} entries moved{where}, before {until}")
    click.echo(f"checkpoint {later.checkpoint}")


def _period_start_ms(alarms: Alarms, now_ms: int) -> int:
    """Return the start of the current period, or now where the budget is never renewed."""
    budget = alarms.budget
    return now_ms if budget.calendar is None else budget.touched(now_ms, now_ms + 1)[0]


def _refuse_other_budgets(alarms: Alarms, opened: Ledger) -> None:
    """Refuse to work on a ledger under another budget than its own.

    Raises:
        ConfigChangedError: unit, epsilon_max or period differs.
    """
    opened.pins.refuse_changes([terms_of(alarms, one) for one in scopes_of(alarms)], (), ())


def _warn_of_orphans(alarms: Alarms, status: LedgerStatus) -> None:
    """Say which alarms of the ledger nobody decides any more."""
    for alarm in orphans(alarms, status):
        say(
            f"warning: alarm {alarm!r} is in the ledger but not in the configuration, so its "
            "reservations may block other windows and archiving. Put it back, or run "
            f"`tocsin ledger FILE remove-alarm {alarm}`",
        )
