"""What the models of all YAML files share."""

from __future__ import annotations

import ast
import sys
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

from stream.config.yamlfile import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

__all__ = ["Closed", "keys_of", "models_of", "told"]


class Closed(BaseModel):
    """Frozen, and closed to unknown keys; what a key means is said below it, for editors."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
    short: ClassVar[str] = ""
    """The key that a single value stands for where a mapping belongs; "" where it needs one."""
    words: ClassVar[tuple[str, ...]] = ()
    """Keys of which one is written: its name alone stands for it without keys of its own."""
    said_by: ClassVar[type[BaseModel] | None] = None
    """The model that says what the keys mean; None where this one does."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {cls.short: value} if cls.short and isinstance(value, Scalar) else value


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the keys of the mapping that a model reads, as they are written."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def told(model: type[Closed]) -> dict[str, str]:
    """Return what is said below the fields of a model, by name.

    It is read when it is asked for: pydantic, told to, would read it whenever a command starts, and
    take a fifth of the start.
    """
    found: dict[str, str] = {}
    for each in reversed((model.said_by or model).__mro__):
        if issubclass(each, Closed):
            found |= _below(each.__module__).get(each.__name__, {})
    return {name: found[name] for name in model.model_fields if name in found}


@cache
def _below(module: str) -> dict[str, dict[str, str]]:
    """Return what is said below the attributes of a module's classes."""
    tree = ast.parse(getsource(sys.modules[module]))
    classes = (each for each in tree.body if isinstance(each, ast.ClassDef))
    return {each.name: dict(_said(each.body)) for each in classes}


def _said(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for before, after in pairwise(body):
        match before, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as said)),
            ):
                yield name, cleandoc(said)


@cache
def models_of(
    model: type[BaseModel], place: tuple[str, ...] = ()
) -> dict[tuple[str, ...], type[BaseModel]]:
    """Return which model reads which mapping of a file.

    Args:
        model: of the mapping at ``place``.
        place: keys from the root; ``*`` stands for a name the user chose, or for the place in a
            list.
    """
    found = {place: model}
    for name, field in keys_of(model).items():
        at, kind = (*place, name), field.annotation
        while inside := get_args(kind):  # what is optional stands before None
            several = get_origin(kind) in (dict, list)
            at, kind = ((*at, "*"), inside[-1]) if several else (at, inside[0])
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= models_of(kind, at)
    return found
