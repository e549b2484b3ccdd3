"""The JSON Schema of a configuration file, for editors: draft 2020-12.

pydantic makes it from the models that read the file (``stream.config.keys``): keys, which of them
are required, words, defaults. A key that is added there appears here by itself. What passes may
still be refused by ``tocsin check``, which knows what goes together; what the schema refuses, it
refuses too.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from stream.config.closed import told
from stream.config.keys import FileModel
from stream.config.scalars import DURATION, MILLISECONDS
from stream.config.schema import shapes

__all__ = ["configuration_schema", "duration"]


def configuration_schema() -> shapes.Shape:
    """Return the schema of a whole file, as data that JSON takes."""
    found = FileModel.model_json_schema(schema_generator=_Schema)
    return {"$schema": _Schema.schema_dialect, "title": "Tocsin configuration", **found}


class _Schema(GenerateJsonSchema):
    """As pydantic makes it, but for what YAML knows nothing of, and for what we write shorter."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Have no titles: they repeat the keys."""
        return False

    def nullable_schema(self, schema: Any) -> shapes.Shape:
        """Take no null: what may be left out is left out."""
        return self.generate_inner(schema["schema"])

    def literal_schema(self, schema: Any) -> shapes.Shape:
        """Take one of some words, or a variable."""
        return shapes.words(map(str, schema.get("expected") or schema["members"]))

    enum_schema = literal_schema

    def model_schema(self, schema: Any) -> shapes.Shape:
        """Take a single value, or a word, for a mapping, where the reader does."""
        found, model = super().model_schema(schema), schema["cls"]
        del found["title"]
        for name, said in told(model).items():
            found["properties"][model.model_fields[name].alias or name]["description"] = said
        if model.words:
            one = {"minProperties": 1, "maxProperties": 1}
            return {"anyOf": [shapes.words(model.words), found | one]}
        return {"anyOf": [found["properties"][model.short], found]} if model.short else found

    def default_schema(self, schema: Any) -> shapes.Shape:
        """Give the default as one writes it, where it is a single value."""
        shape = self.generate_inner(schema["schema"])
        match schema.get("default"):
            case int() as value if shape == shapes.written(DURATION):
                return {"default": duration(value)} | shape
            case (int() | str()) as value if value != "":
                return {"default": value} | shape
            case (host, port):
                return {"default": f"{host}:{port}"} | shape
            case _:
                return shape


def duration(milliseconds: int) -> str:
    """Return a length of time in the largest unit that it is a whole number of."""
    for unit, length in reversed(MILLISECONDS.items()):
        if milliseconds and milliseconds % length == 0:
            return f"{milliseconds // length}{unit}"
    return "0ms"
