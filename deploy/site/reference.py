"""What pages say of commands, keys, metrics, alerts and mechanisms, written from the code.

It stands between two marks: the help of each command, the description of each key, the help text of
each metric, the summary of each alert, the descriptor of each mechanism.
``python -m deploy.site.reference --write`` writes it; without ``--write`` the pages are named that
are not what the code says.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import yaml

from deploy.site.mappings import models_of
from operators.registry import ALL, OFFERED
from stream.cli.main import Later, main
from stream.config.keys import FileModel
from stream.config.loading import load
from stream.config.mqtt.reading import MqttSourceModel
from stream.config.schema.document import _Schema
from stream.decisions.mechanisms import plans_of
from stream.kafka.mqtt.page import MqttMetrics
from stream.metrics.registries import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client import CollectorRegistry

    from operators.descriptors import Mechanism

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "docs"
WIDTH: Final = 100
"""Columns of a command's help."""


ONCE: Final = {("ppwlm", "levels"), ("decider", "bound"), ("decider", "reference")}
"""Mappings below a mechanism: of several that are the same, the first."""


class UndescribedError(Exception):
    """A key, a metric or an option says nothing of itself."""


def commands() -> Iterator[str]:
    """Yield the help of every command, without the option that shows it."""
    root = click.Context(main, info_name="tocsin", max_content_width=WIDTH, terminal_width=WIDTH)
    for name in main.list_commands(root):
        yield from _command(main.commands[name], f"tocsin {name}", root)


def _command(
    found: click.Command, name: str, parent: click.Context, level: int = 2
) -> Iterator[str]:
    command = found.command if isinstance(found, Later) else found
    usage = name.replace("ledger", "ledger FILE") if parent.parent else name
    context = click.Context(
        command,
        info_name=name,
        max_content_width=WIDTH,
        terminal_width=WIDTH,
        help_option_names=[],
    )
    for one in command.params:
        if isinstance(one, click.Option) and not one.help and one.name != "runs":
            raise UndescribedError(f"{name} {one.opts[0]}")
    pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    lines = command.get_help(context).split("\n")[2:]
    text = "\n".join(line.removeprefix("  ") for line in lines).strip()
    yield f"{'#' * level} `{' '.join([usage, *pieces])}`\n\n```text\n{text}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inside = click.Context(main, parent=parent)
            yield from _command(command.commands[each], f"{name} {each}", inside, level + 1)


