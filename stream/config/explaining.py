"""From the tree of a YAML file to a model: pydantic's errors as ours, at their places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from stream.config.closed import Closed, keys_of
from stream.config.findings import Refused
from stream.config.keys import EXAMPLES
from stream.config.moved import of_place
from stream.config.scalars import closest, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.errors import ConfigError
    from stream.config.findings import Findings

__all__ = ["read_as"]

M = TypeVar("M", bound=Closed)

_WORDS: Final = re.compile("'([^']*)'")
"""Words that pydantic expects, as it lists them."""
_SAID: Final = {
    "missing": ("`{}` is missing", "write {}: ..."),
    "list_type": ("this has to be a list", "begin each item with `- `"),
    "too_short": ("`{}` has too few values", "write more"),
    "too_long": ("`{}` has too many values", "write fewer"),
}
_MAPPING: Final = ("this has to be a mapping", "write indented lines `key: value`")


def read_as(findings: Findings, whole: type[M], examples: Mapping[str, str] = EXAMPLES) -> M:
    """Return what a file says.

    Args:
        findings: of the file; receive what is wrong with it.
        whole: the model of all of it.
        examples: how a key is written that is missing or has another form.

    Raises:
        Refused: something is.
    """
    document = findings.document
    findings.errors.extend(document.errors)
    if findings.errors:
        raise Refused
    try:
        return whole.model_validate(document.tree, context=findings)
    except ValidationError as error:
        findings.errors.extend(_explained(findings, error.errors(), examples))
        raise Refused from None


def _explained(
    findings: Findings, details: list[Any], examples: Mapping[str, str]
) -> Iterator[ConfigError]:
    """Yield what pydantic says of a file as our errors, each at its place."""
    document, models = findings.document, findings.models
    near = {
        loc: closest(str(loc[-1]), keys_of(models[id(document.places[loc[:-1]].tree)]))
        for loc in (detail["loc"] for detail in details if detail["type"] == "extra_forbidden")
    }
    for detail in details:
        kind, context, loc = detail["type"], detail.get("ctx", {}), detail["loc"]
        key = loc in near or loc[-1:] == ("[key]",)
        loc = loc[:-1] if loc[-1:] == ("[key]",) else loc
        name = str(loc[-1]) if loc else ""
        match kind:
            case "tocsin":
                message, hint = context["message"], context["hint"]
            case "extra_forbidden":
                message, hint = of_place(loc) or (f"unknown key `{name}`", near[loc])
            case "enum" | "literal_error":
                message, hint = _no_word(detail["input"], _WORDS.findall(context["expected"]))
            case _:
                # What is missing may be there under a misspelt name, which has an error of its own.
                meant = (said for at, said in near.items() if at[:-1] == loc[:-1])
                if kind == "missing" and any(f"`{name}`" in said for said in meant):
                    continue
                message, hint = (text.format(name) for text in _SAID.get(kind, _MAPPING))
                hint = f"write {examples[name]}" if name in examples else hint
        yield document.place(loc, key=key).error(message, hint)


def _no_word(value: Any, known: list[str]) -> tuple[str, str]:
    """Return what is wrong with a value that is none of some words, and a hint."""
    if not isinstance(value, str):
        return "a list or a mapping instead of a single value", "write one value"
    message = f"{shown(value)} is not valid here" if value else "the value is empty"
    listed = f"write one of: {', '.join(known)}"
    near = closest(value, known, listed)
    return message, listed if near == listed else f"{near} ({listed})"
