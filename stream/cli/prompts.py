"""What ``tocsin init`` fills a template with: options answer, then the template."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from accountant.errors import ConfigError, DataError
from stream.model.feeds import FieldType
from stream.planning.templates.answers import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.planning.templates.answers import Answers
    from stream.planning.templates.samples import Seen

__all__ = ["answered", "values_in"]

_IDENTIFIERS: Final = (FieldType.STRING, FieldType.INTEGER)
_KINDS: Final = {
    "time": (FieldType.TIMESTAMP,),
    "unit": _IDENTIFIERS,
    "group_by": _IDENTIFIERS,
    "amount": (FieldType.INTEGER, FieldType.FLOAT),
}
_OF_PEOPLE: Final = frozenset({"max_groups", "max_events", "period"})
_ALWAYS: Final = "always"
_DAYS: Final = ("d", "w")


def answered(
    template: Answers, given: Mapping[str, Any], seen: Mapping[str, Seen], *, from_sample: bool
) -> Answers:
    """Return all answers.

    Args:
        template: answers what nothing else does.
        given: answers by option, which are called as they are; ``None`` where there is none.
        seen: the fields of a sample, by name; nothing without one.
        from_sample: whether its values are public.

    Raises:
        ConfigError: an answer is missing that no template may give, or values are of a field that
            is not grouped by.
        DataError: the sample has no such field, or one of another type.
    """
    unused = frozenset() if template.people else _OF_PEOPLE
    said = {name: each for name, each in given.items() if each is not None and name not in unused}
    listed, names = said.pop("values"), said.pop("group_by", "").split(",")
    roles = ["time", "unit", *(["amount"] if template.measured is Measured.AMOUNT else [])]
    base = replace(
        template,
        **said | {role: _field(role, template, given[role], seen) for role in roles},
        group_by=tuple(_field("group_by", template, name.strip(), seen) for name in names),
    )
    for name in {text.split("=")[0] for text in listed if "=" in text}.difference(base.group_by):
        raise ConfigError(f"{name!r} is not grouped by", hint=f"write --group-by {name}")
    baseline, active = base.baseline, base.active
    if "baseline" not in said:
        baseline = template.baseline * base.threshold // template.threshold
    if active == _ALWAYS or ("active" not in said and base.window.endswith(_DAYS)):
        active = ""  # no day lies within the hours that a template's shorter windows run in
    numbered = {name for name, each in seen.items() if each.kind is FieldType.INTEGER}
    return replace(
        base,
        baseline=baseline,
        active=active,
        numbered=base.unit in numbered,
        numbered_groups=tuple(name for name in base.group_by if name in numbered),
        values=tuple(
            _values(name, template, listed, seen, from_sample=from_sample) for name in base.group_by
        ),
    )


def values_in(path: Path) -> tuple[str, ...]:
    """Return the values that a file lists, one a line.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return _stripped(path.read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read", hint="write one value per line") from None


def _field(role: str, template: Answers, given: str | None, fields: Mapping[str, Seen]) -> str:
    """Return the name of a field; with a sample, one that it has."""
    known: str | tuple[str, ...] = getattr(template, role)
    name = given or (known if isinstance(known, str) else known[0])
    wanted = " or ".join(kind.value for kind in _KINDS[role])
    if fields and name not in fields:
        held = ", ".join(f"{each} ({seen.held})" for each, seen in fields.items())
        raise DataError(
            f"the sample has no field {name!r}",
            hint=f"write --{role.replace('_', '-')} FIELD ({wanted}): it has {held}",
        )
    if fields and fields[name].kind not in _KINDS[role]:
        form = "name another field, or write the events differently"
        if role == "time":
            form = "times are ISO 8601 (2025-03-03T09:12:00Z) or whole milliseconds since 1970"
        raise DataError(
            f"{name!r} holds {fields[name].held}, and its {role} is {wanted}", hint=form
        )
    return name


def _values(
    field: str,
    template: Answers,
    listed: Sequence[str],
    fields: Mapping[str, Seen],
    *,
    from_sample: bool,
) -> tuple[str, ...]:
    """Return the public values of a field that is watched.

    Args:
        field: its name.
        template: has those of its own field, which are used where there is no sample.
        listed: each ``FIELD=`` values, or values alone, which are of the only such field.
        fields: of the sample; none without one.
        from_sample: whether the sample's values are taken.
    """
    named = dict(text.split("=", 1) for text in listed if "=" in text)
    plain = [text for text in listed if "=" not in text]
    text = named.get(field, plain[0] if len(plain) == 1 else None)
    seen = fields[field].values if fields else ()
    if text is not None:
        path = Path(text)
        from_file = text and "," not in text and path.is_file()
        values = values_in(path) if from_file else _stripped(text.split(","))
        if not values:
            raise ConfigError(f"there are no values of {field!r}", hint="write --values A,B,...")
        return values
    if from_sample:
        if not seen:
            raise ConfigError(
                f"the values of {field!r} are not known",
                hint="write --values A,B,... or --sample FILE",
            )
        return seen
    if not fields and (field,) == template.group_by:
        return template.values[0]
    raise ConfigError(
        f"the public values of {field!r} are not listed",
        hint=f"write --values {field}=A,B,... or --values {field}=FILE;"
        " --domain-from-sample where everybody knows them anyway",
    )


def _stripped(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())
