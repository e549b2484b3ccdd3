"""What a terminal and a page show: the same figures, whole, at the width there is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from stream.simulation.results import as_json
from stream.simulation.shown import html_page, percent
from tests.support.simulated import alarm, near_the_threshold, shown, simulated


@pytest.fixture(scope="module")
def simulation():
    """Return a simulation of long names and wide figures, some windows of which are denied."""
    return simulated(
        alarm(12, mechanism="tslm"),
        near_the_threshold(6, 12),
        mechanisms=("tslm", "probe-ent", "nlm"),
        factors=(Fraction(1), Fraction(2)),
        rates=(Fraction(1, 20), Fraction(1, 1000)),
        epsilon_max=Fraction(2),
    )


@pytest.mark.parametrize("width", [80, 81, 100, 132, 200])
def test_every_figure_stands_whole_on_one_line(simulation, width):
    """From 80 columns on, in one table."""
    lines = shown(simulation, width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any("\u2026" in line for line in lines)
    rows = [line.split() for line in lines]
    assert [row[:2] for row in rows].count(["setting", "missed"]) == 1
    (results,) = simulation.alarms
    assert any(one.denied for one in results.settings)
    for one in results.settings:
        figures = [*percent(one.fnr).split(), *percent(one.fpr).split(), f"{100 * one.denied:.3g}"]
        figures += [f"{one.epsilon_cell.mean:.3g}", f"{one.epsilon_worst:.3g}"]
        assert any(row[-len(figures) :] == figures for row in rows), figures


def test_a_table_that_is_too_wide_is_found_out(simulation):
    """At 50 columns figures are cut off."""
    with pytest.raises(AssertionError):
        test_every_figure_stands_whole_on_one_line(simulation, 50)


class Elements(HTMLParser):
    """Checks that elements are closed in order."""

    def handle_starttag(self, tag, _attrs):
        """Note one element."""
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last element."""
        assert self.open.pop() == tag


def test_page_stands_by_itself(simulation):
    """Nothing is loaded from anywhere, texts are escaped, both colour schemes are there."""
    text, page = html_page(simulation), Elements()
    page.open = []
    page.feed(text)
    assert page.open == []
    assert not re.search(r"src=|href=|@import|<script|<link|url\(|<b>", text)
    scheme = "prefers-color-scheme: dark"
    for said in (scheme, "&lt;b&gt;&amp;", "&lt;alarms&gt;.yaml", simulation.audience[1:]):
        assert said in text


def test_page_says_what_a_terminal_does(simulation):
    """Row by row, the same figures."""
    words = set(shown(simulation).split())
    rows = re.findall(r"<tr.*?</tr>", html_page(simulation), re.DOTALL)[1:]
    assert len(rows) == len(simulation.alarms[0].settings)
    for row in rows:
        cells = re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL)
        assert {word for cell in cells[1:] for word in cell.split()} <= words


def test_tables_fold_on_a_phone(simulation):
    """Every figure has its column's name with it, as a narrow page folds rows and hides the head.

    What is wider all the same scrolls in a box of its own.
    """
    text = html_page(simulation)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    names = re.findall(r"<th>(.*?)</th>", text, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", text[text.index("<tbody>") :], re.DOTALL)
    assert rows
    for row in rows:
        cells = re.findall(r"<td(?: data-name=\"(.*?)\")?>", row, re.DOTALL)
        assert cells == ["", *names[1:]]
    assert text.count("<table") == text.count('<div class="scroll" tabindex="0"><table>')
    assert "nowrap" not in text


def test_what_could_not_be_had_is_said_with_its_reason():
    """On a terminal, on the page and in JSON."""
    found = simulated(alarm(2), near_the_threshold(2, 2))
    (results,) = found.alarms
    bare = replace(found, alarms=(replace(results, refused=("it cannot",)),))
    for text in (html_page(bare), shown(bare), json.dumps(as_json(bare))):
        assert "it cannot" in text
