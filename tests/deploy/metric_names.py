"""The metrics that docs/reference/metrics-and-alerts.md documents, and those an expression uses."""

from __future__ import annotations

import re
from functools import cache

from tests.support.tree import ROOT

_PAGE = ROOT / "docs" / "reference" / "metrics-and-alerts.md"
_ROW = re.compile(
    r"^\| `(tocsin_\w+)` \| (?:public|custodian|mqtt) \| (counter|gauge|histogram) \| ([^|]*)\|",
    flags=re.MULTILINE,
)
_SERIES = {"histogram": ("_bucket", "_count", "_sum")}


@cache
def documented():
    """Return every series name of the page with its labels."""
    found = {}
    for name, kind, cell in _ROW.findall(_PAGE.read_text()):
        labels = frozenset(re.findall(r"`(\w+)`", cell))
        for suffix in _SERIES.get(kind, ("",)):
            found[name + suffix] = labels | ({"le"} if suffix == "_bucket" else frozenset())
    return found


@cache
def public():
    """Return the names that the page says anybody may see."""
    page = _PAGE.read_text()
    return frozenset(re.findall(r"^\| `(tocsin_\w+)` \| public \|", page, flags=re.MULTILINE))


def used_in(expression):
    """Return the names of our metrics in a PromQL expression."""
    return set(re.findall(r"\btocsin_\w+\b", expression))


def grouped_by(expression):
    """Return the labels that a PromQL expression groups by."""
    lists = re.findall(r"\bby \(([^)]*)\)", expression)
    return {label.strip() for one in lists for label in one.split(",")}
