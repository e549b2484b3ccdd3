"""Texts with a mark, removed before they are read, where an error must point to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.config.sql.select import SqlProblem

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "⟦"


def assert_refused(
    parse: Callable[[str], object], marked: str, message: str, hint: str, *, before: int = 0
) -> None:
    """Check that a text is refused at its mark, with a message and a hint that say these.

    Args:
        parse: what refuses it.
        marked: the text.
        message: part of what is said.
        hint: part of what is advised.
        before: how much ``parse`` puts before the text.
    """
    with pytest.raises(SqlProblem) as caught:
        parse(marked.replace(MARK, ""))
    problem = caught.value
    assert message in problem.message
    assert hint in problem.hint
    assert problem.offset == before + marked.index(MARK), (problem.message, problem.offset)
