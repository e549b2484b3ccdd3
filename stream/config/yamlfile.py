"""A YAML file whose every value remembers where it stands.

The file is composed into nodes and never constructed into Python objects: scalars keep their
*text*, so that ``0.05`` is read exactly and ``no`` stays a word, and every key, value and character
inside a value can be pointed at. Environment variables and files are put into scalar values here:
``${NAME}``, ``${NAME:-default}`` and ``${file:PATH}`` (``$${`` writes a plain ``${``); keys are
left alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from stream.config.reading import Place, decoded, read_whole
from stream.config.variables import REFERENCE, SecretFileError, read_secret

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from accountant.errors import ConfigError

__all__ = ["Document", "Loc", "Scalar", "Tree", "load_document", "quoted"]

_TAG = "tag:yaml.org,2002:"
_KINDS = frozenset(
    ("null", "bool", "int", "float", "str", "timestamp", "value", "merge", "map", "seq")
)
_HINT = "check indentation, quotes and colons on this line and the line before"
_HINTS = {
    "another document": "remove `---` and what follows",
    "'\\t'": "replace the tab by spaces",
    "that cannot start any token": "put the value in quotes",
    "expected chomping or indentation": "put the value in quotes",
    "expected a comment or a line break": "put the value in quotes",
    "expected ',' or": "close the bracket or brace, or add a comma",
}
_MOST_BYTES = 512 * 1024
"""More takes longer than five seconds to check. What is long is a domain or a table."""
_MOST_REPEATED = 10_000
"""Values that aliases may stand for beside the first: a few lines could stand for billions."""

Loc = tuple[str | int, ...]
"""Path of a value: mapping keys and sequence positions from the root."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar value.

    Args:
        text: its text, environment variables and files put in.
        kind: what plain YAML takes it for: ``str``, ``int``, ``float``, ``bool``, ``null``, ...
        shown: its text as it stands in the file; the only one an error may repeat.
        origin: per character of ``text`` its place in ``shown``; ``None`` where they are the same.
    """

    text: str
    kind: str
    shown: str
    origin: tuple[int, ...] | None = field(default=None, repr=False)


Tree = dict[str, "Tree"] | list["Tree"] | Scalar


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file.

    Args:
        file: its name as the user wrote it.
        text: the whole text.
        tree: its values.
        errors: what was wrong although the file could be read on (duplicate keys, variables).
        places: of every value its key's mark (in a list, its own), its node and the value; none
            where the file is empty.
    """

    file: str
    text: str = field(repr=False)
    tree: Tree
    errors: tuple[ConfigError, ...] = ()
    places: Mapping[Loc, tuple[yaml.Mark, yaml.Node, Tree]] = field(
        default_factory=dict, repr=False
    )

    def place(self, loc: Loc, *, key: bool = False, offset: int | None = None) -> Place:
        """Return the place of a value, its key, or a character inside it.

        Args:
            loc: the value's path; the deepest part that exists is pointed at.
            key: point at the key instead of the value.
            offset: point at this character inside a scalar.
        """
        if not self.places:
            return Place(self.file)
        there = loc
        while there not in self.places:
            there = there[:-1]
        mark, node, tree = self.places[there]
        complete = there == loc
        if complete and offset is not None and isinstance(tree, Scalar):
            return Place.within(self.file, self.text, _inside(node, self.text, tree, offset))
        # A missing part is reported at the key of the mapping that lacks it.
        inner = isinstance(node, yaml.ScalarNode) if not complete else not key
        return _marked(self.file, node.start_mark if inner else mark)


