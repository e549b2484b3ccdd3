"""Types of single values in the configuration, each with the sentence that explains a wrong one.

Every type is a pydantic annotation that takes a ``stream.config.yamlfile.Scalar``, with the shape
that editors are told of it (``stream.config.schema``). Numbers are read
from the scalar's text as exact fractions, never through a binary float. A value that came from an
environment variable is never repeated in an error.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from stream.config.renamed import RENAMED
from stream.config.schema import shapes
from stream.config.yamlfile import Scalar
from stream.model.numbers import LONGEST_NUMBER, decimal, number
from stream.model.requirements import SPANS, FalseAlarmRate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "MILLISECONDS",
    "WORD",
    "Address",
    "Duration",
    "DurationMs",
    "Epsilon",
    "Exact",
    "FalseRingsText",
    "Name",
    "Probability",
    "Share",
    "Text",
    "TopicName",
    "Whole",
    "choice",
    "clip_of",
    "closest",
    "domain_of",
    "period_of",
    "shown",
    "verbatim",
    "whole_of",
    "within",
    "wrong",
]

W = TypeVar("W", bound=str)

_DURATION = re.compile(r"([0-9]+)\s*(ms|s|m|h|d|w)")
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
_RINGS = re.compile(r"(\S+)\s+(?:per|a)\s+(\S+)")
_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_MANY = 2_000
_DURATION_HINT = "write a whole number and a unit: 250ms, 30s, 5m, 1h, 1d or 1w"


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


def within(least: int, message: str, hint: str, most: int | None = None) -> AfterValidator:
    """Return a check that a number lies in a range, ``most`` included; of a text, its bytes.

    ``{key}`` in the message and the hint stands for the key.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        size = len(value.encode()) if isinstance(value, str) else value
        if size < least or (most is not None and size > most):
            raise wrong(*(text.format(key=info.field_name) for text in (message, hint)))
        return value

    return AfterValidator(check)


def shown(value: Scalar) -> str:
    """Return a value for an error text: shortened, and never what a variable held."""
    text = " ".join(value.shown.split())
    return f"`{text[:40]}{'...' if len(text) > 40 else ''}`"


