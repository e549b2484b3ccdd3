"""``tocsin run``: a worker on Kafka, or a replay of files, which imports no client of Kafka."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from prometheus_client import write_to_textfile
from rich.console import Console

from stream.build import open_ledger
from stream.cli.bars import bar
from stream.cli.console import alarms_table, budget_bars
from stream.cli.inputs import paths_by_feed
from stream.cli.options import CONFIGURATION, JSON_LINES, given_files
from stream.cli.shared import leave, load_alarms, note, refuse_objected
from stream.cli.surveying import refuse_unusable, say_read
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, count_records, decision_record
from stream.logs.settings import Form
from stream.model.losses import wall_text
from stream.planning.budget import budget_plan
from stream.planning.playing import starving
from stream.replay.replay import Replay
from stream.replay.survey import survey
from stream.simulation.outputs import check_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.decisions.records import AlarmRecord, Record
    from stream.model.alarms import Alarms

__all__ = ["run"]

_EARLIER_SHOWN = 2_000
_FRESH = (
    "this ledger is new: what other ledgers charged, or will charge, for these events is not "
    "counted here and adds up"
)

_DRY = (
    "dry run: nothing was spent and no ledger was kept; where the events are of people, what this "
    "prints is for the custodian only"
)

_UNCLAIMED = (
    "is in a folder where this user cannot write, so no file beside it can record the owner: a "
    "replay into another ledger would not be refused"
)


@click.command()
@CONFIGURATION
@given_files("Replay Parquet, CSV or JSON lines instead of reading Kafka.")
@JSON_LINES
@click.option(
    "--custodian-report",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Write the custodian's metrics of a replay (exact counts: private!) to this file.",
)
@click.option(
    "--accept-drops",
    is_flag=True,
    help="Replay even if most events cannot be used.",
)
@click.option(
    "--dry-run",
    "dry",
    is_flag=True,
    help="Replay made-up or public data: nothing is spent, no ledger and no ownership is kept.",
)
@click.option(
    "--log-format",
    type=click.Choice([form.value for form in Form]),
    help="Format of a worker's log; overrides the configuration.",
)
def run(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    *,
    as_json: bool,
    custodian_report: Path | None,
    accept_drops: bool,
    dry: bool,
    log_format: str | None,
) -> None:
    """Run an alarm worker on Kafka, or replay files."""
    if more and not replayed:
        raise click.UsageError("write --replay before the files: tocsin run FILE --replay PATH")
    alarms = load_alarms(file)
    planned = budget_plan(alarms)
    refuse_objected(file, alarms, planned)
    if alarms.budget.gaussian is not None:
        wall = wall_text(alarms.budget.gaussian, alarms.budget.wall_units)
        note(f"what these alarms say is bounded by {wall}")
    if planned.suggestion:
        note(planned.suggestion)
        for sentence in starving(alarms, planned):
            note(sentence)
    if replayed:
        if log_format:
            raise click.UsageError("--log-format has no effect with --replay; remove it")
        files = paths_by_feed(alarms, (*replayed, *more))
        read = survey(alarms, files)
        if not accept_drops:
            refuse_unusable(read)
        _replay_files(alarms, files, as_json=as_json, report=custodian_report, dry=dry)
        say_read(read)
        return
    of_replays = {
        "--custodian-report": custodian_report,
        "--accept-drops": accept_drops,
        "--dry-run": dry,
    }
    for option, given in of_replays.items():
        if given:
            raise click.UsageError(f"{option} needs --replay")
    from stream.cli.worker import start  # noqa: PLC0415  # imports Faust

    leave(
        start(
            alarms,
            form=Form(log_format) if log_format else None,
            released=_print_record if as_json else None,
        )
    )


def _replay_files(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    *,
    as_json: bool,
    report: Path | None,
    dry: bool,
) -> None:
    if report is not None:
        check_output(report, force=True)
    with _temporary(alarms) if dry else open_ledger(alarms) as opened:
        fresh = not opened.pins.budgets()
        replaying = Replay(alarms, opened, files, claiming=not dry)
        if dry:
            note(_DRY)
        elif fresh:
            note(_FRESH)
        for path in replaying.unclaimed:
            note(f"{path} {_UNCLAIMED}")
        if as_json:
            with closing(replaying.all_decisions()) as decisions:
                for decision in decisions:
                    _echo_records(alarms, decision)
        else:
            _show_replay(alarms, replaying)
            status = opened.reports.status()
            Console().print(*budget_bars(status), sep="\n")
            if not dry:
                click.echo(f"ledger  {alarms.settings.ledger_place}")
        if report is not None:
            write_to_textfile(str(report), replaying.runtime.metrics.custodian)


@contextmanager
def _temporary(alarms: Alarms) -> Iterator[Ledger]:
    """Open a ledger that is gone afterwards, in a folder that only this user may read."""
    with TemporaryDirectory(prefix="tocsin-dry-run-") as folder:
        settings = replace(alarms.settings, ledger_url=f"sqlite:///{folder}/ledger.db")
        with open_ledger(replace(alarms, settings=settings)) as opened:
            yield opened


def _show_replay(alarms: Alarms, replaying: Replay) -> None:
    console = Console()
    rang: list[AlarmRecord] = []
    for decision in replaying.earlier(_EARLIER_SHOWN):
        rang += alarm_records(alarms.running[decision.key.query], decision)
    with bar("deciding") as shown, closing(replaying.run()) as decisions:
        for decided, decision in enumerate(decisions, replaying.before + 1):
            rang += alarm_records(alarms.running[decision.key.query], decision)
            shown(decided, replaying.windows)
    console.print(alarms_table(rang, alarms.timezone, console.width))
    parts = [f"{replaying.windows} windows"]
    if replaying.before:
        parts.append(f"{replaying.before} decided by an earlier run (nothing was drawn again)")
    if taken := replaying.windows - replaying.before - replaying.ended.total():
        parts.append(f"{taken} taken over (published by another ledger or copy)")
    parts.append(f"{replaying.ended[None]} decided now")
    denied = {reason: count for reason, count in replaying.ended.items() if reason}
    parts += [f"{count} denied ({reason})" for reason, count in sorted(denied.items())]
    console.print(", ".join(parts))


def _echo_records(alarms: Alarms, decision: StoredDecision) -> None:
    alarm = alarms.running[decision.key.query]
    records: list[Record] = [decision_record(alarm, alarms, decision)]
    records += [*alarm_records(alarm, decision), *count_records(decision)]
    for record in records:
        _print_record(record)


def _print_record(record: Record) -> None:
    click.echo(encode(record))
