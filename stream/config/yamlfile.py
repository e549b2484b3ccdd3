"""A YAML file whose every value remembers where it stands.

The file is composed into nodes and never constructed into Python objects: scalars keep their
*text*, so that ``0.05`` is read exactly and ``no`` stays a word, and every key, value and character
inside a value can be pointed at. Environment variables and files are put into scalar values here:
``${NAME}``, ``${NAME:-default}`` and ``${file:PATH}`` (``$${`` writes a plain ``${``); keys are
left alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import yaml

from accountant.errors import ConfigError
from stream.config.reading import Place, decoded, read_whole
from stream.config.variables import REFERENCE, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Document", "Loc", "Scalar", "Tree", "load_document", "quoted"]

_TAG = "tag:yaml.org,2002:"
_KINDS = frozenset(
    ("null", "bool", "int", "float", "str", "timestamp", "value", "merge", "map", "seq")
)
_HINT = "check indentation, quotes and colons on this line and the line before"
_ESCAPED = {"'": re.compile("'(')"), '"': re.compile(r"\\(?:([\"\\/])|.)")}
"""What two characters of a value in quotes stand for: a visible character, if it is a group."""
_MOST_BYTES = 512 * 1024
"""More takes longer than five seconds to check. What is long is a domain or a table."""
_MOST_VALUES = 100_000
"""With those that aliases repeat: a few lines could stand for billions."""

Loc = tuple[str | int, ...]
"""Path of a value: mapping keys and sequence positions from the root."""


class Scalar(str):  # noqa: SLOT000  # a few of them
    """The text of one scalar value, environment variables and files put in; "" for null.

    Args:
        text: the text.
        kind: what plain YAML takes it for: ``str``, ``int``, ``float``, ``bool``, ``null``, ...
        shown: its text as it stands in the file; the only one an error may repeat.
    """

    kind: str
    shown: str

    def __new__(cls, text: str, kind: str, shown: str) -> Self:
        """Return a text that knows where it comes from."""
        made = super().__new__(cls, "" if kind == "null" else text)
        made.kind, made.shown = kind, shown
        return made


Tree = dict[str, "Tree"] | list["Tree"] | Scalar


class Placed(NamedTuple):
    """A value, its node, and the mark of its key (in a list, its own)."""

    tree: Tree
    node: yaml.Node
    mark: yaml.Mark


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file.

    Args:
        file: its name as the user wrote it.
        text: the whole text.
        tree: its values.
        errors: what was wrong although the file could be read on (duplicate keys, variables).
        places: of every value; none where the file is empty.
    """

    file: str
    text: str = field(repr=False)
    tree: Tree
    errors: tuple[ConfigError, ...]
    places: Mapping[Loc, Placed] = field(repr=False)

    def place(self, loc: Loc, *, key: bool = False, offset: int | None = None) -> Place:
        """Return the place of a value, its key, or a character inside it.

        Args:
            loc: the value's path; the deepest part that exists is pointed at. The entry "" of what
                is no mapping is the value itself.
            key: point at the key instead of the value.
            offset: point at this character inside a scalar, where nothing was put in.
        """
        if not self.places:
            return Place(self.file)
        if loc not in self.places:
            loc = tuple(step for step in loc if step != "")
        there = loc
        while there not in self.places:
            there = there[:-1]
        tree, node, mark = self.places[there]
        if there != loc:  # a missing part is reported at the key of the mapping that lacks it
            key = not isinstance(tree, Scalar)
        elif offset is not None and isinstance(tree, Scalar) and tree.shown == tree:
            return Place.within(self.file, self.text, _inside(node, self.text, tree, offset))
        return _marked(self.file, mark if key else node.start_mark)