def closest(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` for a misspelt word, or the known ones."""
    known = sorted(known)
    if (now := RENAMED.get(word)) in known:
        return f"did you mean `{now}`? It replaces `{word}`"
    if len(known) > _MANY:  # a comparison with each would take seconds
        known = [name for name in known if name[:1].lower() == word[:1].lower()][:_MANY]
    near = difflib.get_close_matches(
        word.lower(), [name.lower() for name in known], n=1, cutoff=0.6
    )
    if near:
        name = next(name for name in known if name.lower() == near[0])
        return f"did you mean `{name}`?"
    if not known:
        return ""
    return f"write one of: {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"


class _Word:
    """Beside an enumeration, or a literal of words: one of these is written."""

    def __get_pydantic_core_schema__(self, source: Any, _: object) -> core_schema.CoreSchema:
        """Return how it is read."""
        words = get_args(source) or tuple(source)
        shape = {"pydantic_js_functions": [lambda *_: shapes.words(map(str, words))]}
        return core_schema.no_info_plain_validator_function(choice(words), metadata=shape)


WORD = _Word()


def choice(known: Iterable[W]) -> Callable[[Any], W]:
    """Return a validator that takes one of some words, or one word of an enumeration."""
    words = {str(each): each for each in known}

    def check(value: Any) -> W:
        word = _text(value)
        if word in words:
            return words[word]
        near, known = closest(word, words), f"write one of: {', '.join(words)}"
        raise wrong(
            f"{shown(value)} is not valid here",
            f"{near} ({known})" if near.startswith("did") else known,
        )

    return check


def verbatim(value: Any) -> str:
    """Return a text as it is, so that positions inside it stay true."""
    _text(value)
    return str(value.text)


def period_of(value: Any) -> Duration | str:
    """Return a budget period: a duration, or the word ``lifetime``."""
    if _text(value) == "lifetime":
        return "lifetime"
    try:
        period = _duration(value)
    except PydanticCustomError:
        raise wrong(
            f"{shown(value)} is not a period", "write lifetime, or a duration: 12h, 1d, 7d"
        ) from None
    if not period.milliseconds:
        raise wrong("the period is 0", "write lifetime, or a duration: 12h, 1d, 7d")
    return period


def clip_of(value: Any) -> tuple[Fraction, Fraction]:
    """Return ``[lo, hi]``."""
    if not isinstance(value, list) or len(value) != 2:
        raise wrong("the clip is not a pair of numbers", "write clip: [0, 100]")
    lo, hi = _exact(value[0]), _exact(value[1])
    if lo > hi:
        raise wrong(
            f"the clip is empty: {shown(value[0])} is above {shown(value[1])}",
            "write the lower bound first",
        )
    return lo, hi


def domain_of(value: Any) -> tuple[str, ...] | str:
    """Return a list of public values, or the name of a file with one per line."""
    if isinstance(value, Scalar):
        return _text(value)
    if not isinstance(value, list):
        raise wrong(
            "the domain is not a list or a file", "write domain: [a, b] or domain: rooms.txt"
        )
    if not value:
        raise wrong("the domain is empty", "write its public values: domain: [a, b]")
    return tuple(element.text if _text(element) else "" for element in value)


def _text(value: Any) -> str:
    if not isinstance(value, Scalar):
        raise wrong("a list or a mapping instead of a single value", "write one value")
    if value.kind == "null" or not value.text.strip():
        raise wrong("the value is empty", "write a value, or remove the key")
    return value.text.strip()


def _name(value: Any) -> str:
    text = _text(value) if isinstance(value, Scalar) else str(value)
    if not _NAME.fullmatch(text):
        message = (
            f"`{text[:40]}` is not a valid name" if isinstance(value, str) else "not a valid name"
        )
        raise wrong(message, "use letters, digits, dots, dashes and underscores")
    return text


def _topic(value: Any) -> str:
    text = _name(value)
    if len(text) > 249 or text in (".", ".."):
        raise wrong(
            "not a valid name of a Kafka topic", "use at most 249 characters, not `.` or `..`"
        )
    return text


def _exact(value: Any, *, example: str = "a number, as 0.05 or 1/20") -> Fraction:
    text, found = _number(value)
    if found is None:
        hint = f"write {example}"
        percent = number(text.removesuffix("%")) if text.endswith("%") else None
        if percent is not None:
            hint = f"write {decimal(percent / 100)}"
        if len(text) > LONGEST_NUMBER:
            hint += f", of at most {LONGEST_NUMBER} characters"
        raise wrong(f"{shown(value)} is not a number", hint)
    return found


def _number(value: Any) -> tuple[str, Fraction | None]:
    """Return a text, and the number that it is, if it is one.

    ``040`` is refused, which is 40 to people and 32 to readers of YAML.
    """
    text = _text(value)
    if value.kind == "int" and _OCTAL.fullmatch(text):
        plain = text.lstrip("+-0") or "0"
        raise wrong(f"{shown(value)} begins with 0, which YAML reads as octal", f"write {plain}")
    return text, number(text)


def whole_of(value: Any) -> int:
    """Return a whole number."""
    found = _exact(value, example="a whole number, as 10")
    if found.denominator != 1:
        raise wrong(f"{shown(value)} is not a whole number", f"write {round(found)}")
    return int(found)


def _within(least: Fraction, most: Fraction, what: str, hint: str) -> PlainValidator:
    """Return a reader of numbers in a range, both ends included."""

    def read(value: Any) -> Fraction:
        found = _exact(value)
        if not least <= found <= most:
            raise wrong(f"{shown(value)} is {what}", hint)
        return found

    return PlainValidator(read)


def _epsilon(value: Any, info: ValidationInfo) -> Fraction:
    """Return the privacy loss that a key holds."""
    text, found = _number(value)
    if value.kind == "float" and found is not None and found > 0:
        message = f"{info.field_name} is a float without quotes, which YAML readers round"
        raise wrong(message, f'write {info.field_name}: "{text}"')
    if found is None or found <= 0:
        hint = 'write a number in quotes, as "4", "0.5" or "7/2"'
        raise wrong(f"{shown(value)} is not a positive number", hint)
    if not Fraction(1, 10**12) <= found <= 10**6:
        message = f"{shown(value)} is out of range"
        raise wrong(message, "write a number from 1e-12 to 1000000")
    return found


def _false_rings(value: Any) -> FalseAlarmRate:
    match = _RINGS.fullmatch(_text(value))
    found = None if match is None else number(match[1])
    if match is None or found is None or found <= 0 or match[2] not in SPANS:
        raise wrong(
            f"{shown(value)} is not a rate of false alarms",
            "write a rate above 0 per day, week or month: 1 per week",
        )
    if not Fraction(1, 10**9) <= found <= 10**9:
        raise wrong(f"{shown(value)} is out of range", "write a number from 1e-9 to 1e9")
    return FalseAlarmRate(found, match[2])


def _duration(value: Any) -> Duration:
    text = _text(value)
    match = _DURATION.fullmatch(text)
    if match is None:
        raise wrong(f"{shown(value)} is not a duration", _DURATION_HINT)
    digits, unit = match.groups()
    count = int(digits) if len(digits) <= LONGEST_NUMBER else MILLISECONDS["w"]
    milliseconds = count * MILLISECONDS[unit]
    if milliseconds > 3660 * MILLISECONDS["d"]:
        raise wrong(f"{shown(value)} is longer than ten years", "write a shorter duration")
    return Duration(milliseconds, {"d": count, "w": 7 * count}.get(unit, 0))


def _duration_ms(value: Any) -> int:
    return _duration(value).milliseconds


def _address(value: Any) -> tuple[str, int]:
    text = _text(value)
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not (colon and host and re.fullmatch("[0-9]{1,5}", port) and int(port) < 65_536):
        raise wrong(f"{shown(value)} is not host:port", "write an address, as 127.0.0.1:9465")
    return host, int(port)


Text = Annotated[str, BeforeValidator(_text), WithJsonSchema(shapes.TEXT)]
"""Any non-empty text, trimmed."""
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema(shapes.NAME)]
"""A name of a feed, an alarm, a table or a group."""
TopicName = Annotated[str, BeforeValidator(_topic), WithJsonSchema(shapes.NAME)]
"""A Kafka topic."""
Exact = Annotated[Fraction, PlainValidator(_exact), WithJsonSchema(shapes.EXACT)]
"""A number, read exactly."""
Whole = Annotated[int, PlainValidator(whole_of), WithJsonSchema(shapes.WHOLE)]
"""A whole number."""
_LEAST = Fraction(1, 10**12)
Probability = Annotated[
    Fraction,
    _within(_LEAST, 1 - _LEAST, "not a probability", "write a number between 0 and 1"),
    WithJsonSchema(shapes.EXACT),
]
"""A number strictly between 0 and 1."""
Epsilon = Annotated[Fraction, PlainValidator(_epsilon), WithJsonSchema(shapes.QUOTED)]
"""A privacy loss: a quoted number, a fraction, or a whole number."""
Delta = Annotated[
    Fraction,
    _within(
        Fraction(1, 10**18),
        Fraction(1, 1000),
        "not from 1e-18 to 0.001",
        'write delta: "1e-6"',
    ),
    WithJsonSchema(shapes.EXACT),
]
"""How likely a Gaussian promise may fail: from 1e-18 to 0.001."""
FalseRingsText = Annotated[
    FalseAlarmRate, PlainValidator(_false_rings), WithJsonSchema(shapes.FALSE_RINGS)
]
"""How many false rings an alarm may have: ``1 per week``."""
Share = Annotated[
    Fraction,
    _within(_LEAST, Fraction(1), "not above 0 and at most 1", "write a part of the budget, as 0.3"),
    WithJsonSchema(shapes.EXACT),
]
"""A part of a budget: above 0, at most 1."""
DurationMs = Annotated[int, PlainValidator(_duration_ms), WithJsonSchema(shapes.DURATION)]
"""A duration in milliseconds, a day taken as 24 hours."""
Address = Annotated[tuple[str, int], PlainValidator(_address), WithJsonSchema(shapes.ADDRESS)]
"""``host:port``."""
