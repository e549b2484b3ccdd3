"""A worker as the command runs it: its log, what SIGHUP changes, and its last sentence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from accountant.errors import TocsinError
from stream.cli.shared import log_of, say_awaited
from stream.config.loading import examine
from stream.kafka.worker import UNKNOWN_ERROR, run
from stream.logs.lines import Line
from stream.logs.settings import Form, LogSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stream.decisions.records import Record
    from stream.logs.lines import Log
    from stream.model.alarms import Alarms

__all__ = ["reread", "start"]


def start(
    alarms: Alarms,
    file: Path,
    *,
    form: Form | None,
    released: Callable[[Record], None] | None,
) -> int:
    """Run one worker and return its exit code.

    Args:
        alarms: the checked configuration.
        file: where it was read, and is read again on SIGHUP.
        form: of the log, before what the configuration says.
        released: called with every decision and alarm record that this worker published.

    Raises:
        TocsinError: it cannot start; where the log is JSON, that is a line of it instead.
    """
    declared = alarms.settings.log
    chosen = LogSettings(declared.level, form or declared.form)
    log = log_of(chosen)

    if chosen.form is Form.TEXT:
        say_awaited(alarms)
    try:
        return run(alarms, released=released, log=log, reread=lambda: reread(file, alarms, log))
    except Exception as error:
        if chosen.form is Form.TEXT:
            raise
        code = error.exit_code if isinstance(error, TocsinError) else UNKNOWN_ERROR
        log.error(Line.FATAL, error=error, code=code)  # noqa: TRY400  # not the standard library's
        return code


def reread(file: Path, running: Alarms, log: Log) -> None:
    """Read a configuration again, and take on what may change in a running worker: the log's level.

    Whatever else has changed is named, by its key; it needs a restart. Variables of
    the environment are those that the process was started with.

    Args:
        file: its path.
        running: what the worker was started with.
        log: whose level is set.
    """
    report = examine(file, environ=os.environ)
    refused = (*report.errors, *report.open)
    if report.alarms is None or refused:
        log.error(Line.NOT_REREAD, error=refused[0])
        return
    log.level = report.alarms.settings.log.level
    now, then = _sections(report.alarms), _sections(running)
    restart = ", ".join(name for name in now if now[name] != then[name])
    fields = {"needs_restart": restart} if restart else {}
    log.info(Line.REREAD, log_level=log.level.value, **fields)


def _sections(alarms: Alarms) -> dict[str, object]:
    """Return what a worker keeps as it was, by its key in the file."""
    settings = alarms.settings
    return {
        "kafka": alarms.kafka,
        "ledger": settings.ledger_url,
        "metrics": (
            settings.public_address,
            settings.custodian_address,
            settings.custodian_token,
        ),
        "log": settings.log.form,
        "publish_interval": settings.publish_interval_ms,
        "feeds": alarms.feeds,
        "budget": alarms.budget,
        "alarms": {
            alarm.id: (
                alarm.fingerprint,
                alarm.publish_delay_ms,
                alarm.decide_timeout_ms,
                alarm.max_age_ms,
                alarm.reference and alarm.reference.timeout_ms,
            )
            for alarm in alarms.running.values()
        },
    }
