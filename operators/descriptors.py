"""What the rest of the product knows of a mechanism, as data.

Whoever needs to know anything of mechanisms asks a :class:`Mechanism`, and names none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from accountant.arguments import expect, instance_of
from accountant.errors import ArgumentError, ConfigError
from operators.conditions.condition import Aim, Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from operators.base import Band, Operator, PaneOperator, Plan, RunOperator

__all__ = [
    "CONDITION_KEYS",
    "EARLY_HINT",
    "FOR_FORMULAS",
    "QUANTIFIER_HINT",
    "SEVERITY_HINT",
    "WINDOW_KEYS",
    "Maker",
    "Mechanism",
    "check_asked",
]

CONDITION_KEYS: Final = ("max_fpr", "tolerance")
"""Keys of an alarm that mechanisms of conditions read, beyond those that every alarm may have."""

WINDOW_KEYS: Final = (*CONDITION_KEYS, "bounded_error")
"""Those that mechanisms read that decide each window by itself."""

FOR_FORMULAS: Final = "write mechanism: tslm"
"""The hint where a mechanism decides one comparison and there are several."""

QUANTIFIER_HINT: Final = "write mechanism: tslm, or an alarm for each group"
"""The hint where a mechanism is asked for a quantifier over groups, and decides each by itself."""

EARLY_HINT: Final = "write mechanism: svt or tslm, or TUMBLE instead of CUMULATE"
"""The hint where a mechanism is asked for early alarms and has none."""

SEVERITY_HINT: Final = "write mechanism: tslm or panes, with TUMBLE or HOP, without bounded_error"
"""The hint where a mechanism is asked for severity levels and has none."""


def check_asked(condition: Condition, aim: Aim) -> None:
    """Refuse what is no condition, or no aim, before either is asked anything.

    Raises:
        ValueError: as expected of arguments.
    """
    expect(instance_of(Condition), condition=condition)
    expect(instance_of(Aim), aim=aim)


@dataclass(frozen=True, slots=True)
class Maker:
    """How operators are planned for conditions of one kind.

    Args:
        planned: plans one.
        priced: returns the plan of one without making what only decisions need; ``None`` where
            nothing is saved by that.

    Both raise a ``ConfigError`` for an aim that cannot be kept.
    """

    planned: Callable[[Condition, Aim], Operator]
    priced: Callable[[Condition, Aim], Plan] | None = None

    def price(self, condition: Condition, aim: Aim) -> Plan:
        """Return the plan of an operator, without making more of it than needed.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for.

        Raises:
            ConfigError: an aim that cannot be kept.
        """
        if self.priced is None:
            return self.planned(condition, aim).plan
        return self.priced(condition, aim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """All that the rest of the product knows of a mechanism.

    Args:
        name: as configurations have it.
        releases: what leaves of a window, in words.
        proof: the page of ``docs/research/proofs`` with its proof.
        decides: what it decides and how, in words; empty where no configuration may name it.
        pays: what it pays for, in words.
        keys: the keys of an alarm that it reads, beyond those that every alarm may have.
        needs: those among them that have to be written.
        refuses: keys that it has its own reason not to read: what is wrong, and a hint.
        conditions: makes operators for conditions of any comparisons; over panes, of one.
        bands: for bands; a mechanism with this takes nothing else. Priced as the aim says.
        run: where windows share a run, makes the operator that goes on with one. As ``panes`` and
            ``early``, it prices what it makes for the budget that the aim names.
        sketch: the same by floats, with terms that are right but for rounding: to search with.
        panes: where windows are decided from shared noisy panes, makes the operator that releases
            these and decides from them; what an alarm loses is then the loss of its panes alone.
        early: makes what looks at windows while they fill (``operators.single.looks``); ``None``
            where it cannot.
        severities: makes operators of alarms with severity levels, for every promise; ``None``
            where it has none.
        gaussian: makes operators whose own law is Gaussian; ``None`` where there are none.
        converted: makes those that a Gaussian budget pays instead: pure ones, at the price of
            their worst case; ``None`` where there are none.
        first_phase: whether it looks twice, first with wider tolerances.
        promised: whether it keeps ``max_fnr``; what does not is for experiments, and never for a
            configuration.
        definition: what its decisions depend on beyond condition and aim, for the fingerprint:
            mappings, lists, words and whole numbers only.
        quantifies: whether it decides quantifiers over groups, by the score of many cells.
        collective: whether all cells of a window together choose what is read of each.
        colours: of its lines in plots, on a light and on a dark page.
    """

    name: str
    releases: str
    proof: str = ""
    decides: str = ""
    pays: str = ""
    keys: tuple[str, ...] = WINDOW_KEYS
    needs: tuple[str, ...] = ()
    refuses: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    conditions: Maker | None = None
    bands: Callable[[Condition, Aim, Band], Operator] | None = None
    run: Callable[[Condition, Aim], RunOperator] | None = None
    sketch: Callable[[Condition, Aim], RunOperator] | None = None
    panes: Callable[[Condition, Aim], PaneOperator] | None = None
    early: Maker | None = None
    severities: Maker | None = None
    gaussian: Maker | None = None
    converted: Maker | None = None
    first_phase: bool = False
    promised: bool = True
    definition: Callable[[Condition, Aim], Mapping[str, object]] = lambda _condition, _aim: {}
    quantifies: bool = False
    collective: bool = False
    colours: tuple[str, str] = ("#6b7280", "#a3abb8")

    @property
    def by_window(self) -> bool:
        """Whether it decides conditions, each window for itself."""
        return self.run is None and self.bands is None and self.panes is None

    def operator(self, condition: Condition, aim: Aim, band: Band | None = None) -> Operator:
        """Plan the operator of one query.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for.
            band: what is watched instead, by a mechanism of bands.

        Raises:
            ConfigError: a condition it does not take, or an aim it cannot keep.
            ValueError: not one tolerance per atom.
        """
        check_asked(condition, aim)
        self.check(condition, aim)
        if self.bands is not None and band is not None:
            return self.bands(condition, aim, band)
        return self._maker(condition, aim).planned(condition, aim)

    def price(self, condition: Condition, aim: Aim, band: Band | None = None) -> Plan:
        """Return the plan of :meth:`operator`, without making what only decisions need.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for.
            band: what is watched instead; its loss is written down, and no aim moves it.

        Raises:
            ConfigError: as :meth:`operator`.
            ValueError: as :meth:`operator`.
        """
        check_asked(condition, aim)
        self.check(condition, aim)
        if self.bands is not None:
            return self.operator(condition, aim, band).plan
        return self._maker(condition, aim).price(condition, aim)

    def check(self, condition: Condition, aim: Aim) -> None:
        """Refuse a condition that counts groups, or windows of several looks, if it takes none.

        Raises:
            ConfigError: it does not take what is asked.
        """
        if condition.members > 1 and not self.quantifies:
            message = f"mechanism {self.name} cannot count groups"
            raise ConfigError(message, hint=QUANTIFIER_HINT)
        if aim.looks > 1 and self.early is None:
            message = f"mechanism {self.name} cannot decide the steps of CUMULATE"
            raise ConfigError(message, hint=EARLY_HINT)

    def _maker(self, condition: Condition, aim: Aim) -> Maker:
        if len(aim.tolerances) != len(condition.formula.atoms):
            raise ArgumentError("an aim has one tolerance for each atom of the formula")
        if aim.severities:
            if self.severities is None or aim.looks > 1 or aim.promise != "misses":
                raise ConfigError(
                    f"mechanism {self.name} has no severity levels here", hint=SEVERITY_HINT
                )
            return self.severities
        if aim.looks > 1 and self.early is not None:
            return self.early
        if self.conditions is None:
            raise ConfigError(
                f"mechanism {self.name} needs a band around REFERENCE", hint=FOR_FORMULAS
            )
        if not aim.gaussian:
            return self.conditions
        paid = self.gaussian or self.converted
        if paid is None:
            raise ConfigError(
                f"mechanism {self.name} does not support privacy: gdp here",
                hint="write mechanism: tslm, or privacy: pure",
            )
        return paid
