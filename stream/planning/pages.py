"""How texts are written from templates: nothing may be missing; of pages everything is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["environment", "template_of"]


def template_of(room: str, name: str) -> Template:
    """Return the template of a page.

    Args:
        room: the package whose folder ``templates`` holds it.
        name: of the file.
    """
    return environment(room, escape=True).get_template(name)


def environment(room: str, *, escape: bool) -> Environment:
    """Return what templates are rendered in.

    Args:
        room: the package whose folder ``templates`` holds them.
        escape: whether everything is escaped, as in HTML.
    """
    return Environment(
        loader=PackageLoader(room),
        autoescape=escape,  # noqa: S701 -- off for YAML, where every answer goes through a filter
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
