"""What the models of all YAML files share."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

from stream.config.yamlfile import Scalar

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["Closed", "keys_of", "models_of"]


class Closed(BaseModel):
    """Frozen, and closed to unknown keys; what a key means is said below it, for editors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
    )
    short: ClassVar[str] = ""
    """The key that a single value stands for where a mapping belongs; "" where it needs one."""
    words: ClassVar[tuple[str, ...]] = ()
    """Keys of which one is written: its name alone stands for it without keys of its own."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {cls.short: value} if cls.short and isinstance(value, Scalar) else value


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the keys of the mapping that a model reads, as they are written."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


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
