"""The Python API from its docstrings, for the site: ``python -m deploy.site`` asks for its pages.

One page per package that exports names, one section per name of its ``__all__``: the call, what the
docstring says, and the same of every public method. The pages are made with the site.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import enum
import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PACKAGES: Final = (
    "tocsin.operators",
    "tocsin.operators.deciders",
    "tocsin.operators.panes",
    "tocsin.operators.svt",
    "tocsin.accountant",
    "tocsin.accountant.errors",
    "tocsin.accountant.loss.tradeoff",
)
_HEAD: Final = """\
# `{name}`

{said}

Written from the docstrings; [use as a library](../../how-to/use-as-a-library.md) has examples.
"""


def page(name: str) -> str:
    """Return the page of a package, by its dotted name."""
    package = importlib.import_module(name)
    parts = [_HEAD.format(name=name, said=_text(package))]
    parts += [part for each in package.__all__ for part in _section(package, each)]
    return "\n".join(parts)


def _section(package: ModuleType, name: str) -> Iterator[str]:
    found = getattr(package, name)
    yield f"## `{name}`\n"
    if not callable(found):
        yield f"A constant: {type(found).__name__}.\n"
    elif inspect.isclass(found):
        yield from _class(name, found)
    else:
        yield _block(f"{name}{_call(found)}", _text(found))


def _class(name: str, found: type) -> Iterator[str]:
    if issubclass(found, enum.Enum):
        words = ", ".join(f"{name}.{each.name}" for each in found)
        yield _block(words, _text(found))
        return
    plain = getattr(found, "_is_protocol", False) or issubclass(found, Exception)
    yield _block(name if plain else f"{name}{_call(found)}", _text(found))
    for member, value in vars(found).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            yield _block(f"{name}.{member}", _text(value))
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            bound = getattr(found, member)
            yield _block(f"{name}.{member}{_call(bound)}", _text(bound))


def _block(call: str, said: str) -> str:
    return f"```text\n{call}\n\n{said}\n```\n"


def _call(found: Any) -> str:
    """Return the arguments of a call, as every supported Python writes them."""
    text = str(inspect.signature(found))
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text)
    text = re.sub(r"""(: |-> )(['"])(.*?)\2""", r"\1\3", text)
    return text.replace("(self, ", "(").replace("(self)", "()")


def _text(found: object) -> str:
    return inspect.getdoc(found) or ""
