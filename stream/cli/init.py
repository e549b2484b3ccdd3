"""``tocsin init``: from a few options to a configuration, its files and the next commands.

The template answers what no option does. A sample of events is looked at by the custodian only;
nothing of it but names and types goes into the files, unless its values are said to be public
knowledge.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from accountant.errors import ConfigError
from stream.cli.options import FORCE
from stream.cli.prompts import answered, values_in
from stream.cli.shared import FILE, agreed, complain, echo_lines, load_alarms, say, write_text
from stream.config.lock import read_lock
from stream.planning.checks import often_false
from stream.planning.templates.answers import TEMPLATES
from stream.planning.templates.cases import CASES, cases_text
from stream.planning.templates.dryrun import DRY_RUN, dry_run
from stream.planning.templates.events import made_up
from stream.planning.templates.filling import FilledTemplate, fill
from stream.planning.templates.samples import MOST_ROWS, fields_in
from stream.planning.templates.texts import (
    CONFIGURATION,
    LOCK,
    SAMPLE,
    sentence,
    values_text,
)
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click.decorators import FC

    from stream.planning.templates.events import MadeUp
    from stream.planning.templates.samples import Seen

__all__ = ["init"]

_WHOLE: Final = click.IntRange(min=1)


def _options(asked: Mapping[str, tuple[str | click.IntRange, str]]) -> Callable[[FC], FC]:
    """Return the decorator for options, of each its kind or its metavar, and its help."""

    def add(command: FC) -> FC:
        for name, (kind, text) in reversed(list(asked.items())):
            typed: dict[str, Any] = {"metavar" if isinstance(kind, str) else "type": kind}
            command = click.option(f"--{name}", help=text, **typed)(command)
        return command

    return add


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--from", "existing", type=FILE, help="Write a dry run on Kafka of this file.")
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default="office",
    help="What is watched: people per room (office), sales per shop (shop), what sensors without"
    " ids count (sensors), requests per endpoint (web).",
)
@click.option("--sample", type=FILE, help="Read these events: .jsonl, .csv or .parquet.")
@_options(
    {
        "bootstrap": ("HOST:PORT", "Kafka broker."),
        "topic": ("TEXT", "The feed's Kafka topic."),
        "time": ("FIELD", "Field with the event time."),
        "unit": ("FIELD", "Field with the id of the person."),
        "group-by": ("FIELD,...", "Fields to group by: one alarm state per value."),
    }
)
@click.option(
    "--values",
    metavar="[FIELD=]A,B,...|FILE",
    multiple=True,
    help="All values of such a field; they are public.",
)
@click.option(
    "--domain-from-sample",
    is_flag=True,
    help="Take the values from the sample: this declares them public.",
)
@_options(
    {
        "amount": ("FIELD", "Field to add up (shop)."),
        "clip": (_WHOLE, "Largest amount counted per event (shop)."),
        "threshold": (_WHOLE, "Fire above this."),
        "baseline": (click.IntRange(min=0), "Highest ordinary aggregate, not the average."),
        "window": ("DURATION", "Length of a window: 15m, 1h, 1d."),
        "slide": ("DURATION", "Step of sliding windows: 15m."),
        "active": ("SCHEDULE", 'When to decide windows, as "Mon-Fri 07:00-22:00" or "always".'),
        "timezone": ("ZONE", "Time zone of days and schedules: Europe/Athens."),
        "max-groups": (_WHOLE, "Groups of a window in which a person counts."),
        "max-events": (_WHOLE, "Events of a person that count in each group."),
        "epsilon": ("NUMBER", "Privacy budget of a period, or of an event."),
        "period": ("DURATION", "Time after which a person's budget is renewed."),
        "max-fnr": ("RATE", "How often a true alarm may be missed (0.05)."),
        "false-alarms": ("RATE", 'False alarms tolerated, as "1 per week".'),
        "max-delay": ("DURATION", "From the event that meets the condition to the alarm."),
        "episodes": (_WHOLE, "Episodes that a budget period must cover."),
        "since": ("DAY", "First day that a replay decides (2025-03-03)."),
        "until": ("DAY", "The day after the last one of a replay."),
    }
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask whether to write it.")
@FORCE
def init(
    directory: Path,
    existing: Path | None,
    template: str,
    sample: Path | None,
    *,
    domain_from_sample: bool,
    yes: bool,
    force: bool,
    **given: Any,
) -> None:
    """Write a configuration from a template, with events to try it on.

    DIRECTORY gets alarms.yaml with its lock, the values that are watched, made-up events, and tests
    of the alarm. Options override the template.
    """
    if existing is not None:
        _write_dry_run(existing, force=force)
        return
    seen = {} if sample is None else _seen(sample, None if domain_from_sample else MOST_ROWS)
    filled = fill(answered(TEMPLATES[template], given, seen, from_sample=domain_from_sample))
    events = made_up(filled)
    files = _files(directory, filled, events)
    _refuse_to_replace(files, force=force)
    _tell_alarm(filled)
    agreed(f"write this to {directory}?", yes=yes, default=True)
    for path, (text, what) in files.items():
        write_text(path, text)
        click.echo(f"  {path}: {what}")
    file = directory / CONFIGURATION
    echo_lines(
        [
            "Next:",
            f"  tocsin check {file}",
            f"  tocsin plan {file}",
            f"  tocsin run {file} --replay {directory / SAMPLE}",
            f"  tocsin init --from {file}",
        ]
    )


def _write_dry_run(file: Path, *, force: bool) -> None:
    """Write the dry run of a configuration beside it: relative paths in it stay what they are."""
    load_alarms(file, quiet=True)
    path = file.with_name(DRY_RUN)
    _refuse_to_replace([path], force=force)
    write_text(path, dry_run(file, read_lock(file)))
    click.echo(f"{path}: the same alarms, to try them on Kafka; see its first lines")


def _seen(sample: Path, most: int | None) -> dict[str, Seen]:
    """Return what so many rows of a sample show, or all, and say who is looking."""
    rows = f"up to {most:,}" if most else "all"
    say(f"as the custodian: reads {rows} rows of {sample}")
    found = fields_in(sample, most)
    for name, seen in found.items():
        say(f"  {name}: {seen.held}")
    return found


def _files(directory: Path, filled: FilledTemplate, events: MadeUp) -> dict[Path, tuple[str, str]]:
    """Return the text of every file that is to be written, and what it is.

    A list of values is left alone where it has just these.
    """
    answers = filled.answers
    due = moment_text(events.since_ms, answers.timezone)
    files = {
        CONFIGURATION: (filled.text, "the requirements of the alarm, with comments"),
        LOCK: (filled.lock, "its resolved settings: commit it with the file"),
    }
    for name, values in zip(answers.group_by, answers.values, strict=True):
        path = directory / answers.values_file(name)
        if not path.is_file() or values_in(path) != values:
            what = f"the values of {name}, {len(values)} in all"
            files[path.name] = (values_text(answers, name), what)
    files[SAMPLE] = (
        "".join(f"{line}\n" for line in events.lines),
        f"made-up events; {', '.join(events.group)} has {events.figure:,} from {due} on",
    )
    files[CASES] = (cases_text(filled, events), "tests of the alarm, for `tocsin test`")
    return {directory / name: file for name, file in files.items()}


def _refuse_to_replace(paths: Iterable[Path], *, force: bool) -> None:
    for path in paths:
        if path.exists() and not force:
            raise ConfigError(
                f"{path} exists", hint="write another directory, or add --force to replace it"
            )


def _tell_alarm(filled: FilledTemplate) -> None:
    """Say what the alarm does; `tocsin plan` says what else it promises, and what it costs."""
    answers = filled.answers
    click.echo(sentence(answers))
    click.echo(
        f"Above {answers.threshold:,} it is missed with probability {answers.max_fnr} at most; at"
        f" the baseline {answers.baseline:,} it fires with probability"
        f" {filled.fires_at(answers.baseline):.2g}."
    )
    for one in often_false(filled.alarms):
        complain(ConfigError(f"{one.alarm}: {one.message}", hint=one.hint), kind="warning")