def quoted(text: str) -> str:
    """Return a text in the double quotes of YAML, which hold any text on one line."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in escaped)


def load_document(
    path: Path, *, environ: Mapping[str, str], given: bytes | None = None
) -> Document:
    """Read a YAML file.

    Args:
        path: the file, as the user named it.
        environ: environment variables that scalars may use.
        given: what the file holds, where it is not to be read from its path.

    Raises:
        ConfigError: the file cannot be read, or is not YAML of the kind we take.
    """
    file = str(path)
    whole = Place(file)
    try:
        held = read_whole(path) if given is None else given
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise whole.error(f"cannot read the file: {reason}", "check its path") from error
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
        hint = next((hint for said, hint in _HINTS.items() if said in problem), _HINT)
        place = _marked(file, mark) if mark else whole
        raise place.error(f"not valid YAML: {problem}", hint) from error
    except yaml.reader.ReaderError as error:
        place = Place.within(file, text, error.position)
        raise place.error("not valid YAML: a control character", "remove it") from error
    except RecursionError as error:
        raise whole.error("the file is nested too deeply", "use fewer levels") from error
    return Document(file, text, tree, tuple(reader.errors), reader.places)


@dataclass
class _Reader:
    """Turns nodes into a tree and collects what is wrong with them."""

    file: str
    environ: Mapping[str, str]
    errors: list[ConfigError] = field(default_factory=list)
    places: dict[Loc, tuple[yaml.Mark, yaml.Node, Tree]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)
    _repeated: int = 0

    def convert(self, node: yaml.Node, mark: yaml.Mark, loc: Loc = ()) -> Tree:
        """Return the tree of a node.

        Args:
            node: the node.
            mark: where its key begins.
            loc: its path.

        Raises:
            ConfigError: its aliases stand for too much.
        """
        if id(node) in self._open:
            self._wrong(node, "the alias contains itself", "write the value instead")
            return {}
        if node.tag.removeprefix(_TAG) not in _KINDS:
            self._wrong(node, f"the tag {node.tag} is not supported", "remove the tag")
        if id(node) in self._seen:
            self._repeated += 1
            if self._repeated > _MOST_REPEATED:
                message = f"aliases repeat more than {_MOST_REPEATED:,} values"
                place = _marked(self.file, node.start_mark)
                raise place.error(message, "write the values instead of aliases")
        self._seen.add(id(node))
        self._open.add(id(node))
        tree: Tree = {}  # PyYAML knows no fourth kind of node
        if isinstance(node, yaml.MappingNode):
            tree = self._mapping(node, loc)
        elif isinstance(node, yaml.SequenceNode):
            tree = [
                self.convert(child, child.start_mark, (*loc, at))
                for at, child in enumerate(node.value)
            ]
        elif isinstance(node, yaml.ScalarNode):
            tree = self._scalar(node)
        self._open.discard(id(node))
        self.places[loc] = mark, node, tree
        return tree

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Tree]:
        tree: dict[str, Tree] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._wrong(key, "the key is not a plain word", "write `name: value`")
                continue
            name = key.value
            if key.tag == f"{_TAG}merge":
                self._wrong(key, "merge keys (<<) are not supported", "write the keys")
                continue
            if name in tree:
                first, *_ = self.places[*loc, name]
                hint = f"remove one; the first is on line {first.line + 1}"
                self._wrong(key, f"`{name}` is written twice", hint)
                continue
            tree[name] = self.convert(value, key.start_mark, (*loc, name))
        return tree

    def _scalar(self, node: yaml.ScalarNode) -> Scalar:
        kind, value = node.tag.removeprefix(_TAG), node.value
        if any("\ud800" <= character <= "\udfff" for character in value):
            self._wrong(
                node,
                "the value has half a character (a lone surrogate)",
                "write the whole character",
            )
        if "${" not in value:
            return Scalar(text=value, kind=kind, shown=value)
        origin: list[int] = []
        parts: list[str] = []
        at = 0
        for match in [*REFERENCE.finditer(value), None]:
            end = len(value) if match is None else match.start()
            put = "" if match is None else self._substitute(node, match)
            parts += [value[at:end], put]
            origin += [*range(at, end), *[end] * len(put)]
            at = end if match is None else match.end()
        return Scalar(text="".join(parts), kind=kind, shown=value, origin=tuple(origin))

    def _substitute(self, node: yaml.ScalarNode, match: re.Match[str]) -> str:
        name, default, path = match["name"], match["default"], match["path"]
        if match[0] == "$${":
            return "${"
        if path is not None:
            return self._secret(node, path)
        if name is None:
            hint = "write ${NAME}, ${NAME:-default} or ${file:PATH}; $${ for a plain ${"
            self._wrong(node, "`${` is not followed by the name of a variable", hint)
            return ""
        value = self.environ.get(name, "")
        if value or name in (self.environ if default is None else ()):
            return value
        if default is None:
            hint = f"set {name}, or write ${{{name}:-default}}"
            self._wrong(node, f"the environment variable {name} is not set", hint)
            return ""
        return default

    def _secret(self, node: yaml.ScalarNode, path: str) -> str:
        try:
            return read_secret(Path(self.file).parent, path)
        except SecretFileError as error:
            hint = "write the value into it; a relative path starts at this file's folder"
            self._wrong(node, f"the file {path} {error}", hint)
            return ""

    def _wrong(self, node: yaml.Node, message: str, hint: str) -> None:
        self.errors.append(_marked(self.file, node.start_mark).error(message, hint))


def _marked(file: str, mark: yaml.Mark) -> Place:
    return Place(file, mark.line + 1, mark.column + 1)


def _inside(node: yaml.Node, text: str, scalar: Scalar, offset: int) -> int:
    """Return where in the file's text a character of a scalar's text stands."""
    offset = max(0, min(offset, len(scalar.text) - 1))
    if scalar.origin is not None:
        offset = scalar.origin[offset] if scalar.origin else 0
    start = node.start_mark.index
    raw = text[start : node.end_mark.index]
    return start + _place(raw, scalar.shown, offset, style=getattr(node, "style", None))


def _place(raw: str, value: str, offset: int, *, style: str | None) -> int:
    """Return where in a scalar's raw text the character ``offset`` of its value stands.

    YAML changes white space only (folding, indentation) and, in double quotes, escapes: the visible
    characters of the value appear in the raw text in order.
    """
    at = 0
    if style in ("|", ">"):
        at = raw.find("\n") + 1  # the header's indicators and comment are not part of the value
    elif style in ("'", '"'):
        at = 1
    last = at
    for index, character in enumerate(value):
        if index > offset:
            break
        if character.isspace():
            continue
        while at < len(raw) and raw[at] != character:
            at += 2 if style == '"' and raw[at] == "\\" and raw[at + 1 : at + 2] != character else 1
        last = min(at, len(raw) - 1)
        at += 2 if style == "'" and character == "'" else 1
    return last
