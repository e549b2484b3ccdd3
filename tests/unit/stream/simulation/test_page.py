"""The page: it stands by itself, and says what there is to say."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from accountant.errors import ConfigError
from stream.cli import simulate as command
from stream.simulation.page import html_page
from stream.simulation.report import report
from stream.simulation.results import AUDIENCE
from stream.simulation.settings import Untried
from tests.support.simulated import alarm, near_the_threshold, shown, simulated


class Elements(HTMLParser):
    """Collects ids and references, and checks that elements are closed in order."""

    VOID = frozenset({"meta", "br", "path", "use"})

    def __init__(self) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that is closed at once."""
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"src", "href", "xlink:href", "srcset", "data", "action"}:
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        """Close the last element."""
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_stands_by_itself() -> None:
    """Nothing is loaded from anywhere, ids are unique, texts escaped, both colour schemes there."""
    simulation = simulated(alarm(6), near_the_threshold(4, 6))
    text = html_page(simulation)
    page = Elements()
    page.feed(text)
    assert page.open == []
    assert page.ids
    assert len(set(page.ids)) == len(page.ids)
    assert all(each.startswith("#") and each[1:] in page.ids for each in page.references)
    for link in (
        "src=",
        "@import",
        "<script",
        "<link",
        "url(http",
        "url('",
        "<b>",
        "<!DOCTYPE svg",
    ):
        assert link not in text
    for clip in {part.split(")")[0] for part in text.split("url(#")[1:]}:
        assert clip in page.ids
    assert "prefers-color-scheme: dark" in text
    assert "&lt;b&gt;&amp;" in text
    assert "&lt;alarms&gt;.yaml" in text
    assert AUDIENCE[1:] in text
    assert text.count("<svg") == 3
    assert not any(stand_in in text for stand_in in ("#0a0b", "#010203", "#010204"))


@pytest.mark.long
def test_page_of_one_cell_has_no_min_entropy() -> None:
    """With one predicate there is nothing to guess: no plot, no column, ``null`` in JSON."""
    simulation = simulated(alarm(1), near_the_threshold(4, 1))
    assert html_page(simulation).count("<svg") == 2
    assert "<th>min-entropy</th>" not in html_page(simulation)
    (shown_json,) = report(simulation)["alarms"]
    assert {one["min_entropy_normalised"] for one in shown_json["settings"]} == {None}


def test_page_and_table_of_an_alarm_that_nothing_answers() -> None:
    """An alarm without a single setting is said to have none, with reasons."""
    simulation = simulated(alarm(2), near_the_threshold(2, 2))
    (results,) = simulation.results
    why = Untried(results.measured[0].setting, "it cannot")
    nothing = replace(results, measured=(), untried=(why,))
    bare = replace(simulation, results=(nothing,))
    for text in (html_page(bare), shown(bare), json.dumps(report(bare))):
        assert "Nothing that was tried" in text
        assert "it cannot" in text


def test_html_without_matplotlib_is_refused_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named where plots cannot be drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("stream.simulation.page", "stream.simulation.plots"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError) as caught:
        command._page()
    assert "tocsin[simulate]" in caught.value.hint
