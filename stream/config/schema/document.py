"""The JSON Schema of a configuration file, and of a file of tests, for editors: draft 2020-12.

Made from the models that read them (``stream.config.keys``, ``stream.config.cases.keys``): keys,
which of them are required, words, defaults. A key that is added there appears here by itself; one
whose values have no shape takes anything. What passes may still be refused by ``tocsin check`` or
``tocsin test``, which know what goes together; what the schema refuses, they refuse too.
"""

from __future__ import annotations

import types
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, WithJsonSchema

from stream.config.cases.keys import CasesModel
from stream.config.closed import keys_of
from stream.config.keys import FileModel
from stream.config.scalars import MILLISECONDS
from stream.config.schema import shapes

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["cases_schema", "configuration_schema", "duration"]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAMES: Final = {"pattern": "^[a-zA-Z0-9._-]+$"}


def configuration_schema() -> shapes.Shape:
    """Return the schema of a whole file, as data that JSON takes."""
    return _whole("Tocsin configuration", FileModel)


def cases_schema() -> shapes.Shape:
    """Return the schema of a file of tests, likewise."""
    return _whole("Tocsin tests of alarms", CasesModel)


def _whole(title: str, model: type[BaseModel]) -> shapes.Shape:
    return {
        "$schema": _DRAFT,
        "title": title,
        **_mapping(model),
        "$defs": {"variable": shapes.VARIABLE},
    }


def _mapping(model: type[BaseModel]) -> shapes.Shape:
    """Return the schema of the mapping that a model reads."""
    properties: shapes.Shape = {}
    required = []
    for key, field in keys_of(model).items():
        told = {"description": " ".join((field.description or "").split())}
        shape = _shape(field.annotation, list(field.metadata))
        properties[key] = told | _default(field, shape) | shape
        if field.is_required():
            required.append(key)
    found: shapes.Shape = {"type": "object", "additionalProperties": False}
    found |= {"properties": properties} | ({"required": required} if required else {})
    short, names = getattr(model, "short", ""), getattr(model, "words", ())
    if names:
        return {"anyOf": [shapes.words(names), found | {"minProperties": 1, "maxProperties": 1}]}
    return {"anyOf": [properties[short], found]} if short else found


def _shape(kind: Any, notes: list[Any]) -> shapes.Shape:
    """Return the schema of a value from its type, and from what is noted beside the type."""
    told = [note.json_schema for note in notes if isinstance(note, WithJsonSchema)]
    if told:
        return dict(told[-1] or {})
    inside = get_args(kind)
    if get_origin(kind) is Annotated:
        return _shape(inside[0], list(inside[1:]))
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [each for each in inside if each is not type(None)]
        return _shape(kinds[0], []) if len(kinds) == 1 else {}
    return _of_type(kind)


def _of_type(kind: Any) -> shapes.Shape:
    if get_origin(kind) is Literal:
        return shapes.words(get_args(kind))
    if get_origin(kind) is dict:
        return _by_name(*get_args(kind))
    if get_origin(kind) is list:
        return {"type": "array", "items": _shape(get_args(kind)[0], [])}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return shapes.words(each.value for each in kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _mapping(kind)
    return {}


def _by_name(key: Any, value: Any) -> shapes.Shape:
    """Return the schema of a mapping whose keys the user chose."""
    names = {} if key is str else {"propertyNames": _NAMES}
    return {"type": "object", **names, "additionalProperties": _shape(value, [])}


def _default(field: FieldInfo, shape: shapes.Shape) -> shapes.Shape:
    """Return the default as one writes it, where it is a single value."""
    match field.default:
        case int() as value if shape == shapes.DURATION:
            return {"default": duration(value)}
        case int() as value:
            return {"default": value}
        case str() as value if value:
            return {"default": str(value)}
        case (host, port):
            return {"default": f"{host}:{port}"}
        case _:
            return {}


def duration(milliseconds: int) -> str:
    """Return a length of time in the largest unit that it is a whole number of."""
    for unit, length in reversed(MILLISECONDS.items()):
        if milliseconds and milliseconds % length == 0:
            return f"{milliseconds // length}{unit}"
    return "0ms"
