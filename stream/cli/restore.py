"""``reconcile``, ``take-ownership`` and ``reset-clock`` of a ledger: a stopped one goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from accountant.errors import LedgerError
from stream.build import open_ledger, wall_clock_ms
from stream.cli.inputs import paths_by_feed
from stream.cli.options import PUBLISHED, YES, configured
from stream.cli.shared import agreed, note, open_existing_ledger
from stream.custody.restoring import published_in, refuse_moved, refuse_renamed, take_over
from stream.model.alarms import require_kafka
from stream.replay.claims import claims_on
from stream.replay.contents import digests_of
from stream.windows.instants import from_iso_utc
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

__all__ = ["reconcile", "reset_clock", "take_ownership"]

_FORGET = click.option(
    "--forget-what-is-gone",
    "forget",
    is_flag=True,
    help="Continue although the topic lost records: what they cost is not charged.",
)


@click.command("reconcile")
@PUBLISHED
@_FORGET
@configured
def reconcile(alarms: Alarms, saved: tuple[Path, ...], *, forget: bool) -> None:
    """Charge published decisions that the ledger does not have.

    For a ledger that was lost, or restored from an older copy: what the decisions topic shows, or
    the saved output of replays, was released, so it is charged, and its windows are never drawn
    again. The whole topic is read, and alarms count that are not configured any more.
    """
    with open_ledger(alarms) as opened:
        refuse_moved(alarms, opened)  # before a whole topic is read
        if saved:
            seen = published_in(opened, saved)
            charged, compared = take_over(alarms, opened, seen), len(seen)
        else:
            require_kafka(alarms, hint="give what replays printed: --published FILE.jsonl")
            from stream.kafka import takeover  # noqa: PLC0415  # imports Kafka's client

            done = takeover.reconcile(alarms, opened, forget=forget)
            charged, compared = done.charged, done.compared
    click.echo(f"{charged} decision(s) taken over as spent, of {compared} compared")


@click.command("take-ownership")
@click.option(
    "--replay",
    "replayed",
    multiple=True,
    metavar="[FEED=]PATH",
    help="Take files over, not topics; repeatable.",
)
@PUBLISHED
@_FORGET
@YES
@configured
def take_ownership(
    alarms: Alarms,
    replayed: tuple[str, ...],
    saved: tuple[Path, ...],
    *,
    forget: bool,
    yes: bool,
) -> None:
    """Take ownership of the feeds from another ledger, with all that it spent on them.

    For a ledger that was lost, or is given up. Stop its workers first: decisions that they publish
    meanwhile are not charged. For files, give its output with --published.
    """
    with open_ledger(alarms) as opened:
        if replayed:
            _claim_files(alarms, opened, replayed, saved, forget=forget, yes=yes)
        elif saved:
            raise click.UsageError("--published needs --replay; a topic needs none")
        else:
            from stream.kafka import takeover  # noqa: PLC0415  # imports Kafka's client

            for held in takeover.held_by_others(alarms, opened):
                since = moment_text(from_iso_utc(held.since), alarms.timezone)
                click.echo(f"topic {held.topic}: owned by ledger {held.ledger} on {since}")
            _confirm(alarms, yes=yes)
            done = takeover.transfer(alarms, opened, forget=forget)
            click.echo(
                f"{done.charged} decision(s) taken over as spent, of {done.compared} compared"
            )
            click.echo(f"taken over: {', '.join(done.feeds) or 'nothing, it holds every feed'}")


def _claim_files(
    alarms: Alarms,
    opened: Ledger,
    replayed: tuple[str, ...],
    saved: tuple[Path, ...],
    *,
    forget: bool,
    yes: bool,
) -> None:
    """Charge what was published from files, then take them over.

    Raises:
        LedgerError: nothing says what another ledger spent on them.
    """
    found = paths_by_feed(alarms, replayed)
    contents = {feed: digests_of(paths) for feed, paths in found.items()}
    claims = claims_on(contents, alarms, opened)
    others = claims.others()
    held_as = ((feed, others[at].feed) for feed in found for at in found[feed] if at in others)
    refuse_renamed(alarms, held_as)
    for path, held in others.items():
        click.echo(f"{path}: owned by ledger {held.ledger} at {held.place}")
    if others and not (saved or forget):
        raise LedgerError(
            "what another ledger spent on these files is unknown",
            hint="give what `tocsin run --json` printed with it: --published FILE.jsonl; to go on "
            "all the same, say --forget-what-is-gone: what these people lost is not counted",
        )
    _confirm(alarms, yes=yes)
    seen = published_in(opened, saved) if saved else []
    charged = take_over(alarms, opened, seen)
    for path in claims.take_over():
        note(f"{path} is in a folder where this user cannot write")
    click.echo(f"{charged} decision(s) taken over as spent, of {len(seen)} compared")
    taken = ", ".join(map(str, others)) or "nothing, no other ledger holds them"
    click.echo(f"taken over: {taken}")


def _confirm(alarms: Alarms, *, yes: bool) -> None:
    agreed(f"hand them to the ledger at {alarms.settings.ledger_place} for good?", yes=yes)


@click.command("reset-clock")
@YES
@configured
def reset_clock(alarms: Alarms, *, yes: bool) -> None:
    """Reset the ledger's clock to this machine's.

    For a ledger whose workers ran on a clock that was ahead: it refuses every clock that is right.
    Nothing is drawn again. Set this machine's clock right first.
    """
    with open_existing_ledger(alarms) as opened:
        now = moment_text(wall_clock_ms(), alarms.timezone)
        agreed(f"is it {now} now, by a clock you trust?", yes=yes)
        before_ms, now_ms = opened.upkeep.reset_clock()
    before, now = (moment_text(at_ms, alarms.timezone) for at_ms in (before_ms, now_ms))
    click.echo(f"the ledger's clock: {before} -> {now}")
