"""Which model of pydantic reads which mapping of a file."""  # noqa: INP001  # a script, no package

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from stream.config.closed import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        for at, kind in _models((*place, name), field.annotation):
            found |= models_of(kind, at)
    return found


def _models(at: tuple[str, ...], kind: Any) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Yield the models that read what is of a type; the second way to read it has its name."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield at, kind
    elif get_origin(kind) in (dict, list):
        yield from _models((*at, "*"), get_args(kind)[-1])
    elif get_origin(kind) is Annotated:
        yield from _models(at, get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for number, (found, one) in enumerate(
            pair for each in get_args(kind) for pair in _models(at, each)
        ):
            yield (*found, one.__name__) if number else found, one
