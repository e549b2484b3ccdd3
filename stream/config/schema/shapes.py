"""How single values are written, as JSON Schema: what an editor can tell of them while one types.

A shape takes whatever the reader takes, and refuses what is plainly something else; numbers, and
how values go together, are read by ``tocsin check``. Any value may come from the environment or a
file, so that every shape takes a text with ``${`` in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LIST_OR_FILE", "TEXT", "Shape", "one_or_by_name", "words", "written"]

Shape = dict[str, Any]

TEXT: Final[Shape] = {"type": ["string", "number", "boolean"], "minLength": 1}
"""A single value."""

LIST_OR_FILE: Final[Shape] = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}

_VARIABLE: Final[Shape] = {
    "description": "from the environment: ${NAME} or ${NAME:-default}; from a file: ${file:PATH}",
    "type": "string",
    "pattern": r"\$\{",
}


def written(pattern: str) -> Shape:
    """Return the shape of a value by the pattern of its text, which a number may have."""
    numbers = [{"type": "number"}] if re.fullmatch(pattern, "1") else []
    return {"anyOf": [*numbers, {"type": "string", "pattern": rf"^\s*({pattern})\s*$"}, _VARIABLE]}


def words(known: Iterable[str]) -> Shape:
    """Return the shape of a value that is one of these words."""
    return {"anyOf": [{"enum": list(known)}, _VARIABLE]}


def one_or_by_name(shape: Shape) -> Shape:
    """Return the shape of one value, or of a mapping of such."""
    return {"anyOf": [shape, {"type": "object", "additionalProperties": shape}]}
