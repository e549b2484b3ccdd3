"""A worker as the command runs it: its log, and its last sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import TocsinError
from stream.cli.shared import log_of, say_awaited
from stream.kafka.worker import UNKNOWN_ERROR, run
from stream.logs.lines import Line
from stream.logs.settings import Form, LogSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

__all__ = ["start"]


def start(
    alarms: Alarms,
    *,
    form: Form | None,
    released: Callable[[Record], None] | None,
) -> int:
    """Run one worker and return its exit code.

    Args:
        alarms: the checked configuration.
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
        return run(alarms, released=released, log=log)
    except Exception as error:
        if chosen.form is Form.TEXT:
            raise
        code = error.exit_code if isinstance(error, TocsinError) else UNKNOWN_ERROR
        log.error(Line.FATAL, error=error, code=code)  # noqa: TRY400  # not the standard library's
        return code
