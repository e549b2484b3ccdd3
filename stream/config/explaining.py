"""From the tree of a YAML file to a model: pydantic's errors as ours, at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from stream.config.closed import keys_of, models_of
from stream.config.findings import Findings
from stream.config.keys import EXAMPLES
from stream.config.moved import of_place
from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.errors import ConfigError
    from stream.config.yamlfile import Document, Loc

__all__ = ["read_as"]

M = TypeVar("M", bound=BaseModel)


def read_as(
    document: Document, whole: type[M], examples: Mapping[str, str] = EXAMPLES
) -> tuple[M | None, Findings]:
    """Return what a file says, and what is wrong with it; where that is anything, ``None``.

    Args:
        document: the file.
        whole: the model of all of it.
        examples: how a missing key is written.
    """
    findings = Findings(document, list(document.errors))
    if findings.errors:
        return None, findings
    try:
        return whole.model_validate(document.tree), findings
    except ValidationError as error:
        findings.errors.extend(_explained(document, error.errors(), whole, examples))
        return None, findings


def _explained(
    document: Document, details: list[Any], whole: type[BaseModel], examples: Mapping[str, str]
) -> Iterator[ConfigError]:
    """Yield what pydantic says of a file as our errors, each at its place."""
    near = {
        detail["loc"]: _nearest(detail["loc"], whole)
        for detail in details
        if detail["type"] == "extra_forbidden"
    }
    for detail in details:
        loc: Loc = detail["loc"]
        key = loc[-1:] == ("[key]",)
        loc = loc[:-1] if key else loc
        name = str(loc[-1]) if loc else ""
        match detail["type"]:
            case "tocsin":
                message, hint = detail["ctx"]["message"], detail["ctx"]["hint"]
            case "missing":
                # It may be there under a misspelt name, which has an error of its own.
                if any(at[:-1] == loc[:-1] and f"`{name}`" in said for at, said in near.items()):
                    continue
                message = f"`{name}` is missing"
                hint = f"write {examples.get(name, f'{name}: ...')}"
            case "extra_forbidden" if (said := of_place(loc)) is not None:
                (message, hint), key = said, loc[2:3] != ("mechanism",)
            case "extra_forbidden":
                message, hint, key = f"unknown key `{name}`", near[loc], True
            case "list_type":
                message, hint = "this has to be a list", "begin each item with `- `"
            case _:
                message, hint = "this has to be a mapping", "write indented lines `key: value`"
        yield document.place(loc, key=key).error(message, hint)


def _nearest(loc: Loc, whole: type[BaseModel]) -> str:
    """Return which key of its mapping may be meant by one that is none."""
    for pattern, model in models_of(whole).items():
        if len(pattern) == len(loc) - 1 and all(
            part in ("*", step) for part, step in zip(pattern, loc, strict=False)
        ):
            return closest(str(loc[-1]), keys_of(model))
    return ""
