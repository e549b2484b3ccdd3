"""From the tree of a YAML file to a model: pydantic's errors as ours, at their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from stream.config.closed import keys_of, models_of
from stream.config.findings import Findings
from stream.config.keys import EXAMPLES
from stream.config.moved import of_place
from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        found = _Errors(document, error.errors(), models_of(whole), examples)
        findings.errors.extend(found.explained())
        return None, findings


@dataclass(frozen=True)
class _Errors:
    """What pydantic says of a file."""

    document: Document
    details: list[Any]
    models: Mapping[tuple[str, ...], type[BaseModel]]
    examples: Mapping[str, str]

    def explained(self) -> list[ConfigError]:
        """Return its errors as ours."""
        return [self._explained(each) for each in self.details if not self._misspelt(each)]

    def _explained(self, detail: Any) -> ConfigError:
        """Return one error at its place in the file."""
        loc: Loc = detail["loc"]
        key = loc[-1:] == ("[key]",)
        loc = loc[:-1] if key else loc
        name = str(loc[-1]) if loc else ""
        match detail["type"]:
            case "tocsin":
                message, hint = detail["ctx"]["message"], detail["ctx"]["hint"]
            case "missing":
                message = f"`{name}` is missing"
                hint = f"write {self.examples.get(name, f'{name}: ...')}"
            case "extra_forbidden" if (said := of_place(loc)) is not None:
                (message, hint), key = said, loc[2:3] != ("mechanism",)
            case "extra_forbidden":
                message, hint, key = f"`{name}` is not a key here", self._nearest(loc), True
            case "list_type":
                message, hint = "a list belongs here", "begin each part with `- `"
            case _:
                message, hint = "a mapping belongs here", "write `key: value` lines, indented"
        return self.document.place(loc, key=key).error(message, hint)

    def _misspelt(self, detail: Any) -> bool:
        """Tell whether a key is missing only because it is there under a misspelt name."""
        loc = detail["loc"]
        return detail["type"] == "missing" and any(
            other["type"] == "extra_forbidden"
            and other["loc"][:-1] == loc[:-1]
            and f"`{loc[-1]}`" in self._nearest(other["loc"])
            for other in self.details
        )

    def _nearest(self, loc: Loc) -> str:
        """Return which key of its mapping may be meant by one that is none."""
        for pattern, model in self.models.items():
            if len(pattern) == len(loc) - 1 and all(
                part in ("*", step) for part, step in zip(pattern, loc, strict=False)
            ):
                return closest(str(loc[-1]), keys_of(model))
        return ""
