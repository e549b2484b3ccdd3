"""One way to have an alarm, and what it does: cost, false alarms, misses, delay, episodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stream.config.alarms.panes import shared_anew
from stream.config.alarms.tolerances import tolerance_text
from stream.config.schema.document import duration
from stream.model.fingerprints import fingerprint
from stream.model.holds import in_runs
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.planning.solver.case import Case

__all__ = ["Candidate"]

_WINDOWS: Final = re.compile(r"(?:TUMBLE|HOP|CUMULATE)\s*\([^()]*\)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to run an alarm, and what it does.

    Args:
        case: what is asked.
        alarm: the alarm, with mechanism and aim.
        units: loss of one cell, or of a whole run, in loss units.
        false: expected false alarms in the span; ``None`` where they cannot be computed.
        missed: probability that a cell at its threshold does not fire, at most, in the last of the
            episodes that a period has to carry.
        episodes: how many a period carries with no more misses than required; ``None`` for all.
    """

    case: Case
    alarm: Alarm
    units: int
    false: float | None
    missed: float
    episodes: int | None = None

    @cached_property
    def worst_units(self) -> int | None:
        """What it costs a privacy unit in a period at worst; ``None`` without end."""
        reached = self.case.reached
        return None if reached is None else reached * self.units

    @property
    def fits(self) -> bool:
        """Whether the budget carries it beside the others."""
        return self.worst_units is not None and self.worst_units <= self.case.room_units

    @property
    def quiet(self) -> bool:
        """Whether it fires falsely no more often than is tolerated."""
        return self.false is not None and self.false <= self.case.tolerated

    @property
    def sure(self) -> bool:
        """Whether it misses no more often than required."""
        return self.missed <= float(self.case.alarm.aim.max_fnr) + 1e-12

    @property
    def adequate(self) -> bool:
        """Whether it meets every requirement, whatever it costs: delay and episodes, too."""
        most, carried = self.alarm.max_delay_ms, self.episodes
        prompt = most is None or self.alarm.delay_ms <= most
        carries = carried is None or carried >= (self.alarm.episodes or 1)
        return self.quiet and self.sure and prompt and carries

    @property
    def keeps(self) -> bool:
        """Whether it meets every requirement within the budget."""
        return self.fits and self.adequate

    @property
    def joined(self) -> Alarms:
        """The configuration with it."""
        return self.beside(self.case.standing)

    def beside(self, alarms: Alarms) -> Alarms:
        """Return a configuration with it, under the budget that it was found for."""
        budget = self.case.budget
        alarm = replace(
            self.alarm,
            fingerprint=fingerprint(self.alarm, budget),
            required_fnr=self.case.alarm.aim.max_fnr,
        )
        queries = {**alarms.by_name, alarm.id: alarm}
        return shared_anew(replace(alarms, by_name=queries, budget=budget))

    @property
    def keys(self) -> dict[str, object]:
        """The keys of the alarm that say all this, and what to write."""
        aim, case = self.alarm.aim, self.case
        own = {} if aim.max_fpr is None else {"max_fpr": decimal(aim.max_fpr)}
        if in_runs(self.alarm):
            own["max_alarms"] = str(aim.alarms)
        written: dict[str, object] = {
            "mechanism": {self.alarm.mechanism: own},
            "tolerance": tolerance_text(self.alarm, aim.tolerances),
            "max_fnr": decimal(aim.max_fnr),
        }
        if self.alarm.hold_ms != case.hold_ms:
            written["hold"] = duration(self.alarm.hold_ms)
        if case.windows:
            written["sql"] = _WINDOWS.sub(case.windows, self.alarm.sql)
        return written
