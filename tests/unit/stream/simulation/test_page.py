"""The page: it stands by itself, and says what there is to say."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Final

import pytest

from accountant.errors import ConfigError
from stream.cli import simulate as command
from stream.simulation.page import html_page
from stream.simulation.report import report
from stream.simulation.results import AUDIENCE
from stream.simulation.settings import Untried
from tests.support.simulated import alarm, near_the_threshold, shown, simulated

LETTER: Final = 0.6  # width of a letter, as a share of its size: more than an average one has
PHONE_PX: Final = 312.0  # of a drawing on a page of 360 pixels
LEAST_PX: Final = 8.0  # of a letter there


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
    assert text.count("<svg") == 4
    assert not any(stand_in in text for stand_in in ("#0a0b", "#010203", "#010204"))


def drawings(text: str) -> list[str]:
    """Return the drawings of a page."""
    return re.findall(r"<svg.*?</svg>", text, re.DOTALL)


def outside(svg: str) -> list[str]:
    """Return the words that lie outside a drawing's own box, or are too small on a phone."""
    (size,) = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width, height = map(float, size)
    found = []
    for attributes, words in re.findall(r"<text([^>]*)>([^<]*)</text>", svg):
        (letters,) = re.findall(r"font-size: ([\d.]+)px|font: ([\d.]+)px", attributes)
        pixels = float("".join(letters))
        places = dict(re.findall(r'\b(x|y)="(-?[\d.]+)"', attributes))
        if not places:
            (both,) = re.findall(r"translate\((-?[\d.]+) (-?[\d.]+)\)", attributes)
            places = dict(zip("xy", both, strict=True))
        wide = LETTER * pixels * len(words)
        anchor = re.findall(r"text-anchor: (\w+)", attributes)
        before = {"start": 0.0, "middle": wide / 2, "end": wide}[(anchor or ["start"])[0]]
        left, below = float(places["x"]) - before, float(places["y"])
        small = pixels * PHONE_PX / width < LEAST_PX
        if left < 0 or left + wide > width or not pixels * 0.7 <= below <= height or small:
            found.append(words)
    return found


def test_no_word_of_a_drawing_is_cut_off_or_too_small_for_a_phone() -> None:
    """Words lie in their drawing and are legible where it is as wide as a phone.

    Twins: a drawing that is twice as wide has words half the size, and one without its lower part.
    """
    drawn = drawings(html_page(simulated(alarm(6), near_the_threshold(4, 6))))
    assert [outside(svg) for svg in drawn] == [[]] * 4
    one = drawn[0]
    assert outside(re.sub(r'viewBox="0 0 [\d.]+', 'viewBox="0 0 660', one))
    assert outside(re.sub(r'viewBox="0 0 ([\d.]+) [\d.]+', r'viewBox="0 0 \1 200', one))


def test_tables_fold_on_a_phone() -> None:
    """Every figure has its column's name with it, as a narrow page folds rows and hides the head.

    What is wider all the same scrolls in a box of its own, and long words break.
    """
    text = html_page(simulated(alarm(6), near_the_threshold(4, 6)))
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    heads = [
        re.findall(r"<th>(.*?)</th>", row) for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL)
    ]
    (names,) = [each for each in heads if "mechanism" in each]
    rows = re.findall(
        r"<tr.*?</tr>", text[text.index("<tbody>") : text.index("</tbody>")], re.DOTALL
    )
    assert rows
    for row in rows:
        cells = re.findall(r"<td(?: data-name=\"(.*?)\")?>", row)
        assert [each.removesuffix(" epsilon") for each in cells] == ["", *names[1:]]
    assert text.count("<table") == text.count('<div class="scroll" tabindex="0"><table>')
    assert ".scroll { overflow-x: auto;" in text
    for rule in ("td[data-name]::before { content: attr(data-name);", "thead { display: none; }"):
        assert rule in text
    assert text.count("overflow-wrap: anywhere") >= 4
    assert "nowrap" not in text[text.index("pre {") : text.index(".plots")]


@pytest.mark.long
def test_page_of_one_cell_has_no_min_entropy() -> None:
    """With one predicate there is nothing to guess: no plot, no column, ``null`` in JSON."""
    simulation = simulated(alarm(1), near_the_threshold(4, 1))
    assert html_page(simulation).count("<svg") == 3
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
