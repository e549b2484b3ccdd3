"""Templates of labels and annotations: ``{field}``, and nothing else.

No expression, no format, no attribute: what a template can say is what its fields say. ``{{`` and
``}}`` stand for braces.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["FIELDS", "LABEL_FIELDS", "problem", "render"]

LABEL_FIELDS: Final = ("alarm",)
"""What labels may say beside the group: it is the same as long as an alarm fires."""

FIELDS: Final = (
    *LABEL_FIELDS,
    "status",
    "since",
    "window_start",
    "window_end",
    "alarm_id",
    "ledger",
    "sequence",
)
"""What annotations may say beside the group."""

_HINT: Final = "write {name} with a known name, and {{ or }} for a brace"


def problem(template: str, known: Iterable[str] | None) -> tuple[str, str] | None:
    """Return what is wrong with a template and what to write instead; ``None`` for a good one.

    Args:
        template: as written.
        known: names of the fields it may have; ``None`` where they are not known yet.
    """
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        return "a brace stands alone in this template", _HINT
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if form or conversion or not name:
            return "a template has plain fields: no format, no conversion", _HINT
        if known is not None and name not in (names := list(known)):
            return f"`{{{name[:40]}}}` is not a field here", f"write one of: {', '.join(names)}"
    return None


def render(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its fields put in; one that is not known stays as it is written.

    Args:
        template: one that :func:`problem` says nothing of.
        fields: by name.
    """
    # A name is looked up whole: str.format would read dots, brackets and digits in it.
    return "".join(
        text + ("" if name is None else fields.get(name, f"{{{name}}}"))
        for text, name, _, _ in Formatter().parse(template)
    )
