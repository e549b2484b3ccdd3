"""The questions of ``tocsin init``: an option answers, or whoever sits there, or the template."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from accountant.errors import BudgetError, ConfigError, DataError
from stream.cli.shared import complain
from stream.model.feeds import FieldType
from stream.planning.drafts.answers import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream.planning.drafts.answers import Answers
    from stream.planning.drafts.draft import Draft
    from stream.planning.drafts.looking import Looked, Seen

__all__ = ["Asking"]

_IDENTIFIERS: Final = (FieldType.STRING, FieldType.INTEGER)
_NUMBERS: Final = (FieldType.INTEGER, FieldType.FLOAT)
_ALWAYS: Final = "always"
_DAYS: Final = ("d", "w")
_SHOWN: Final = 8


class Asking:
    """One round of questions.

    Args:
        template: answers what nobody says.
        given: answers by option; ``None`` where there is none.
        looked: what a sample shows; it answers before the template does.
        silent: ask nobody.

    Attributes:
        values_files: the files that values were read from, by field.
    """

    def __init__(
        self,
        template: Answers,
        given: Mapping[str, Any],
        looked: Looked | None,
        *,
        silent: bool,
    ) -> None:
        self._template = template
        self._given = given
        self._looked = looked
        self._silent = silent
        self.values_files: dict[str, Path] = {}

    def answers(self) -> Answers:
        """Return all answers.

        Raises:
            ConfigError: an answer is missing that no template may give.
            DataError: the sample has no such field, or one of another type.
        """
        base = self._template
        amount = base.measured is Measured.AMOUNT
        base = replace(
            base,
            topic=self._ask("topic", "On which Kafka topic are the events", base.topic),
            bootstrap=self._ask("bootstrap", "Where is Kafka", base.bootstrap),
            time=self._field("time", "Which field holds the time", (FieldType.TIMESTAMP,)),
            unit=self._field(
                "unit",
                f"Which field holds the {base.unit}'s id",
                _IDENTIFIERS,
            ),
            group_by=self._group_by(),
        )
        if amount:
            base = replace(
                base,
                amount=self._field("amount", "Which field is added up", _NUMBERS),
                clip=self._ask("clip", "What does one amount count at most", base.clip),
            )
        if self._looked is not None:
            base = replace(
                base,
                codec=self._looked.codec,
                numbered=self._looked.fields[base.unit].kind is FieldType.INTEGER,
                numbered_groups=tuple(
                    name
                    for name in base.group_by
                    if self._looked.fields[name].kind is FieldType.INTEGER
                ),
            )
        base = replace(base, values=tuple(self._values(name) for name in base.group_by))
        return self._figures(base)

    def fitting(self, answers: Answers, drafted: Callable[[Answers], Draft]) -> Draft:
        """Return the draft of the answers; ask again for what the budget does not carry.

        Args:
            answers: as they were given.
            drafted: makes a draft of them.

        Raises:
            BudgetError: it does not carry them, and nobody is asked.
            ConfigError: the answers make no configuration.
        """
        while True:
            try:
                return drafted(answers)
            except BudgetError as error:
                if self._silent:
                    raise
                complain(error)
                answers = replace(
                    answers,
                    epsilon=self._prompt("How much epsilon", answers.epsilon),
                    threshold=self._prompt("Fire for more than", answers.threshold),
                    baseline=self._prompt("What is the baseline", answers.baseline),
                    window=self._prompt("Within windows of", answers.window),
                )

    def _figures(self, base: Answers) -> Answers:
        """Return the answers with thresholds, windows, caps and budget."""
        threshold = self._ask("threshold", "Fire for more than", base.threshold)
        usual = base.baseline * threshold // base.threshold
        window, groups = self._ask("window", "Within windows of", base.window), base.group_by
        usual = self._ask("baseline", f"What is usual there, on a full {groups[0]}", usual)
        # No day lies within the hours that a template's shorter windows run in.
        always = window[-1:] in _DAYS or not base.active
        active = self._ask("active", "When does it run", _ALWAYS if always else base.active)
        given = {
            name: self._given[name]
            for name in ("since", "until", "max_fnr", "false_alarms", "max_delay", "episodes")
            if self._given[name]
        }
        base = replace(
            base,
            threshold=threshold,
            baseline=usual,
            window=window,
            slide=self._given["slide"] or base.slide,
            active="" if active == _ALWAYS else active,
            timezone=self._ask("timezone", "In which time zone", base.timezone),
            **given,
        )
        if not base.people:
            return replace(
                base, epsilon=self._ask("epsilon", "How much epsilon for one event", base.epsilon)
            )
        base = replace(
            base,
            max_groups=self._ask(
                "max_groups",
                f"In how many groups of {', '.join(groups)} does one {base.whom} count in a window",
                base.max_groups,
            ),
            period=self._ask("period", f"A {base.whom}'s budget is renewed every", base.period),
        )
        if base.measured is not Measured.PEOPLE:
            asked = f"How many events of one {base.whom} count in each group and window"
            base = replace(base, max_events=self._ask("max_events", asked, base.max_events))
        return replace(
            base, epsilon=self._ask("epsilon", f"How much epsilon in {base.period}", base.epsilon)
        )

    def _group_by(self) -> tuple[str, ...]:
        """Return the fields whose values are watched."""
        given = self._given["group_by"]
        names = given.split(",") if given else [None]
        question = "Which field are groups made by"
        return tuple(
            self._field("group_by", question, _IDENTIFIERS, name and name.strip()) for name in names
        )

    def _field(
        self, role: str, question: str, kinds: tuple[FieldType, ...], given: str | None = None
    ) -> str:
        """Return the name of a field; with a sample, one that it has."""
        template: Any = getattr(self._template, role)
        usual: str = template if isinstance(template, str) else template[0]
        given = given or (self._given[role] if role != "group_by" else None)
        if self._looked is None:
            return given or str(self._ask(role, question, usual))
        fields = self._looked.fields
        fitting = [name for name, seen in fields.items() if seen.kind in kinds]
        likely = usual if usual in fitting else getattr(self._looked, role)
        if role == "unit" and self._template.people and (likely == self._template.group_by[0]):
            likely = None  # nobody watches a person
        wanted = " or ".join(kind.value for kind in kinds)
        if likely is None and given is None and self._silent:
            held = ", ".join(f"{seen.name} ({_held(seen)})" for seen in fields.values())
            raise DataError(
                f"the sample has no field that could be its {role} ({wanted})",
                hint=f"{_form(kinds)}; it has {held}; or say which: --{role} FIELD",
            )
        name = given or str(self._ask(role, question, likely))
        if name not in fields:
            raise DataError(f"the sample has no field {name!r}", hint=f"it has {', '.join(fields)}")
        if name not in fitting:
            raise DataError(
                f"{name!r} holds {_held(fields[name])}, and its {role} is {wanted}",
                hint=_form(kinds),
            )
        return name

    def _values(self, field: str) -> tuple[str, ...]:
        """Return the public values of a field that is watched."""
        given = self._given_values(field)
        if given is not None:
            return self._listed(given, field)
        seen = self._looked.fields[field].values if self._looked is not None else ()
        if self._given["domain_from_sample"]:
            if not seen:
                raise ConfigError(
                    f"there is no sample with few values of {field!r}",
                    hint="name a --sample, or write --values A,B,...",
                )
            if self._silent or self._public(field, seen):
                return seen
        elif not self._silent and seen and self._public(field, seen):
            return seen
        known = self._looked is None and (field,) == self._template.group_by
        usual = self._template.values[0] if known else ()
        if self._silent:
            if usual:
                return usual
            raise ConfigError(
                f"the values of {field!r} are public, and are not listed",
                hint=f"write --values {field}=A,B,... or --values {field}=FILE;"
                " --domain-from-sample where everybody knows them anyway",
            )
        asked = f"Which values of {field} are there (commas between them, or a file)"
        return self._listed(self._prompt(asked, ",".join(usual) or None), field)

    def _given_values(self, field: str) -> str | None:
        """Return what was given for a field: ``FIELD=...``, or the only one without a name."""
        for text in self._given["values"]:
            name, named, rest = str(text).partition("=")
            if named and name == field:
                return rest
        plain = [str(text) for text in self._given["values"] if "=" not in str(text)]
        return plain[0] if len(plain) == 1 else None

    def _public(self, field: str, seen: tuple[str, ...]) -> bool:
        """Ask whether the values of a sample are public knowledge."""
        some = ", ".join(seen[:_SHOWN]) + (", ..." if len(seen) > _SHOWN else "")
        return click.confirm(
            f"The sample has {len(seen)} values of {field}: {some}. They would be published. Does"
            " everybody know them anyway, whoever was there",
            default=False,
            err=True,
        )

    def _listed(self, text: str, field: str) -> tuple[str, ...]:
        """Return values from a text with commas, or from the lines of a file."""
        path = Path(text)
        if "," not in text and path.is_file():
            self.values_files[field] = path
            try:
                lines = path.read_text(encoding="utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError):
                raise ConfigError(f"{path} cannot be read", hint="one value a line") from None
            values = tuple(line.strip() for line in lines if line.strip())
        else:
            values = tuple(each.strip() for each in text.split(",") if each.strip())
        if not values:
            raise ConfigError(f"there are no values of {field!r}", hint="write --values A,B,...")
        seen = self._looked.fields[field].values if self._looked is not None else ()
        if seen and not set(seen) & set(values):
            click.echo(
                f"note: no row of the sample has one of these values of {field}: capitals and"
                " spaces count",
                err=True,
            )
        return values

    def _ask(self, name: str, question: str, usual: Any) -> Any:
        given = self._given[name]
        if given is not None or self._silent:
            return usual if given is None else given
        return self._prompt(question, usual)

    def _prompt(self, question: str, usual: Any) -> Any:
        try:
            return click.prompt(question, default=usual, type=type(usual or ""), err=True)
        except click.Abort:
            if sys.stdin.isatty():
                raise
            raise ConfigError(
                f"nobody answers: {question}?", hint="add --yes, or the answers as options"
            ) from None


def _held(seen: Seen) -> str:
    """Return what a field holds, in words."""
    return seen.form or (seen.kind.value if seen.kind else "no type that is declared")


def _form(kinds: tuple[FieldType, ...]) -> str:
    """Return how events are to be written, for a role of these types."""
    if FieldType.TIMESTAMP in kinds:
        return "times are ISO 8601 (2025-03-03T09:12:00Z) or whole milliseconds since 1970"
    return "name another field, or write the events differently"
