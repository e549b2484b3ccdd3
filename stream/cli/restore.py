"""``tocsin ledger FILE mark-spent``, ``claim``, ``set-clock``: a stopped ledger goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream.build import open_ledger, wall_clock_ms
from stream.cli.console import ledger_place
from stream.cli.shared import require_ledger_file
from stream.custody.restoring import published_in, refuse_moved, take_over
from stream.model.alarms import require_kafka
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

__all__ = ["claim", "mark_spent", "set_clock"]

_FORGET = click.option(
    "--forget-what-is-gone",
    "forget",
    is_flag=True,
    help="Go on also where the topic has lost a part: what was lost then is not counted.",
)


@click.command("mark-spent")
@click.option(
    "--published",
    "saved",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="What `tocsin run --json` printed, instead of the decisions topic; repeatable.",
)
@_FORGET
@click.pass_obj
def mark_spent(load: Callable[[], Alarms], saved: tuple[Path, ...], *, forget: bool) -> None:
    """Take published decisions that the ledger lacks over as spent.

    For a ledger that was lost, or restored from an older copy: what the decisions topic shows, or
    the saved output of replays, was released, so it is charged, and its windows are never drawn
    again. The whole topic is read, and alarms count that are not configured any more.
    """
    alarms = load()
    with open_ledger(alarms) as opened:
        refuse_moved(alarms, opened)  # before a whole topic is read
        if saved:
            seen = published_in(saved, alarms)
            charged, compared = take_over(alarms, opened, seen), len(seen)
        else:
            charged, compared = _from_kafka(alarms, opened, forget=forget)
    click.echo(f"{charged} decision(s) taken over as spent, of {compared} compared")


@click.command()
@_FORGET
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def claim(load: Callable[[], Alarms], *, forget: bool, yes: bool) -> None:
    """Take the feeds over from another ledger, with all that it spent on them.

    For a ledger that was lost, or is given up. Whoever still runs on it stops before anything more
    leaves it.
    """
    from stream.kafka import takeover  # noqa: PLC0415  # imports Kafka's client

    alarms = load()
    with open_ledger(alarms) as opened:
        for ledger_id, held in takeover.held_by_others(alarms, opened).items():
            click.echo(f"topic {held.topic}: claimed by ledger {ledger_id} on {held.since}")
        if not yes:
            place = ledger_place(alarms.settings.ledger_url)
            click.confirm(f"hand them to the ledger at {place} for good?", abort=True, err=True)
        done = takeover.transfer(alarms, opened, forget=forget)
    click.echo(f"{done.charged} decision(s) taken over as spent, of {done.compared} compared")
    click.echo(f"claimed: {', '.join(done.feeds) or 'nothing, it holds every feed'}")


@click.command("set-clock")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def set_clock(load: Callable[[], Alarms], *, yes: bool) -> None:
    """Put the ledger's mark of time back to this machine's clock.

    For a ledger whose workers ran on a clock that was ahead: it refuses every clock that is right.
    Nothing is drawn again. Set this machine's clock right first.
    """
    alarms = load()
    require_ledger_file(alarms)
    with open_ledger(alarms) as opened:
        if not yes:
            now = iso_utc(wall_clock_ms())
            click.confirm(f"is it {now} now, by a clock you trust?", abort=True, err=True)
        before_ms, now_ms = opened.upkeep.set_clock()
    click.echo(f"the mark stood at {iso_utc(before_ms)}, and stands at {iso_utc(now_ms)}")


def _from_kafka(alarms: Alarms, opened: Ledger, *, forget: bool) -> tuple[int, int]:
    """Charge what the decisions topic shows; return how many decisions, of how many compared.

    Raises:
        ConfigError: the configuration names no broker.
    """
    require_kafka(alarms, hint="give what replays printed: --published FILE.jsonl")
    from stream.kafka import takeover  # noqa: PLC0415  # imports Kafka's client

    done = takeover.mark_spent(alarms, opened, forget=forget)
    return done.charged, done.compared
