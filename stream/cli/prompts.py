"""What ``tocsin init`` fills a template with: options answer, then a sample, then the template."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accountant.errors import ConfigError, DataError
from stream.cli.shared import note
from stream.model.feeds import FieldType
from stream.planning.templates.answers import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.planning.templates.answers import Answers
    from stream.planning.templates.samples import Looked, Seen

__all__ = ["answered", "values_path"]

_IDENTIFIERS: Final = (FieldType.STRING, FieldType.INTEGER)
_KINDS: Final = {
    "time": (FieldType.TIMESTAMP,),
    "unit": _IDENTIFIERS,
    "group_by": _IDENTIFIERS,
    "amount": (FieldType.INTEGER, FieldType.FLOAT),
}
_PLAIN: Final = (
    *("topic", "bootstrap", "clip", "window", "slide", "timezone", "max_groups", "max_events"),
    *("epsilon", "period", "max_fnr", "false_alarms", "max_delay", "episodes", "since", "until"),
)
"""What an option answers as it is."""
_OF_PEOPLE: Final = frozenset({"max_groups", "max_events", "period"})
_ALWAYS: Final = "always"
_DAYS: Final = ("d", "w")


def answered(template: Answers, given: Mapping[str, Any], looked: Looked | None) -> Answers:
    """Return all answers.

    Args:
        template: answers what nothing else does.
        given: answers by option; ``None`` where there is none.
        looked: what a sample shows; it answers before the template does.

    Raises:
        ConfigError: an answer is missing that no template may give.
        DataError: the sample has no such field, or one of another type.
    """
    threshold = given["threshold"] or template.threshold
    window = given["window"] or template.window
    # No day lies within the hours that a template's shorter windows run in.
    active = given["active"] or (_ALWAYS if window[-1:] in _DAYS else template.active)
    baseline = given["baseline"]
    if baseline is None:
        baseline = template.baseline * threshold // template.threshold
    unused = frozenset() if template.people else _OF_PEOPLE
    names = [name.strip() for name in (given["group_by"] or "").split(",")]
    base = replace(
        template,
        threshold=threshold,
        baseline=baseline,
        active="" if active == _ALWAYS else active,
        time=_field("time", template, given["time"], looked),
        unit=_field("unit", template, given["unit"], looked),
        group_by=tuple(_field("group_by", template, name, looked) for name in names),
        **{name: given[name] for name in _PLAIN if given[name] and name not in unused},
    )
    if base.measured is Measured.AMOUNT:
        base = replace(base, amount=_field("amount", template, given["amount"], looked))
    if looked is not None:
        numbered = {name for name, seen in looked.fields.items() if seen.kind is FieldType.INTEGER}
        base = replace(
            base,
            numbered=base.unit in numbered,
            numbered_groups=tuple(name for name in base.group_by if name in numbered),
        )
    values = tuple(_values(name, template, given, looked) for name in base.group_by)
    return replace(base, values=values)


def values_path(field: str, given: Mapping[str, Any]) -> Path | None:
    """Return the file that the values of a field were given as; ``None``: as a list, or not."""
    text = _given_values(field, given)
    path = Path(text or "")
    return path if text and "," not in text and path.is_file() else None


def _field(role: str, template: Answers, given: str | None, looked: Looked | None) -> str:
    """Return the name of a field; with a sample, one that it has."""
    known: str | tuple[str, ...] = getattr(template, role)
    baseline = known if isinstance(known, str) else known[0]
    if looked is None:
        return given or baseline
    fields, kinds = looked.fields, _KINDS[role]
    wanted = " or ".join(kind.value for kind in kinds)
    fitting = [name for name, seen in fields.items() if seen.kind in kinds]
    name: str | None = given or (baseline if baseline in fitting else getattr(looked, role))
    if role == "unit" and not given and template.people and name == template.group_by[0]:
        name = None  # nobody watches a person
    if name is None:
        held = ", ".join(f"{seen.name} ({_held(seen)})" for seen in fields.values())
        raise DataError(
            f"the sample has no field that could be its {role} ({wanted})",
            hint=f"{_form(kinds)}; or write --{role} FIELD: it has {held}",
        )
    if name not in fields:
        raise DataError(
            f"the sample has no field {name!r}", hint=f"write one of: {', '.join(fields)}"
        )
    if name not in fitting:
        raise DataError(
            f"{name!r} holds {_held(fields[name])}, and its {role} is {wanted}", hint=_form(kinds)
        )
    return name


def _values(
    field: str, template: Answers, given: Mapping[str, Any], looked: Looked | None
) -> tuple[str, ...]:
    """Return the public values of a field that is watched."""
    text = _given_values(field, given)
    if text is not None:
        return _listed(text, field, given, looked)
    if given["domain_from_sample"]:
        seen = looked.fields[field].values if looked is not None else ()
        if not seen:
            raise ConfigError(
                f"the values of {field!r} are not known",
                hint="write --values A,B,... or --sample FILE",
            )
        return seen
    if looked is None and (field,) == template.group_by:
        return template.values[0]
    raise ConfigError(
        f"the public values of {field!r} are not listed",
        hint=f"write --values {field}=A,B,... or --values {field}=FILE;"
        " --domain-from-sample where everybody knows them anyway",
    )


def _given_values(field: str, given: Mapping[str, Any]) -> str | None:
    """Return what was given for a field: ``FIELD=...``, or the only one without a name."""
    for text in given["values"]:
        name, named, rest = str(text).partition("=")
        if named and name == field:
            return rest
    plain = [str(text) for text in given["values"] if "=" not in str(text)]
    return plain[0] if len(plain) == 1 else None


def _listed(
    text: str, field: str, given: Mapping[str, Any], looked: Looked | None
) -> tuple[str, ...]:
    """Return values from a text with commas, or from the lines of a file."""
    path, lines = values_path(field, given), text.split(",")
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"{path} cannot be read", hint="write one value per line") from None
    values = tuple(line.strip() for line in lines if line.strip())
    if not values:
        raise ConfigError(f"there are no values of {field!r}", hint="write --values A,B,...")
    seen = looked.fields[field].values if looked is not None else ()
    if seen and not set(seen) & set(values):
        note(f"no row of the sample has one of these values of {field}: capitals and spaces count")
    return values


def _held(seen: Seen) -> str:
    """Return what a field holds, in words."""
    return seen.form or (seen.kind.value if seen.kind else "no type that is declared")


def _form(kinds: tuple[FieldType, ...]) -> str:
    """Return how events are to be written, for a role of these types."""
    if FieldType.TIMESTAMP in kinds:
        return "times are ISO 8601 (2025-03-03T09:12:00Z) or whole milliseconds since 1970"
    return "name another field, or write the events differently"
