"""What takes every process of the tests long to import, and no test needs."""

from __future__ import annotations

import sys
from importlib import import_module

_RFC3987 = "rfc3987_syntax"


def import_quickly() -> None:
    """Import jsonschema without its way to check ``iri``, which builds a grammar for a second.

    No test checks it: ``test_every_format_is_checked`` fails where a schema comes to have it.
    """
    if _RFC3987 in sys.modules:
        return
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]  # None stands for: none
    modules[_RFC3987] = None
    try:
        import_module("jsonschema")
    finally:
        del modules[_RFC3987]
