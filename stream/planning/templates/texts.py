"""The texts of a filled template: the configuration with its comments, and the list of values.

The configuration's text is ``templates/alarms.yaml.j2``.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from stream.config.sql.text import name_in_sql
from stream.config.yamlfile import quoted
from stream.events.columns import MAX_STRING_BYTES
from stream.planning.pages import environment
from stream.planning.templates.answers import Measured

if TYPE_CHECKING:
    from stream.planning.templates.answers import Answers

__all__ = [
    "CONFIGURATION",
    "LOCK",
    "SAMPLE",
    "configuration",
    "last_day",
    "sentence",
    "values_text",
]

CONFIGURATION: Final = "alarms.yaml"
LOCK: Final = "alarms.lock"
SAMPLE: Final = "sample.jsonl"

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*", re.ASCII)
_WORDS_OF_YAML: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_DURATION: Final = re.compile(r"([1-9][0-9]{0,5})([smhdw])", re.ASCII)
_UNITS: Final = {"s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY", "w": "WEEK"}


def configuration(answers: Answers, until: str) -> str:
    """Return the YAML of a filled template: its alarm's requirements, not how they are met.

    Args:
        answers: what it says.
        until: the day after the last one of its history.

    Raises:
        ConfigError: the window or the first day is none.
    """
    sql = _sql(answers)
    _check_roles(answers)
    names = (answers.alarm, answers.feed, answers.topic, answers.bootstrap, answers.time)
    for name in (*names, answers.unit, *answers.group_by, answers.amount, answers.active):
        if not name.isprintable():
            raise ConfigError(
                f"{name!r} has characters that cannot be printed", hint="write it on one line"
            )
    return _TEXTS.get_template("alarms.yaml.j2").render(
        a=answers,
        amount=answers.measured is Measured.AMOUNT,
        groups=" and ".join(answers.group_by),
        sentence=sentence(answers),
        sql=sql,
        until=until,
    )


def sentence(answers: Answers) -> str:
    """Return what the alarm is for, in a sentence."""
    match answers.measured:
        case Measured.PEOPLE:
            what = f"more than {answers.threshold:,} people (`{answers.unit}`)"
        case Measured.EVENTS:
            what = f"more than {answers.threshold:,} events of `{answers.feed}`"
        case Measured.AMOUNT:
            what = f"more than {answers.threshold:,} of `{answers.amount}`"
    when = f", {answers.active}" if answers.active else ""
    within = f"any {answers.window}" if answers.slide else answers.window
    groups = " and ".join(f"`{name}`" for name in answers.group_by)
    return f"Fires for {what} in one {groups} within {within}{when}."


def values_text(answers: Answers, field: str) -> str:
    """Return the file of a field's values, one a line.

    Raises:
        ConfigError: a value does not fit on a line.
    """
    values = answers.values[answers.group_by.index(field)]
    for value in values:
        if not value or value != value.strip() or len(value.splitlines()) != 1:
            raise ConfigError(
                f"{value[:40]!r} cannot be a value of {field}: it is one line of a file",
                hint="values have no spaces around them, and no line breaks",
            )
        if len(value.encode()) > MAX_STRING_BYTES:
            raise ConfigError(
                f"a value of {field} is longer than {MAX_STRING_BYTES:,} bytes",
                hint="remove the value: an event with it is dropped",
            )
    return "".join(f"{value}\n" for value in values)


def last_day(since: str, days: int) -> str:
    """Return the day that lies so many days after another.

    Raises:
        ConfigError: there is no such day.
    """
    try:
        return (date.fromisoformat(since) + timedelta(days=days)).isoformat()
    except (ValueError, OverflowError):
        raise ConfigError(
            f"{since[:40]!r} is not a day", hint="write the first day as 2025-03-03"
        ) from None


def _check_roles(answers: Answers) -> None:
    """Refuse one field in two roles that cannot be one."""
    fields = [answers.time, *answers.group_by]
    if answers.measured is Measured.AMOUNT:
        fields.append(answers.amount)
    # What devices count may be watched device by device; nobody watches a person.
    if answers.people or answers.unit == answers.time:
        fields.append(answers.unit)
    for name in fields:
        if fields.count(name) > 1:
            raise ConfigError(
                f"field {name!r} has two roles", hint="write another field for one of them"
            )


def _sql(answers: Answers) -> list[str]:
    time, fields = name_in_sql(answers.time), ", ".join(map(name_in_sql, answers.group_by))
    figure = {
        Measured.PEOPLE: f"COUNT(DISTINCT {name_in_sql(answers.unit)})",
        Measured.EVENTS: "COUNT(*)",
        Measured.AMOUNT: f"SUM({name_in_sql(answers.amount)})" if answers.amount else "",
    }[answers.measured]
    windows = f"TUMBLE({time}, {_interval(answers.window)})"
    if answers.slide:
        windows = f"HOP({time}, {_interval(answers.slide)}, {_interval(answers.window)})"
    return [
        f"SELECT {fields} FROM {name_in_sql(answers.feed)}",  # noqa: S608 -- no database sees it
        f"GROUP BY {fields}, {windows}",
        f"HAVING {figure} > {answers.threshold}",
    ]


def _interval(window: str) -> str:
    """Return the length of a window as SQL has it.

    Raises:
        ConfigError: it is none.
    """
    match = _DURATION.fullmatch(window)
    if match is None:
        raise ConfigError(
            f"{window[:40]!r} is not the length of a window", hint="write 15m, 1h, 1d or 1w"
        )
    count, unit = match.groups()
    return f"INTERVAL '{count}' {_UNITS[unit]}"


def _key(text: str) -> str:
    """Return a name as YAML writes it, in quotes where it needs them."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML
    return text if plain else quoted(text)


def _unread(text: str) -> str:
    """Escape what would be read as a variable of the environment: in values only."""
    return text.replace("${", "$${")


_TEXTS: Final = environment(__package__.rpartition(".")[0], escape=False)
_TEXTS.filters.update(key=_key, quoted=quoted, unread=_unread)
