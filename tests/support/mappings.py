"""Which model of pydantic reads which mapping of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args, get_origin

from pydantic import BaseModel

from stream.config.closed import keys_of

if TYPE_CHECKING:
    from typing import Any

__all__ = ["models_of"]


def models_of(model: type[Any], place: tuple[str, ...] = ()) -> dict[tuple[str, ...], type[Any]]:
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
