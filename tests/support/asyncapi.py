"""Where references of the AsyncAPI file lead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def resolved(document: dict[str, Any], node: Any, folder: Path) -> Any:
    """Return a part of a document with what its references lead to in their place.

    Args:
        document: all of it.
        node: the part.
        folder: of the document.

    Raises:
        KeyError: a reference leads nowhere in the document.
        OSError: a reference names no file.
    """
    if isinstance(node, list):
        return [resolved(document, each, folder) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node:
        return {name: resolved(document, each, folder) for name, each in node.items()}
    place: str = node["$ref"]
    if not place.startswith("#"):
        return json.loads((folder / place).read_text())
    found: Any = document
    for name in place.removeprefix("#/").split("/"):
        found = found[name]
    return resolved(document, found, folder)