def quoted(text: str) -> str:
    """Return a text in the double quotes of YAML, which hold any text on one line."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in escaped)


def load_document(path: Path, *, environ: Mapping[str, str]) -> Document:
    """Read a YAML file.

    Args:
        path: the file, as the user named it.
        environ: environment variables that scalars may use.

    Raises:
        ConfigError: the file cannot be read, or is not YAML of the kind we take.
    """
    file = str(path)
    whole = Place(file)
    try:
        held = read_whole(path)
    except OSError as error:
        raise whole.error(f"cannot read the file: {error.strerror}", "check its path") from error
    if len(held) > _MOST_BYTES:
        hint = "move a long domain into a file: room: {domain: rooms.txt}"
        raise whole.error("the file is longer than 512 KiB", hint)
    text = decoded(held, file)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        reader = _Reader(file, environ)
        tree = reader.convert(root, root.start_mark) if root is not None else {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"{error.problem or error.context}".removeprefix("but ")
        place = _marked(file, mark) if mark else whole
        raise place.error(f"not valid YAML: {problem}", _HINT) from error
    except yaml.reader.ReaderError as error:
        place = Place.within(file, text, error.position)
        raise place.error("not valid YAML: a control character", "remove it") from error
    except (OverflowError, ValueError) as error:
        raise whole.error(
            "not valid YAML: a number in it is too large", "check \\U in quotes, and %YAML"
        ) from error
    except RecursionError as error:
        hint = "use fewer levels, and no alias inside what it stands for"
        raise whole.error("the file is nested too deeply", hint) from error
    return Document(file, text, tree, tuple(reader.errors), reader.places)


@dataclass
class _Reader:
    """Turns nodes into a tree and collects what is wrong with them."""

    file: str
    environ: Mapping[str, str]
    errors: list[ConfigError] = field(default_factory=list)
    places: dict[Loc, Placed] = field(default_factory=dict)

    def convert(self, node: yaml.Node, mark: yaml.Mark, loc: Loc = ()) -> Tree:
        """Return the tree of a node.

        Args:
            node: the node.
            mark: where its key begins.
            loc: its path.

        Raises:
            ConfigError: there are too many.
        """
        if len(self.places) >= _MOST_VALUES:
            message = f"the file has more than {_MOST_VALUES:,} values"
            hint = "write long lists into files of their own, and values instead of aliases"
            raise Place(self.file).error(message, hint)
        if node.tag.removeprefix(_TAG) not in _KINDS:
            self._wrong(node, f"the tag {node.tag} is not supported", "remove the tag")
        tree: Tree
        if isinstance(node, yaml.MappingNode):
            tree = self._mapping(node, loc)
        elif isinstance(node, yaml.SequenceNode):
            tree = [
                self.convert(child, child.start_mark, (*loc, at))
                for at, child in enumerate(node.value)
            ]
        else:
            tree = self._scalar(node)
        self.places[loc] = Placed(tree, node, mark)
        return tree

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Tree]:
        tree: dict[str, Tree] = {}
        for key, value in node.value:
            name = key.value
            if not isinstance(key, yaml.ScalarNode) or key.tag == f"{_TAG}merge":
                hint = "write `name: value`; merge keys (<<) are not supported"
                self._wrong(key, "the key is not a plain word", hint)
                continue
            if name in tree:
                first = self.places[*loc, name].mark.line + 1
                hint = f"remove one; the first is on line {first}"
                self._wrong(key, f"`{name}` is written twice", hint)
                continue
            tree[name] = self.convert(value, key.start_mark, (*loc, name))
        return tree

    def _scalar(self, node: yaml.Node) -> Scalar:
        kind, value = node.tag.removeprefix(_TAG), node.value
        if any("\ud800" <= character <= "\udfff" for character in value):
            self._wrong(
                node,
                "the value has half a character (a lone surrogate)",
                "write the whole character",
            )
        text = REFERENCE.sub(partial(self._substitute, node), value)
        return Scalar(text, kind, value)

    def _substitute(self, node: yaml.Node, match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        try:
            return value_of(match, self.environ, Path(self.file).parent)
        except ConfigError as error:
            self._wrong(node, error.message, error.hint)
            return ""

    def _wrong(self, node: yaml.Node, message: str, hint: str) -> None:
        self.errors.append(_marked(self.file, node.start_mark).error(message, hint))


def _marked(file: str, mark: yaml.Mark) -> Place:
    return Place(file, mark.line + 1, mark.column + 1)


def _inside(node: yaml.Node, text: str, scalar: Scalar, offset: int) -> int:
    """Return where in the file's text a character of a scalar's text stands.

    YAML changes white space only (folding, indentation) and, in quotes, what is escaped: the
    visible characters of the value appear in the file in order.
    """
    offset = max(0, min(offset, len(scalar) - 1))
    start, style = node.start_mark.index, getattr(node, "style", None)
    raw = text[start : node.end_mark.index]
    at = 0
    if style in ("|", ">"):
        at = raw.find("\n") + 1  # the header's indicators and comment are not part of the value
    elif style:
        at, raw = 1, _ESCAPED[style].sub(lambda found: (found[1] or "").rjust(2), raw)
    for character in scalar[: offset + 1]:
        if not character.isspace():
            at = max(at, raw.find(character, at) + 1)
    return start + at - 1
