"""The configuration file: from YAML and SQL to checked, frozen data.

Checking goes in stages, and each stage reports all it finds: the file as YAML, its keys and single
values, feeds and budget and settings as a whole, then every alarm. Every error names file, line and
column (inside SQL too), says what is wrong and what to write instead, and never repeats what an
environment variable held for a password, a token, a key or an address.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from accountant.errors import ConfigError
from stream.config.alarms.builder import AlarmBuilder
from stream.config.alarms.panes import with_panes
from stream.config.alarms.together import excluded_caps, excluded_shares, watched_references
from stream.config.budgets import build_budget
from stream.config.declarations import build_feeds, build_kafka, build_settings
from stream.config.explaining import read_as
from stream.config.findings import Findings, Refused
from stream.config.keys import AlarmModel, FileModel
from stream.config.lock import read_lock
from stream.config.notify.building import build_notify
from stream.config.tables import Table, read_table
from stream.config.yamlfile import Document, load_document
from stream.model.alarms import Alarms
from stream.model.boards import Board
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.config.lock import Lock
    from stream.model.alarm import Alarm

__all__ = ["Report", "examine", "load"]


@dataclass(frozen=True, slots=True)
class Report:
    """What examining a file found.

    Args:
        alarms: the configuration, where it has no error.
        errors: why it cannot be used, in the order of the file.
        warnings: what its author may not have meant.
        notes: what was chosen in its author's place, and why.
        document: the file itself, where it could be read.
        open: alarms that leave something to a lock that is missing or stale: nothing may be run.
    """

    alarms: Alarms | None
    errors: tuple[ConfigError, ...]
    warnings: tuple[ConfigError, ...] = ()
    notes: tuple[ConfigError, ...] = ()
    document: Document | None = None
    open: tuple[ConfigError, ...] = ()


def load(path: Path, *, environ: Mapping[str, str]) -> Alarms:
    """Return the configuration of a file, ready to run.

    Args:
        path: the file as the user named it; relative paths in it start from its folder.
        environ: environment variables that its values may use.

    Raises:
        ConfigError: the first thing wrong with it, or left open in it.
    """
    report = examine(path, environ=environ)
    if report.alarms is None:
        raise report.errors[0]
    if report.open:
        raise report.open[0]
    return report.alarms


def examine(path: Path, *, environ: Mapping[str, str], lock: Lock | None = None) -> Report:
    """Check a file and return what it means, what is wrong, and what is odd.

    Args:
        path: the file as the user named it; relative paths in it start from its folder.
        environ: environment variables that its values may use.
        lock: what its open alarms were resolved to; read from its place when left out.
    """
    try:
        findings = Findings(load_document(path, environ=environ))
        lock = read_lock(path) if lock is None else lock
    except ConfigError as error:
        return Report(None, (error,))
    alarms = None
    with suppress(Refused):
        alarms = _alarms(read_as(findings, FileModel), path, lock, findings)
    errors, warnings, notes, left_open = map(
        findings.in_order, (findings.errors, findings.warnings, findings.notes, findings.open)
    )
    alarms = None if errors else alarms
    return Report(alarms, errors, warnings, notes, findings.document, left_open)


def _alarms(model: FileModel, path: Path, lock: Lock, findings: Findings) -> Alarms:
    zone = load_zone(model.timezone)
    feeds = build_feeds(model.feeds, zone, findings)
    kafka = None if model.kafka is None else build_kafka(model.kafka, feeds, findings)
    settings = build_settings(model, path.stem, findings)
    notify = build_notify(model.notify, findings)
    tables = _tables(model, findings)
    budget = build_budget(model.budget, zone.key, findings)
    by_name: dict[str, Alarm] = {}
    for name, written in model.alarms.items():
        found = findings.under("alarms", name).apart()
        builder = AlarmBuilder(feeds, tables, budget, zone, found)
        alarm = builder.build(name, written)
        if alarm is not None and alarm.open and lock.holds(alarm, budget):
            resolved = _resolved(findings.document, name, lock)
            if resolved is not None:
                builder = replace(builder, findings=found.apart())
                alarm = builder.build(name, resolved)
            if alarm is not None:
                alarm = replace(alarm, required_fnr=written.max_fnr)
        findings.take(builder.findings)
        if alarm is not None:
            by_name[name] = alarm
    alarms = Alarms(
        file=findings.document.file,
        feeds=feeds,
        by_name=by_name,
        budget=budget,
        kafka=kafka,
        settings=settings,
        timezone=zone.key,
        notify=notify,
        board=Board(**dict(model.board)),
    )
    findings.refuse((*watched_references(alarms), *excluded_shares(alarms)))
    alarms = with_panes(_with_open_ones_apart(alarms, lock, findings), findings)
    findings.refuse(excluded_caps(alarms))
    return alarms


def _resolved(document: Document, name: str, lock: Lock) -> AlarmModel | None:
    """Return an alarm with the keys of its lock; ``None`` where they cannot be read."""
    tree: Any = document.tree
    try:
        return AlarmModel.model_validate({**tree["alarms"][name], **lock.entries[name].keys})
    except ValidationError:
        return None


def _with_open_ones_apart(alarms: Alarms, lock: Lock, findings: Findings) -> Alarms:
    """Return the configuration with alarms that cannot run yet where nothing runs them."""
    left = {name: alarm for name, alarm in alarms.by_name.items() if alarm.open}
    for name, alarm in left.items():
        keys = " and ".join(alarm.open)
        findings.under("alarms", name).leave_open(
            f"alarm `{name}` takes {keys} from {lock.path.name}, which has none or is stale",
            f"run `tocsin lock {alarms.file}`",
        )
    running = {name: alarm for name, alarm in alarms.by_name.items() if name not in left}
    return replace(alarms, by_name=running, open=left)


def _tables(model: FileModel, findings: Findings) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for name, declared in model.tables.items():
        read = partial(read_table, key=declared.key, value=declared.value)
        holds = "a CSV file with a header"
        table = findings.beside(("tables", name), declared.file, "table", read, holds)
        if table is not None:
            tables[name] = table
    return tables
