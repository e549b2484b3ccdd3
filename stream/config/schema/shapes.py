"""How single values are written, as JSON Schema: what an editor can tell of them while one types.

A shape takes whatever the reader takes, and refuses what is plainly something else; how values go
together is said by ``tocsin check``. Any value may come from the environment or a file, so that
every shape takes a text with ``${`` in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "EXACT",
    "LIST_OR_FILE",
    "QUOTED",
    "TEXT",
    "WHOLE",
    "Shape",
    "one_or_by_name",
    "words",
    "written",
]

Shape = dict[str, Any]

_VARIABLE: Final[Shape] = {
    "description": "from the environment: ${NAME} or ${NAME:-default}; from a file: ${file:PATH}",
    "type": "string",
    "pattern": r"\$\{",
}
"""A text that holds a variable."""

_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"


def _or_variable(*shapes: Shape) -> Shape:
    return {"anyOf": [*shapes, _VARIABLE]}


def _text(pattern: str) -> Shape:
    return {"type": "string", "pattern": rf"^\s*({pattern})\s*$"}


def written(pattern: str) -> Shape:
    """Return the shape of a value by the pattern of its text, which a number may have."""
    numbers = [{"type": "number"}] if re.fullmatch(pattern, "1") else []
    return _or_variable(*numbers, _text(pattern))


def words(known: Iterable[str | bool]) -> Shape:
    """Return the shape of a value that is one of these words."""
    return _or_variable({"enum": list(known)})


def one_or_by_name(shape: Shape) -> Shape:
    """Return the shape of one value, or of a mapping of such."""
    return {"anyOf": [shape, {"type": "object", "additionalProperties": shape}]}


_NUMBER = rf"{_DECIMAL}|[+-]?[0-9]+\s*/\s*[0-9]+"

TEXT: Final[Shape] = {"type": ["string", "number", "boolean"], "minLength": 1}
EXACT: Final = written(_NUMBER)
WHOLE: Final = _or_variable({"type": "integer"}, _text(_NUMBER))
QUOTED: Final = _or_variable({"type": "integer", "minimum": 1}, _text(_NUMBER))
LIST_OR_FILE: Final[Shape] = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
