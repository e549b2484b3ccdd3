"""Messages are short, in plain words, and name a section that exists."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from accountant import errors
from accountant.errors import LedgerError, TocsinError
from tests.docs.test_unused_words import found
from tests.golden.record import RECORDS
from tests.golden.texts import parse
from tests.support.tree import ROOT, anchors, text_of

LONGEST = 240
"""Characters of a message and its hint, without the place in front."""

_PLACE = re.compile(r"^(?:(?:error|warning|note): )?(?:[\w./<>-]+:\d+:\d+: )?")
_REPEATED = re.compile(r"(.)\1{40,}")  # a name that a test made long
_MENTIONED = re.compile(r"`[^`\n]*`|'[^'\n]*'|\"[^\"\n]*\"")
_TREE = {
    cls.__name__: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, TocsinError)
}
_FINDINGS = {"wrong", "warn", "note", "at_sql", "leave_open", "within"}


def findings():
    """Yield every message of the table with its hint."""
    table = parse((RECORDS / "messages.txt").read_text())
    for text in table.values():
        for finding in re.split(r"\n(?=\S)", text):
            said = finding.partition("\n  see: ")[0].replace("\n  hint: ", " ")
            yield _REPEATED.sub(r"\1", _PLACE.sub("", said))


FINDINGS = sorted(set(findings()))


@cache
def raised():
    """Return where an error is made or a finding noted, the call, and its constant text."""
    made = []
    for package in ("accountant", "operators", "stream"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                called = node.func
                name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
                if name in _TREE or name in _FINDINGS:
                    given = [*node.args, *(key.value for key in node.keywords)]
                    texts = (part for one in given for part in ast.walk(one))
                    words = [
                        part.value
                        for part in texts
                        if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    ]
                    place = f"{path.relative_to(ROOT)}:{node.lineno}"
                    made.append((place, node, "\n".join(words)))
    return made


def test_no_message_is_longer_than_two_short_sentences():
    """With its hint and without its place: at most 240 characters."""
    long = [f"{len(text)}: {text}" for text in FINDINGS if len(text) > LONGEST]
    assert not long, "\n".join(long)


def test_messages_use_the_fields_words():
    """What every bad input is answered has no unused word, but for names that it repeats."""
    wrong = [(words, text) for text in FINDINGS if (words := found(_MENTIONED.sub("", text)))]
    assert not wrong, wrong


def test_errors_use_the_fields_words():
    """Nor has any error that the code raises for a user, or finding that it notes.

    Calls of the library are in the words of its arguments, which are those of the papers.
    """
    wrong = [
        (place, words)
        for place, call, text in raised()
        if getattr(call.func, "id", "") != "ArgumentError"
        if (words := found(_MENTIONED.sub("", text)))
    ]
    assert not wrong, wrong


def test_every_refusal_of_the_ledger_says_what_to_do():
    """Each has a hint."""
    bare = [
        place
        for place, call, _ in raised()
        if isinstance(call.func, ast.Name)
        and issubclass(_TREE.get(call.func.id, TocsinError), LedgerError)
        and not any(key.arg == "hint" for key in call.keywords)
    ]
    assert not bare, bare


@pytest.mark.parametrize("error", sorted(_TREE))
def test_the_section_about_an_error_exists(error):
    """``see`` names a page, and a heading of it."""
    page, _, anchor = _TREE[error].see.partition("#")
    if page:
        assert not anchor or anchor in anchors(text_of(page))


def test_a_long_or_old_message_is_caught():
    """The twin: a message as they were."""
    old = "even an empty cell would be free to ring: the dearest predicate tells it"
    assert found(old) == ["ring", "dearest", "predicate", "tells"]
    assert len(f"{old} " * 4) > LONGEST
