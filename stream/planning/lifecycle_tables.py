"""What lifecycles do to an alarm: as a table for a person, and as JSON lines for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from stream.planning.fitting import Fitting
from stream.planning.ringing_tables import rate_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from stream.model.lifecycles import Lifecycle
    from stream.planning.lifecycles import Steadied

__all__ = ["lifecycle_lines", "lifecycle_tables"]


def lifecycle_tables(found: Sequence[Steadied]) -> list[RenderableType]:
    """Return what lifecycles do; nothing where every ring fires.

    Args:
        found: of the alarms that have one.
    """
    if not found:
        return []
    table = Fitting.of(
        "what lifecycles do to errors, for nothing",
        ("alarm", "fires\nafter", "resolved\nafter"),
        ("misses", "ends\nearly", "false", "false\na week"),
        map(_row, found),
        "of one window, to: within as many as are looked at (misses: of a condition that lasts as"
        " long); ends early: so many misses in a row",
    )
    shown: list[RenderableType] = [table]
    turned = [one.query for one in found if one.promise != "misses"]
    if turned:
        said = "false alarms are promised up to the threshold, so misses are of conditions that"
        shown.append(Text(f"{', '.join(turned)}: {said} hold with twice the tolerance to spare"))
    bound = [one.query for one in found if not one.independent]
    if bound:
        names = ", ".join(bound)
        said = "windows share noise, so these are bounds that hold however they depend on another"
        shown.append(Text(f"{names}: {said}"))
    return shown


def lifecycle_lines(found: Sequence[Steadied]) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object an alarm.

    Args:
        found: of the alarms that have one.
    """
    for one in found:
        yield {
            "record": "lifecycle",
            "alarm": one.query,
            "needed": one.terms.needed,
            "among": one.terms.among,
            "resolve_after": one.terms.resolve_after,
            "independent": one.independent,
            "promise": one.promise,
            "miss": {"window": one.miss, "lasting": one.missed, "ends_early": one.cut},
            "false": {"window": one.false, "within": one.fired, "usual": one.usual},
            "week": None
            if one.fired_week is None
            else {"rings": one.rings_week, "fires": one.fired_week},
        }


def _row(one: Steadied) -> Sequence[str]:
    weekly = ""
    if one.rings_week is not None and one.fired_week is not None:
        weekly = f"{rate_text(one.rings_week)}\nto {rate_text(one.fired_week)}"
    return (
        one.query,
        _rule(one.terms),
        f"{one.terms.resolve_after} silent",
        f"{one.miss:.3g}\nto {one.missed:.3g}",
        f"{one.cut:.3g}",
        "" if one.false is None else f"{one.false:.3g}\nto {one.fired:.3g}",
        weekly,
    )


def _rule(terms: Lifecycle) -> str:
    if terms.needed == terms.among:
        return "1 ring" if terms.needed == 1 else f"{terms.needed} in a row"
    return f"{terms.needed} of {terms.among}"
