"""Types of single values in the configuration, each with the sentence that explains a wrong one.

Every type is a pydantic annotation that takes a ``stream.config.yamlfile.Scalar`` or a plain text,
with the shape that editors are told of it (``stream.config.schema``). Numbers are read from the
text as exact fractions, never through a binary float. A value that came from an environment
variable is never repeated in an error.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, ValidationInfo, WrapValidator
from pydantic_core import PydanticCustomError, core_schema

from stream.config.schema import shapes
from stream.model.numbers import number
from stream.model.requirements import SPANS, FalseAlarmRate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic_core import CoreSchema

__all__ = [
    "DURATION",
    "LONGEST_MS",
    "MILLISECONDS",
    "Address",
    "Duration",
    "DurationMs",
    "Epsilon",
    "Exact",
    "FalseRingsText",
    "FieldName",
    "Name",
    "Pair",
    "Period",
    "Probability",
    "Reads",
    "Secret",
    "Share",
    "Text",
    "TopicName",
    "Whole",
    "address_of",
    "by_name",
    "closest",
    "domain_of",
    "key_of",
    "shown",
    "verbatim",
    "within",
    "wrong",
]

DURATION = r"([0-9]{1,15})\s*(ms|s|m|h|d|w)"
"""How a duration is written: a number and a unit."""
MILLISECONDS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
"""Units of durations, the shortest first."""
_OCTAL = re.compile(r"[+-]?0[0-9]+")
_MANY = 2_000
_ADDRESS = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})"
_LAST_PORT = 65_535
_LEAST = Fraction(1, 10**12)
T = TypeVar("T")
LONGEST_MS = 3660 * MILLISECONDS["d"]
"""The longest duration, and the longest interval of SQL."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as written.

    Args:
        milliseconds: its length, a day taken as 24 hours.
        days: how many days where it was written in days or weeks, else 0.
    """

    milliseconds: int
    days: int = 0


def wrong(message: str, hint: str = "") -> PydanticCustomError:
    """Return the error a validator raises: what is wrong and what to write instead."""
    return PydanticCustomError("tocsin", "{message}", {"message": message, "hint": hint})


def within(
    least: Fraction | int, what: str, hint: str, most: Fraction | float = math.inf
) -> WrapValidator:
    """Return a check that a number lies in a range, both ends included; of a text, its bytes.

    Args:
        least: the lower end.
        what: is wrong with another. ``{key}`` stands for the key, here and in the hint; ``{value}``
            for the value.
        hint: what to write.
        most: the upper end.
    """

    def check(value: Any, read: Callable[[Any], Any], info: ValidationInfo) -> Any:
        found = read(value)
        size = len(found.encode()) if isinstance(found, str) else found
        if not least <= size <= most:
            names = {"key": key_of(info.field_name or ""), "value": shown(value)}
            raise wrong(what.format(**names), hint.format(**names))
        return found

    return WrapValidator(check)


def key_of(field: str) -> str:
    """Return the key of a field: without the unit, or what keeps it from being a word of Python."""
    return field.removesuffix("_ms").removesuffix("_")


def shown(value: str) -> str:
    """Return a value for an error text: shortened, and never what a variable held."""
    text = " ".join(getattr(value, "shown", value).split())
    return f"`{text[:40]}{'...' if len(text) > 40 else ''}`"


def closest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return ``did you mean ...?`` for a misspelt word, or what else to say, or the known ones."""
    known = sorted(known)
    by_lower = {name.lower(): name for name in known[:_MANY]}  # all would take seconds
    for near in difflib.get_close_matches(word.lower(), by_lower, n=1):
        return f"did you mean `{by_lower[near]}`?"
    if otherwise or not known:
        return otherwise
    return f"write one of: {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"


def verbatim(value: Any) -> str:
    """Return a text as it is, so that positions inside it stay true."""
    _text(value)
    return str(value)


def by_name(value: Any) -> Any:
    """Return a single value as the entry "" of a mapping; its place is that of the mapping."""
    return value if isinstance(value, dict) else {"": value}


def domain_of(value: Any) -> tuple[str, ...] | str:
    """Return a list of public values, or the name of a file with one per line."""
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, list) or not value:
        hint = "write domain: [a, b] or domain: rooms.txt"
        raise wrong("the domain is not a list of values, or a file", hint)
    return tuple(str(each) for each in value if _text(each))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong("a list or a mapping instead of a single value", "write one value")
    if not value.strip():
        raise wrong("the value is empty", "write a value, or remove the key")
    return value.strip()


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """How pydantic reads a value, whatever its type: nothing else is made when a command starts.

    Args:
        read: makes a value of what is written.
        shape: what editors are told of it.
    """

    read: Callable[[Any], Any]
    shape: shapes.Shape = field(default_factory=lambda: shapes.TEXT)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: object) -> CoreSchema:
        """Return how pydantic reads it."""
        metadata = {"pydantic_js_functions": [lambda *_: self.shape]}
        return core_schema.no_info_plain_validator_function(self.read, metadata=metadata)


def _written(pattern: str, parse: Callable[[re.Match[str]], Any], what: str, hint: str) -> Reads:
    """Return how a text with a pattern is read, and told to editors.

    Args:
        pattern: of its text.
        parse: makes a value of a text with this pattern; ``None`` of one that is wrong even so.
        what: a right one is.
        hint: what to write instead of a wrong one.
    """

    def read(value: Any) -> Any:
        text = _text(value)
        # Keys are plain texts, and taken as they are written: one with a blank is another key.
        match = re.fullmatch(pattern, text if hasattr(value, "kind") else value)
        found = match and parse(match)
        if found is None:
            raise wrong(f"{shown(value)} is not {what}", hint)
        return found

    return Reads(read, shapes.written(pattern))


