"""The words for what does not count and what is not decided: fixed, so that none tells of an event.

A counter that first appears with the first denial shows no increase, so whoever counts by reason
needs all of them beforehand.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DENIALS", "DROPS"]

DENIALS: Final = (
    "budget",
    "conflict",
    "incomplete",
    "not_admitted",
    "pane_gone",
    "partition_corrupt",
    "partition_missing",
    "reconfigured",
    "reference_timeout",
    "repartitioned",
    "step_missed",
    "too_old",
    "transaction_open",
)
"""Why windows are denied; ``docs/reference/outcomes.md`` says what each depends on."""

DROPS: Final = (
    "bad_time",
    "bad_value",
    "create_time",
    "early",
    "late",
    "misrouted",
    "missing_field",
    "not_finite",
    "out_of_domain",
    "too_long",
    "undecodable",
    "unmarked",
    "wrong_type",
)
"""Why events do not count; ``docs/reference/outcomes.md`` says what is wrong with each."""
