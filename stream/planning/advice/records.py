"""Advice as JSON records, for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.decisions.records import epsilon_text
from stream.planning.advice.words import family, given_up, to_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.planning.advice.advice import Advice
    from stream.planning.advice.candidates import Candidate
    from stream.planning.advice.needs import Need

__all__ = ["advice_lines"]


def advice_lines(advice: Sequence[Advice]) -> Iterator[dict[str, object]]:
    """Yield one record for every alarm that says how many false rings are borne.

    Args:
        advice: on every such alarm.
    """
    for one in advice:
        line: dict[str, object] = {
            "record": "advice",
            "alarm": one.query.id,
            "open": list(one.query.open),
            "reason": one.case if isinstance(one.case, str) else None,
            "wanted": None,
            "written": None if one.written is None else _way(one.written),
            "best": None if one.best is None else _way(one.best),
            "alternatives": [_way(each) for each in one.alternatives],
            "needs": [_change(need) for need in one.needs],
            "options": [_change(option) for option in one.options],
            "searched": None,
        }
        if not isinstance(one.case, str):
            line["wanted"] = {
                "false_rings": one.case.wanted.text,
                "max_fnr": float(one.query.aim.max_fnr),
                "max_delay_s": _seconds(one.query.max_delay_ms),
                "room": epsilon_text(one.case.room_units),
                "windows": one.case.span_windows,
            }
            line["searched"] = family(one.case)
        yield line


def _change(one: Need) -> dict[str, object]:
    return {
        "change": one.kind.value,
        "value": one.value,
        "active": one.active,
        "then": _way(one.candidate),
    }


def _way(one: Candidate) -> dict[str, object]:
    return {
        "write": to_write(one),
        "windows": one.case.windows or None,
        "windows_per_period": one.cap,
        "epsilon": epsilon_text(one.units),
        "worst": None if one.worst_units is None else epsilon_text(one.worst_units),
        "missed": one.missed,
        "false_rings": one.rings,
        "delay_s": _seconds(one.query.delay_ms),
        "gives_up": given_up(one) or None,
        "fits": one.fits,
        "keeps": one.keeps,
        "poor": list(one.poor),
    }


def _seconds(length_ms: int | None) -> float | None:
    return None if length_ms is None else length_ms / 1000
