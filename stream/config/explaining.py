"""What is wrong with the keys and values of a file: pydantic's errors as ours, at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream.config.moved import of_place
from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, ValidationError

    from accountant.errors import ConfigError
    from stream.config.yamlfile import Document, Loc

    _Models = Mapping[tuple[str, ...], type[BaseModel]]

__all__ = ["explained"]


def explained(
    document: Document, error: ValidationError, models: _Models, examples: Mapping[str, str]
) -> list[ConfigError]:
    """Return pydantic's errors as ours.

    Args:
        document: the file.
        error: what reading its tree raised.
        models: which model reads which mapping; ``*`` stands for a name the user chose, or for the
            place in a list.
        examples: how a missing key is written.
    """
    details = error.errors()
    return [
        _explained(document, detail, models, examples)
        for detail in details
        if not _misspelt(detail, details, models)
    ]


def _explained(
    document: Document, detail: Any, models: _Models, examples: Mapping[str, str]
) -> ConfigError:
    """Return one error at its place in the file."""
    loc: Loc = detail["loc"]
    key = bool(loc) and loc[-1] == "[key]"
    if key:
        loc = loc[:-1]
    name = str(loc[-1]) if loc else ""
    match detail["type"]:
        case "tocsin":
            context = detail["ctx"]
            return document.error(loc, context["message"], context["hint"], key=key)
        case "missing":
            example = examples.get(name, f"{name}: ...")
            return document.error(loc, f"`{name}` is missing", f"write {example}")
        case "extra_forbidden" if (said := of_place(loc)) is not None:
            return document.error(loc, *said, key=loc[2:3] != ("mechanism",))
        case "extra_forbidden":
            known = _known_keys(loc[:-1], models)
            return document.error(
                loc, f"`{name}` is not a key here", closest(name, known), key=True
            )
        case "list_type":
            return document.error(loc, "a list belongs here", "begin each part with `- `")
        case _:
            return document.error(
                loc, "a mapping belongs here", "write `key: value` lines, indented"
            )


def _misspelt(detail: Any, details: list[Any], models: _Models) -> bool:
    """Tell whether a key is missing only because it is there under a misspelt name."""
    loc = detail["loc"]
    return detail["type"] == "missing" and any(
        other["type"] == "extra_forbidden"
        and other["loc"][:-1] == loc[:-1]
        and f"`{loc[-1]}`" in _likely(other["loc"], models)
        for other in details
    )


def _likely(loc: Loc, models: _Models) -> str:
    """Return what is said of a key that has another name, or a misspelt one."""
    said = of_place(loc)
    return closest(str(loc[-1]), _known_keys(loc[:-1], models)) if said is None else said[0]


def _known_keys(loc: Loc, models: _Models) -> list[str]:
    """Return the keys that a mapping may have."""
    for pattern, model in models.items():
        if len(pattern) == len(loc) and all(
            part in ("*", step) for part, step in zip(pattern, loc, strict=True)
        ):
            return [field.alias or name for name, field in model.model_fields.items()]
    return []
