"""What an alarm promises: tolerances and rates, from the configuration to units of the statistics.

A tolerance is one number, for alarms whose comparisons count in one unit, or a mapping from the SQL
of comparisons to numbers. Guards, which keep an aggregate of nothing from ringing,
have no room for one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.conditions.condition import Aim
from operators.conditions.levels import LevelGrid
from operators.conditions.score import quorate
from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.config.alarms.thresholds import in_steps
from stream.config.alarms.tolerances import mapping_text, room_of
from stream.config.findings import Refused
from stream.config.sql.nodes import SqlProblem
from stream.model.alarm import FirstTolerances
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from stream.config.alarms.statistics import CountedAtom, Counting
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.having import HavingReader
    from stream.config.yamlfile import Loc
    from stream.model.alarm import AggregateSpec

__all__ = ["AimReader"]

_FIRST_SHARE: Final = Fraction(3, 10)
_ADDED_UP: Final = frozenset({Weight.COUNT, Weight.DISTINCT_UNITS, Weight.SUM})


@dataclass(frozen=True, slots=True)
class AimReader:
    """Reads the aim of one alarm; errors and warnings go to ``findings``.

    Args:
        model: the alarm's keys.
        counting: what it counts and tests.
        reader: reads comparisons as its HAVING was read.
        findings: receives errors and warnings.
        open: keys that are left to be found.
    """

    model: AlarmModel
    counting: Counting
    reader: HavingReader
    findings: Findings
    open: tuple[str, ...]

    def read(self) -> tuple[Aim, FirstTolerances]:
        """Return the aim and what first phases follow from.

        Raises:
            Refused: it has an error.
        """
        given = self._amounts()
        if self.findings.errors:
            raise Refused
        first, how = _default_first(self.counting), self.model.mechanism
        tolerances = tuple(given.get(atom.name, 0) for atom in self.counting.atoms)
        aim = Aim(
            max_fnr=self.model.max_fnr,
            tolerances=tolerances,
            max_fpr=how.max_fpr,
            max_fnr_in_silence=how.max_fnr_given_no_alarm,
            promise="misses" if how.bounded_error == "fnr" else "false_alarms",
            first_tolerances=first.beside(tolerances) if self._looks_twice else (),
            put_back=how.repeat_in == "run",
            levels=None if how.levels is None else LevelGrid(**dict(how.levels)),
            questions=how.repeat or 1,
        )
        self._warn(aim)
        return aim, first

    @property
    def _looks_twice(self) -> bool:
        """Whether what decides it has a first phase."""
        return mechanism_of(self.model.mechanism.name).first_phase

    def _amounts(self) -> dict[str, int]:
        """Return what tolerances are given, by atom, in units of their statistics."""
        written = self.model.tolerance
        found: dict[str, int] = {}
        whole = written.get("") if len(written) == 1 else None
        units = {_unit_of(self.counting.spec_of(atom)) for atom in self._compared}
        if whole and len(units) > 1:
            message = "the comparisons have different units, so each needs its own tolerance"
            each = mapping_text({atom.text: whole for atom in self._compared})
            raise self.findings.wrong("tolerance", message, f"write tolerance: {each}")
        for text, value in written.items():
            at = ("tolerance", text)
            with suppress(Refused):
                for atom in self._named(text, at) if whole is None else self._compared:
                    amount = self._amount(value, atom, at)
                    found[atom.name] = min(found.get(atom.name, amount), amount)
                    self._check_room(atom, amount, at)
        return found

    @property
    def _compared(self) -> list[CountedAtom]:
        """Atoms that are more than guards."""
        return [atom for atom in self.counting.atoms if not atom.guard]

    def _named(self, text: str, at: Loc) -> list[CountedAtom]:
        """Return the atoms that a comparison makes; a comparison's negation names it, too."""
        atoms = self.counting.atoms
        known = {part.negated: atom for atom in atoms for part in atom.meant}
        known |= {part: atom for atom in atoms for part in atom.meant}
        with suppress(SqlProblem, KeyError):
            return [known[part] for part in self.reader.read_key(text)]
        shown, written = " ".join(text.split())[:60], "; ".join(atom.text for atom in atoms)
        message = f"HAVING has no comparison `{shown}`"
        raise self.findings.wrong(at, message, f"write one of: {written}", key=True)

    def _amount(self, value: Fraction, atom: CountedAtom, at: Loc) -> int:
        """Return a tolerance in units of a statistic."""
        spec = self.counting.spec_of(atom)
        summed = spec.kind in {Weight.SUM, Weight.OFFSET, Weight.LINEAR}
        of = "the resolution of the sum" if summed else ""
        if value < 0:
            hint = "write 0 or more: how far below the threshold the alarm may fire"
            raise self.findings.wrong(at, "the tolerance is negative", hint)
        with self.findings.placing(at):
            return in_steps(value, spec.per_unit, "tolerance", of)

    def _room(self, atom: CountedAtom) -> int:
        condition, spec = self.counting.condition, self.counting.spec_of(atom)
        return room_of(condition, atom.name, spec, looks_twice=self._looks_twice)

    def _check_room(self, atom: CountedAtom, tolerance: int, at: Loc) -> None:
        room, text = self._room(atom), atom.text
        if not tolerance or 2 * tolerance <= room:
            return
        unit = self.counting.spec_of(atom).per_unit
        half, lowest = decimal(max(room // 2, 0) * unit), decimal(room * unit)
        hint = "write 0" if room < 2 else f"write {half} or less"
        if tolerance > room:
            message = f"the tolerance of {text} exceeds its lowest threshold, {lowest}: the alarm"
            message += " might fire for an empty group"
            self.findings.wrong(at, message, hint)
        else:
            message = f"the alarm might fire for an empty group: twice the tolerance of {text}"
            message += f" exceeds its lowest threshold, {lowest}"
            self.findings.warn(at, message, hint)

    def _warn(self, aim: Aim) -> None:
        atoms = self.counting.atoms
        if aim.promise == "false_alarms" and aim.max_fpr is not None:
            self.findings.note(
                self.model.mechanism.at("bounded_error"),
                f"max_fpr {float(aim.max_fpr):g} holds up to the threshold; max_fnr"
                f" {float(aim.max_fnr):g} holds from twice the tolerance above it",
            )
        zero = [
            atom.text
            for atom, tolerance in zip(atoms, aim.tolerances, strict=True)
            if not (tolerance or atom.guard) and self._room(atom)
        ]
        if zero and "tolerance" not in self.open:
            self.findings.warn(
                "tolerance",
                f"tolerance 0 for {', '.join(zero)} has the highest cost",
                "write how far below the threshold the alarm may fire, as tolerance: 5",
            )
        condition = self.counting.condition
        asked = quorate(condition, aim)
        for atom in atoms:
            if atom.name not in (asked.guards | asked.extremes) & {*condition.formula.literals}:
                continue
            quorum = int(asked.atoms[atom.name].thresholds[0])
            if quorum > 1:
                self.findings.note(
                    "sql",
                    f"the alarm fires from {quorum} rows for {atom.text} only, because an empty"
                    " aggregate is NULL; max_fnr does not cover groups with fewer of these",
                )


def _unit_of(spec: AggregateSpec) -> object:
    """Return what the tolerance of a statistic is measured in: equal where it is the same."""
    match spec.kind:
        case Weight.LINEAR:
            return spec.terms, spec.resolution
        case Weight.SUM | Weight.OFFSET:
            return spec.field
        case _:  # events, or what a quantile weighs them by
            return (spec.above, spec.not_above) if spec.largest > 1 else None


def _default_first(counting: Counting) -> FirstTolerances:
    """Return what applies to a condition where nothing is written.

    A threshold tells how large counts and sums are, and nothing of the size of other statistics.
    """
    shares: list[int | None] = []
    for atom in counting.atoms:
        if atom.guard or counting.spec_of(atom).kind not in _ADDED_UP:
            shares.append(None)
        else:
            bounds = atom.test.thresholds - atom.meant[0].comparison.after  # s > c is s >= c + 1
            shares.append(int(_FIRST_SHARE * int(abs(bounds).max())))
    return FirstTolerances(tuple(shares))
