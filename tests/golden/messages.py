"""Every bad input, what Tocsin answers, and nothing else: a table that people read.

Inputs are those of ``tests/support/badinputs`` and ``tests/golden/cases.py``; a record's name is
the input in one line, its text the message with its hint. Read it as somebody who has never seen
the code.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING
from unittest import mock

from accountant.ledger.ledger import Ledger
from stream.kafka import topics
from tests.golden.cases import BAD, FOREIGN_KEYS
from tests.golden.surface import new_folder, tocsin
from tests.support.badinputs.databases import DATABASES
from tests.support.badinputs.files import FILES
from tests.support.badinputs.shapes import EDITS, GOOD, GOOD_CASES, good_folder
from tests.support.badinputs.words import WORDS

if TYPE_CHECKING:
    from tests.golden.surface import Answer
    from tests.support.badinputs.shapes import Call, Edit

__all__ = ["messages"]

_LONGEST_NAME = 150
_USAGE = re.compile(r"^(Usage: .*|Try '.*|)\n", re.MULTILINE)
_BAR = re.compile(r"^.*━.*\n", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffe]")
_HELP = ("Commands:", "Start:")


def messages() -> dict[str, str]:
    """Return what every bad input is answered, by the input."""
    made: dict[str, str] = {}
    for kind, edits in EDITS.items():
        for edit in edits:
            _add(made, f"{kind}: {edit[0]!r} -> {edit[1]!r}", _edited(edit, cases=kind == "cases"))
    for kind, calls in (("words", WORDS), ("files", FILES), ("databases", DATABASES)):
        for call in calls:
            _add(made, f"{kind}: {call.words}", _called(call))
    for case in (*BAD, *FOREIGN_KEYS):
        with new_folder() as folder:
            case.write(folder)
            answer = tocsin(folder, "check", "alarms.yaml", environ=case.environ)
            _add(made, f"check: {case.name}", answer)
    return made


def _add(made: dict[str, str], name: str, answer: Answer) -> None:
    """Add an answer under its input, numbered where that was shortened to one that is there."""
    name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    number = sum(one == name or one.startswith(f"{name} #") for one in made)
    said = _BAR.sub("", _USAGE.sub("", answer.err)).replace("\r", "\\r")
    said = _CONTROL.sub(lambda one: repr(one[0])[1:-1], said)
    if any(head in said for head in _HELP):
        said = "(help)\n"
    made[f"{name} #{number + 1}" if number else name] = said or f"(exit code {answer.code})"


def _edited(edit: Edit, *, cases: bool) -> Answer:
    old, new, _, _ = edit
    with new_folder() as folder:
        good_folder(folder)
        name = "cases.yaml" if cases else "alarms.yaml"
        text = (GOOD_CASES if cases else GOOD).replace(old, new)
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        return tocsin(folder, "test" if cases else "check", name)


def _called(call: Call) -> Answer:
    defaults = Ledger.open.__func__.__kwdefaults__  # type: ignore[attr-defined]  # of the function
    with (
        new_folder() as folder,
        mock.patch.object(topics, "PATIENCE_MS", 300),
        mock.patch.dict(defaults, connect_timeout_s=0.0),
    ):
        good_folder(folder, call.config)
        if call.prepare is not None:
            call.prepare(folder)
        return tocsin(folder, *shlex.split(call.words))
