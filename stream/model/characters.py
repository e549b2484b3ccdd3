"""Characters that no public value has: some control a terminal, others are no characters at all.

Brokers of MQTT hang up on whoever sends them (MQTT 5, section 1.5.4).
"""

from __future__ import annotations

from typing import Final

__all__ = ["UNFIT"]

UNFIT: Final = r"\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF)
)
"""The inside of a character class of a regular expression."""
