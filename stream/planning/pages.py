"""How pages are written from templates: everything is escaped, nothing may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["template_of"]


def template_of(room: str, name: str) -> Template:
    """Return a template.

    Args:
        room: the package whose folder ``templates`` holds it.
        name: of the file.
    """
    pages = Environment(
        loader=PackageLoader(room),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return pages.get_template(name)
