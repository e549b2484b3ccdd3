"""Command lines: wrong commands, options, numbers, files and names."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.badinputs.shapes import Call

__all__ = ["WORDS"]

WORDS: tuple[Call, ...] = tuple(
    Call(words, phrase)
    for calls in json.loads(Path(__file__).with_name("words.json").read_text()).values()
    for words, phrase in calls
)
"""What was called, and what it is answered; ``words.json`` has them by the commands they are of."""