def keys(model: type[Any], place: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a table of keys for every mapping that a model reads.

    Args:
        model: of the outermost mapping.
        place: where that is in the file.

    Raises:
        UndescribedError: a key has no description.
    """
    mechanisms: dict[str, list[str]] = {}
    for at, one in models_of(model).items():
        rows = dict(_rows(one, (*place, *at)))
        if at[:3] == ("alarms", "*", "mechanism"):
            for row in rows.values() if len(at) == 4 else ():
                mechanisms.setdefault(row, []).append(at[3])
            if at[3:] not in ONCE:
                continue
        name = " of ".join(f"`{word}`" for word in reversed([*place, *at]) if word != "*")
        title = name.replace(" of `ppwlm`", "") or "Top level"
        yield f"### {title}\n\n| key | default | meaning |\n|---|---|---|"
        yield from rows.values()
        yield ""
    if mechanisms:
        yield "### Below the name of a mechanism\n"
        yield "| key | default | meaning | of |\n|---|---|---|---|"
        for row, names in mechanisms.items():
            yield f"{row} {', '.join(f'`{name}`' for name in names)} |"
        yield ""


def _rows(model: type[Any], place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    found = model.model_json_schema(schema_generator=_Schema)
    shape = found["$defs"][model.__name__] if "$ref" in found else found
    shape = next((one for one in shape.get("anyOf", ()) if "properties" in one), shape)
    for key, value in shape["properties"].items():
        said = value.get("description", "")
        if not said:
            raise UndescribedError(".".join((*place, key)))
        default = f"`{value['default']}`" if "default" in value else "none"
        if key in shape.get("required", ()):
            default = "required"
        words = _words(value | found.get("$defs", {}).get(value.get("$ref", "")[8:], {}))
        said += f" ({', '.join(f'`{word}`' for word in words)})" if words else ""
        yield key, f"| `{key}` | {default} | {said.replace('|', chr(92) + '|')} |"


def _words(shape: dict[str, Any]) -> list[str]:
    """Return the words of which a value is one."""
    for one in (shape, *shape.get("anyOf", ())):
        if "enum" in one:
            return sorted({str(word).lower(): str(word) for word in one["enum"]}.values())
    return []


def configuration() -> Iterator[str]:
    """Yield the tables of a whole file."""
    yield from keys(FileModel)


def mqtt() -> Iterator[str]:
    """Yield the tables of the section of ``tocsin mqtt``."""
    yield from keys(MqttSourceModel, ("mqtt",))


def metrics() -> Iterator[str]:
    """Yield a row for every metric.

    Raises:
        UndescribedError: a metric has no help text.
    """
    yield "| Metric | Seen by | Type | Labels | Meaning |\n|---|---|---|---|---|"
    alarms = load(ROOT / "examples/office/alarms.yaml", environ={})
    released = {name: replace(one, releases_counts=True) for name, one in alarms.by_name.items()}
    held = Metrics(replace(alarms, by_name=released), plans_of(alarms))
    for seen_by, registry in (
        ("public", held.public),
        ("custodian", held.custodian),
        ("mqtt", MqttMetrics([]).registry),
    ):
        for name, kind, labels, said in _families(registry):
            if not said:
                raise UndescribedError(name)
            shown = ", ".join(f"`{label}`" for label in labels)
            yield f"| `{name}` | {seen_by} | {kind} | {shown} | {said} |"


def _families(registry: CollectorRegistry) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    for metric in registry._collector_to_names:  # noqa: SLF001  # no public way to all of them
        # A collector of ours makes families; a metric of the library's is one.
        for family in [metric] if hasattr(metric, "_type") else list(metric.collect()):
            one: Any = family
            kind = getattr(one, "_type", None) or one.type
            name = getattr(one, "_name", None) or one.name
            said = getattr(one, "_documentation", None) or one.documentation
            suffix = "_total" if kind == "counter" else ""
            yield name + suffix, kind, tuple(one._labelnames), said  # noqa: SLF001  # the same


def alerts() -> Iterator[str]:
    """Yield a row for every alert of ``deploy/alerts.yml``."""
    yield "| Alert | Fires when | Do this |\n|---|---|---|"
    groups = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        said = rule["annotations"]
        summary = re.sub(r"\{\{ \$(?:labels\.)?(\w+).*?\}\}", r"`\1`", said["summary"])
        yield f"| `{rule['alert']}` | {summary} | {said['action']} |"


def mechanisms() -> Iterator[str]:
    """Yield a row for every mechanism: what it takes, and what leaves of a window."""
    yield "| mechanism | takes | what leaves of a window |\n|---|---|---|"
    for name, one in ALL.items():
        yield f"| `{name}` | {_takes(one)} | {one.releases} |"


def _takes(one: Mechanism) -> str:
    return "a band" if one.bands else "one comparison" if one.panes else "any condition"


def offered() -> Iterator[str]:
    """Yield a row for all mechanisms of which the same is to be said.

    Raises:
        UndescribedError: a mechanism that a configuration may name says nothing of itself.
    """
    yield "| mechanism | decides | pays for | takes |\n|---|---|---|---|"
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, one in OFFERED.items():
        if not one.decides or not one.pays:
            raise UndescribedError(name)
        shown = f"[`{name}`](../research/proofs/{one.proof}.md)"
        rows.setdefault((one.decides, one.pays, _takes(one)), []).append(shown)
    for said, names in rows.items():
        yield f"| {', '.join(names)} | {' | '.join(said)} |"


PAGES: Final[dict[str, dict[str, Callable[[], Iterator[str]]]]] = {
    "reference/cli.md": {"commands": commands},
    "reference/configuration.md": {"keys": configuration, "mqtt": mqtt},
    "reference/metrics-and-alerts.md": {"metrics": metrics, "alerts": alerts},
    "dev/architecture.md": {"mechanisms": mechanisms},
    "explanation/mechanisms.md": {"offered": offered},
}
"""What each page has between which marks."""


def filled(text: str, parts: dict[str, Callable[[], Iterator[str]]]) -> str:
    """Return a page with what the code says between its marks."""
    for name, lines in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"no place for {name}")
        text = before + begin + "\n".join(lines()).strip("\n") + "\n" + end + after
    return text


def written(name: str) -> str:
    """Return a page as the code has it today."""
    return filled((FOLDER / name).read_text(), PAGES[name])


def run() -> None:
    """Write every page, or name those which are not what the code says."""
    stale = []
    for name in PAGES:
        path, text = FOLDER / name, written(name)
        if "--write" in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            stale.append(name)
    for name in stale:
        sys.stdout.write(
            f"docs/{name} is not up to date: python -m deploy.site.reference --write\n"
        )
    sys.exit(bool(stale))


if __name__ == "__main__":
    run()