def _exact(value: Any, *, example: str = "a number, as 0.05 or 1/20") -> Fraction:
    _, found = _number(value)
    if found is None:
        raise wrong(f"{shown(value)} is not a number", f"write {example}")
    return found


def _number(value: Any) -> tuple[str, Fraction | None]:
    """Return a text, and the number that it is, if it is one.

    ``040`` is refused, which is 40 to people and 32 to readers of YAML.
    """
    text = _text(value)
    if getattr(value, "kind", "") == "int" and _OCTAL.fullmatch(text):
        plain = text.lstrip("+-0") or "0"
        raise wrong(f"{shown(value)} begins with 0, which YAML reads as octal", f"write {plain}")
    return text, number(text)


def _whole(value: Any) -> int:
    found = _exact(value, example="a whole number, as 10")
    if found.denominator != 1:
        raise wrong(f"{shown(value)} is not a whole number", f"write {round(found)}")
    return int(found)


def _epsilon(value: Any) -> Fraction:
    text, found = _number(value)
    if getattr(value, "kind", "") == "float" and found is not None and found > 0:
        message = f"{shown(value)} is a float without quotes, which YAML readers round"
        raise wrong(message, f'write "{text}"')
    if found is None or not _LEAST <= found <= 10**6:
        hint = 'write a number in quotes, as "4", "0.5" or "7/2"'
        raise wrong(f"{shown(value)} is not a number from 1e-12 to 1000000", hint)
    return found


def _false_rings(match: re.Match[str]) -> FalseAlarmRate | None:
    found = number(match[1])
    if found is None or not Fraction(1, 10**9) <= found <= 10**9:
        return None
    return FalseAlarmRate(found, match[2])


def _duration(match: re.Match[str]) -> Duration | None:
    count, unit = int(match[1]), match[2]
    found = Duration(count * MILLISECONDS[unit], {"d": count, "w": 7 * count}.get(unit, 0))
    return found if found.milliseconds <= LONGEST_MS else None


def _period(match: re.Match[str]) -> Duration | str | None:
    if match[0] == "lifetime":
        return match[0]
    found = _duration(match)
    return found if found and found.milliseconds else None


def address_of(text: str) -> tuple[str, int] | None:
    """Return the host and the port of ``host:port``; ``None`` where a text is none."""
    found = re.fullmatch(_ADDRESS, text)
    if found is None or int(found[2]) > _LAST_PORT:
        return None
    return found[1].strip("[]"), int(found[2])


Text = Annotated[str, Reads(_text)]
"""Any non-empty text, trimmed."""
Secret = Annotated[
    Text, within(16, "the {key} is shorter than 16 bytes", "use 16 random characters or more")
]
"""A text that nobody guesses."""
Name = Annotated[
    str,
    _written(
        "[a-zA-Z0-9._-]+",
        re.Match.group,
        "a valid name",
        "use letters, digits, dots, dashes and underscores",
    ),
]
"""A name of a feed, an alarm, a table or a group."""
FieldName = Annotated[
    str,
    _written(
        r'[^"\\\x00-\x1f]*',
        re.Match.group,
        "a name that readers of JSON can look for",
        "use no quotes, backslashes or control characters, here and in the events",
    ),
]
"""A name of a field of an event."""
TopicName = Annotated[
    str,
    _written(
        r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}",
        re.Match.group,
        "a valid name of a Kafka topic",
        "use at most 249 letters, digits, dots, dashes and underscores",
    ),
]
"""A Kafka topic."""
Exact = Annotated[Fraction, Reads(_exact)]
"""A number, read exactly."""
Pair = Annotated[list[T], Field(min_length=2, max_length=2)]
"""A list of two values."""
Whole = Annotated[int, Reads(_whole)]
"""A whole number."""
Probability = Annotated[
    Exact,
    within(_LEAST, "{value} is not a probability", "write a number between 0 and 1", 1 - _LEAST),
]
"""A number strictly between 0 and 1."""
Epsilon = Annotated[Fraction, Reads(_epsilon)]
"""A privacy loss: a quoted number, a fraction, or a whole number."""
Delta = Annotated[
    Exact,
    within(
        Fraction(1, 10**18),
        "{value} is not from 1e-18 to 0.001",
        'write delta: "1e-6"',
        Fraction(1, 1000),
    ),
]
"""How likely a Gaussian promise may fail: from 1e-18 to 0.001."""
FalseRingsText = Annotated[
    FalseAlarmRate,
    _written(
        rf"(\S+)\s+(?:per|a)\s+({'|'.join(SPANS)})",
        _false_rings,
        "a rate of false alarms",
        "write a rate above 0 per day, week or month: 1 per week",
    ),
]
"""How many false rings an alarm may have: ``1 per week``."""
Share = Annotated[
    Exact,
    within(_LEAST, "{value} is not above 0 and at most 1", "write a part of the budget, as 0.3", 1),
]
"""A part of a budget: above 0, at most 1."""
DurationMs = Annotated[
    int,
    _written(
        DURATION,
        lambda match: (found := _duration(match)) and found.milliseconds,
        "a duration",
        "write a whole number and a unit, ten years at most: 250ms, 30s, 5m, 1h, 1d or 1w",
    ),
]
"""A duration in milliseconds, a day taken as 24 hours."""
Period = Annotated[
    Duration | str,
    _written(
        f"lifetime|{DURATION}",
        _period,
        "a period",
        "write lifetime, or a duration: 12h, 1d, 7d",
    ),
]
"""A budget period: a duration, or the word ``lifetime``."""
Address = Annotated[
    tuple[str, int],
    _written(
        _ADDRESS,
        lambda match: address_of(match[0]),
        "host:port",
        "write an address, as 127.0.0.1:9465",
    ),
]
"""``host:port``."""
