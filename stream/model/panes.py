"""How queries of noisy panes are named, and that nothing else is named so.

Panes are queries that nobody wrote: their decisions and denials are published and charged as those
of alarms are, and no alarm rings by them. Their names alone say so, to whoever reads the two public
topics and has no configuration. So no alarm may have such a name.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

__all__ = ["PATTERN", "is_panes", "panes_name"]

PATTERN: Final = "panes-[0-9a-f]{8}"
"""What names of panes match, as a whole."""

_NAMED: Final = re.compile(PATTERN)


def panes_name(terms: str) -> str:
    """Return the name of panes: the same for the same terms, in every configuration.

    Args:
        terms: all that those who share them have in common, as text.
    """
    return f"panes-{blake2b(terms.encode(), digest_size=4).hexdigest()}"


def is_panes(alarm: str) -> bool:
    """Tell by its name whether a query is no alarm but the panes of some."""
    return _NAMED.fullmatch(alarm) is not None
