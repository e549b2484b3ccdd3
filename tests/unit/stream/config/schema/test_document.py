"""The JSON Schema takes what the reader takes, refuses what it can tell, and knows every key."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from deploy.site.mappings import models_of
from stream.config.closed import keys_of
from stream.config.keys import FileModel
from stream.config.schema.document import configuration_schema
from tests.golden.cases import BAD, ENVIRON, GOOD
from tests.support.checking import check
from tests.support.tree import ROOT

MODELS = models_of(FileModel)
SCHEMA = configuration_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
WHOLE = (ROOT / "examples" / "office" / "alarms.yaml").read_text()


class Editor(yaml.SafeLoader):
    """Reads YAML as editors do: by the core schema, where a date is a text."""


Editor.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def refused(text):
    """Return what an editor would underline in a configuration."""
    tree = yaml.load(text, Editor)  # noqa: S506  # a safe loader with fewer types
    return [error.message for error in VALIDATOR.iter_errors(tree)]


def at(place):
    """Return the schema of the mapping at a place of the table of models."""
    found = SCHEMA
    for step in (*place, ""):
        while "$ref" in found:
            found = SCHEMA["$defs"][found["$ref"].rpartition("/")[2]]
        ways = [found, *found.get("anyOf", [])]
        found = next(each for each in ways if each.get("type") == "object")
        if step:
            found = found["additionalProperties"] if step == "*" else found["properties"][step]
    return found


def test_it_is_a_schema():
    """By the draft that it names."""
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("place", MODELS, ids=".".join)
def test_it_has_every_key_of_every_mapping_with_a_sentence(place):
    """A key that is added to the models is in the schema at once; what it means is said once."""
    mapping, keys = at(place), keys_of(MODELS[place])
    assert mapping["properties"].keys() == keys.keys()
    needed = {key for key, field in keys.items() if field.is_required()}
    assert set(mapping.get("required", ())) == needed
    assert mapping["additionalProperties"] is False
    assert all(each["description"] for each in mapping["properties"].values())


EXAMPLES = [*ROOT.glob("examples/*/alarms.yaml"), ROOT / "deploy" / "tocsin" / "alarms.yaml"]
GOOD_TEXTS = {case.name: case.text for case in GOOD} | {
    str(path): path.read_text() for path in EXAMPLES
}


@pytest.mark.parametrize("text", GOOD_TEXTS.values(), ids=GOOD_TEXTS)
def test_good_configurations_pass(text):
    """Every good golden configuration, and what a newcomer copies, is not underlined."""
    assert refused(text) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timezone: Europe/Berlin", "timezon: Europe/Berlin"),
        ("timezone: Europe/Berlin", "timezone: [Europe/Berlin]"),
        ("timezone: Europe/Berlin", "publish_interval: soon"),
        ("timezone: Europe/Berlin", "metrics: {public: 9464}"),
        ("topic: building.badges", "topic: building badges"),
        ("person: string", "person: text"),
        ("room: {domain: rooms.txt}", "room: {clip: [0]}"),
        ("    time: ts\n", ""),
        ("privacy_unit: user", "unit: person"),
        ("period: 1d", "period: daily"),
        ("max_fnr: 0.05", "max_fnr: [0.05]"),
        ("tolerance: 17", "mechanism: magic"),
        ("tolerance: 17", "timing: {grace: 30}"),
    ],
)
def test_unknown_keys_and_wrong_types_are_underlined(tmp_path, old, new):
    """By the editor, and by `tocsin check` as well: the schema is never stricter."""
    assert WHOLE.count(old) == 1
    text = WHOLE.replace(old, new)
    assert refused(text)
    (tmp_path / "rooms.txt").write_text("lobby\n")
    (tmp_path / "capacity.csv").write_text("room,people\nlobby,9\n")
    (tmp_path / "alarms.yaml").write_text(text)
    assert check(tmp_path / "alarms.yaml", environ={})


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_the_schema_is_stricter_than_the_reader_nowhere(tmp_path, case):
    """What an editor underlines in the records' bad configurations is an error to the reader."""
    try:
        underlined = refused(case.text)
    except yaml.YAMLError:
        return
    if underlined:
        case.write(tmp_path)
        assert check(tmp_path / "alarms.yaml", environ=ENVIRON)


def test_values_may_come_from_the_environment():
    """Wherever the reader puts variables in, the schema takes one."""
    keys = "epsilon_max|privacy_unit|period|max_groups_per_window|max_fnr|tolerance|topic"
    text, count = re.subn(rf"({keys}): [^,}}#\n]+", r'\1: "${V:-1}"', WHOLE)
    assert count >= 7
    assert refused(text) == []


def test_no_shape_refuses_all_that_its_key_can_be():
    """A default stands for its key: the schema takes it."""
    for place in MODELS:
        for key, schema in at(place)["properties"].items():
            if "default" in schema:
                whole = {**schema, "$defs": SCHEMA["$defs"]}
                assert Draft202012Validator(whole).is_valid(schema["default"]), key
    assert at(("alarms", "*", "timing"))["properties"]["max_age"]["default"] == "1w"


def test_the_usual_tool_checks_files_with_it(tmp_path):
    """`check-jsonschema` reads what `tocsin schema` prints, and the files beside it."""
    schema, file = tmp_path / "schema.json", tmp_path / "alarms.yaml"
    schema.write_text(json.dumps(SCHEMA))
    for key, code in (("max_fnr", 0), ("max_frn", 1)):
        file.write_text(WHOLE.replace("max_fnr:", f"{key}:"))
        told = CliRunner().invoke(check_jsonschema, ["--schemafile", str(schema), str(file)])
        assert told.exit_code == code
        assert ("max_frn" in told.output) == code
