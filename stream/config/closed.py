"""What the models of all YAML files share."""

from __future__ import annotations

import ast
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from stream.config.scalars import key_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["Closed", "keys_of", "told"]


class Closed(BaseModel):
    """Frozen, and closed to unknown keys; what a key means is said below it, for editors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, alias_generator=key_of
    )
    short: ClassVar[str] = ""
    """The key that a single value stands for where a mapping belongs; "" where it needs one."""
    words: ClassVar[tuple[str, ...]] = ()
    """Keys of which one is written: its name alone stands for it without keys of its own."""
    said_by: ClassVar[type[BaseModel] | None] = None
    """The model that says what the keys mean; None where this one does."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the mapping that a value stands for; it is noted whose keys it may have."""
        if info.context is not None:
            info.context.models[id(value)] = cls
        return {cls.short: value} if cls.short and isinstance(value, str) else value


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the keys of the mapping that a model reads, as they are written."""
    return {key_of(name): field for name, field in model.model_fields.items()}


@cache
def told(model: type[Closed]) -> dict[str, str]:
    """Return what is said below the fields of a model, by name.

    It is read when it is asked for: pydantic, told to, would read it whenever a command starts, and
    take a fifth of the start.
    """
    (tree,) = ast.parse(dedent(getsource(model.said_by or model))).body
    found: dict[str, str] = {}
    for before, after in pairwise(getattr(tree, "body", ())):
        match before, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as said)),
            ) if name in model.model_fields:
                found[name] = cleandoc(said)
    return found
