"""Every call of ``tocsin`` that a page shows is one that the command takes."""

from __future__ import annotations

import re
import shlex

import pytest

from stream.cli.main import Later, main
from tests.support.tree import ROOT, blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown(text):
    """Yield the calls of a page: in shell blocks, and between backquotes."""
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            yield from re.findall(r"(?:^|[\s/;(])tocsin (\w.*)", line)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    yield from re.findall(r"`tocsin (\w[^`]*)`", text)


def wrong(call):
    """Return the words of a call that are no command, or no option of it."""
    words = shlex.split(call.partition(" #")[0].replace("'", "").rstrip(")"), comments=False)
    names = main.commands
    if words[0] not in names:
        return [words[0]]
    command = names[words[0]]
    command = command.command if isinstance(command, Later) else command
    inner = getattr(command, "commands", {})
    inside = [word for word in words[1:] if word in inner]
    if inside:
        command = inner[inside[0]]
    elif len(words) > 2 and inner and words[-1].islower():  # else a word that stands for others
        return words[-1:]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    return [
        word
        for word in re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", " ".join(words[1:]))
        if word not in {*known, "--help"}
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_calls_that_are_taken(page):
    """Commands, and the options of each."""
    calls = shown(page.read_text())
    assert [(call, wrong(call)) for call in calls if wrong(call)] == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("plan FILE --caps", ["--caps"]),
        ("replay FILE", ["replay"]),
        ("ledger FILE replay", ["replay"]),
        ("ledger FILE verify --checkpoints 1:a", ["--checkpoints"]),
        ("ledger FILE verify --checkpoint 1:a", []),
    ],
)
def test_a_call_that_is_not_taken_is_found(call, words):
    """An option or a command that is gone is named."""
    assert wrong(call) == words
