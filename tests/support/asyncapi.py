"""What may stand in an AsyncAPI 3.0.0 document, as far as ours goes, and where its references lead.

The official schema comes with no Python package, so that the objects which we use are described
here, closed to unknown fields as the specification has them.
Source: https://www.asyncapi.com/docs/reference/specification/v3.0.0
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import jsonschema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["faults", "resolved"]

Tree = dict[str, Any]

_TEXT: Final[Tree] = {"type": "string", "minLength": 1}
_SCHEMA: Final[Tree] = {"type": "object", "minProperties": 1}
_KAFKA: Final[Tree] = {"const": "0.5.0"}


def _closed(required: str = "", **properties: Tree) -> Tree:
    return {
        "type": "object",
        "properties": {name.rstrip("_"): shape for name, shape in properties.items()},
        "required": required.split(),
        "additionalProperties": False,
    }


def _named(shape: Tree) -> Tree:
    named = {"pattern": r"^[A-Za-z0-9_\-]+$"}
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": named,
        "additionalProperties": shape,
    }


def _lists(shape: Tree) -> Tree:
    return {"type": "array", "items": shape, "minItems": 1, "uniqueItems": True}


_SPOKEN: Final[Tree] = {"title": _TEXT, "summary": _TEXT, "description": _TEXT}
_TO: Final = {
    place: _closed("$ref", **{"$ref": {"type": "string", "pattern": f"^#/{place}$"}})
    for place in (
        "servers/[^/]+",
        "channels/[^/]+",
        "channels/[^/]+/messages/[^/]+",
        "components/securitySchemes/[^/]+",
    )
}
_SERVER: Final = _closed(
    "host protocol",
    host={"type": "string", "pattern": r"^[a-z0-9.\-]+(:[0-9]+)?$"},
    pathname={"type": "string", "pattern": "^/"},
    protocol={"enum": ["kafka", "kafka-secure", "http", "https", "mqtt", "secure-mqtt"]},
    security=_lists(_TO["components/securitySchemes/[^/]+"]),
    **_SPOKEN,
)
_MESSAGE: Final = _closed(
    "name title payload",
    name=_TEXT,
    contentType=_TEXT,
    headers=_SCHEMA,
    payload=_SCHEMA,
    bindings=_closed(
        "kafka", kafka=_closed("key bindingVersion", key=_SCHEMA, bindingVersion=_KAFKA)
    ),
    examples=_lists(_closed("payload", name=_TEXT, payload={"type": "object"})),
    **_SPOKEN,
)
_CHANNEL: Final = _closed(
    "address messages servers",
    address=_TEXT,
    servers=_lists(_TO["servers/[^/]+"]),
    messages=_named(_MESSAGE),
    parameters=_named(_closed(description=_TEXT)),
    bindings=_closed(
        "kafka",
        kafka=_closed(
            "bindingVersion",
            partitions={"type": "integer", "minimum": 1},
            topicConfiguration=_closed(
                **{"cleanup.policy": _lists({"enum": ["compact", "delete"]})}
            ),
            bindingVersion=_KAFKA,
        ),
    ),
    **_SPOKEN,
)
_OPERATION: Final = _closed(
    "action channel messages",
    action={"enum": ["send", "receive"]},
    channel=_TO["channels/[^/]+"],
    messages=_lists(_TO["channels/[^/]+/messages/[^/]+"]),
    bindings=_closed(
        http=_closed("bindingVersion", method={"const": "POST"}, bindingVersion={"const": "0.3.0"}),
        mqtt=_closed(
            "bindingVersion",
            qos={"enum": [0, 1, 2]},
            retain={"type": "boolean"},
            bindingVersion={"const": "0.2.0"},
        ),
    ),
    **_SPOKEN,
)
_SCHEME: Final = _closed(
    "type",
    type={"enum": ["plain", "scramSha256", "scramSha512", "X509"]},
    description=_TEXT,
)
_DOCUMENT: Final[Tree] = _closed(
    "asyncapi info servers channels operations",
    asyncapi={"const": "3.0.0"},
    info=_closed(
        "title version",
        title=_TEXT,
        version=_TEXT,
        description=_TEXT,
        license=_closed("name", name=_TEXT, url={"type": "string", "pattern": "^https://"}),
    ),
    defaultContentType={"const": "application/json"},
    servers=_named(_SERVER),
    channels=_named(_CHANNEL),
    operations=_named(_OPERATION),
    components=_closed(schemas=_named(_SCHEMA), securitySchemes=_named(_SCHEME)),
)


def resolved(document: Tree, node: Any, folder: Path) -> Any:
    """Return a part of a document with what its references lead to in their place.

    Args:
        document: all of it.
        node: the part.
        folder: of the document.

    Raises:
        KeyError: a reference leads nowhere in the document.
        OSError: a reference names no file.
    """
    if isinstance(node, list):
        return [resolved(document, each, folder) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node:
        return {name: resolved(document, each, folder) for name, each in node.items()}
    place: str = node["$ref"]
    if not place.startswith("#"):
        return json.loads((folder / place).read_text(encoding="utf-8"))
    found: Any = document
    for name in place.removeprefix("#/").split("/"):
        found = found[name]
    return resolved(document, found, folder)


def faults(document: Tree, folder: Path) -> list[str]:
    """Return what is wrong with a document: its form first, and only then what it leads to.

    Args:
        document: as it was read.
        folder: where it lies, from where references to files are followed.
    """
    validator = jsonschema.Draft202012Validator(_DOCUMENT)
    found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    return found or list(_misled(document, folder))


def _misled(document: Tree, folder: Path) -> Iterator[str]:
    yield from _lost(document, folder)
    addresses = [channel["address"] for channel in document["channels"].values()]
    if len(set(addresses)) < len(addresses):
        yield "two channels have one address"
    operations = document["operations"]
    for name, operation in operations.items():
        inside = operation["channel"]["$ref"] + "/messages/"
        if not all(each["$ref"].startswith(inside) for each in operation["messages"]):
            yield f"{name} has messages of another channel"
    sent = {each["$ref"] for one in operations.values() for each in one["messages"]}
    for name, channel in document["channels"].items():
        if set(re.findall(r"{(\w+)}", channel["address"])) != set(channel.get("parameters", ())):
            yield f"the parameters of {name} are not those of its address"
        if not {f"#/channels/{name}/messages/{one}" for one in channel["messages"]} <= sent:
            yield f"nothing sends all messages of {name}"
        for one, message in channel["messages"].items():
            for part in ("payload", "headers"):
                yield from _unfit(f"{name}.{one}.{part}", document, message.get(part, {}), folder)


def _lost(document: Tree, folder: Path) -> Iterator[str]:
    for node in _references(document):
        try:
            resolved(document, node, folder)
        except (KeyError, OSError):
            yield f"{node['$ref']} leads nowhere"


def _unfit(place: str, document: Tree, node: Tree, folder: Path) -> Iterator[str]:
    try:
        jsonschema.Draft202012Validator.check_schema(resolved(document, node, folder))
    except jsonschema.SchemaError as error:
        yield f"{place} is no schema: {error.message}"
    except (KeyError, OSError):
        return  # said before


def _references(node: Any) -> Iterator[Tree]:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict) and "$ref" in node:
        yield node
    for each in children:
        yield from _references(each)
