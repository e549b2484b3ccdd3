"""Words that a user does not read: for each there is the field's own."""

from __future__ import annotations

import json
import re

import pytest

from deploy.site.reference import PAGES
from tests.support.tree import ROOT, text_of

INSTEAD = r"""
rings?|rang|rung|ringing                               fire, fired
silent|silence                                         did not fire; no alarm
told|tells?                                            report, publish, reveal
dear|dearer|dearest|worst-off                          highest-cost, maximum per person
borne                                                  tolerated
right from                                             detected from
missed if silent                                       miss rate given no alarm
looks(?! for| like| at| up)|(?:a|each|every|one) look  evaluation
questions?                                             query, request
blurred                                                noisy
the wall                                               budget limit
really lost                                            realised loss
useless                                                low utility
predicates?                                            group
granules?                                              resolution
marks?                                                 watermark
(?:a|the|its|window's) cut                             window close
ticks?                                                 publish interval
(?:alarms?|decisions?) leaves?                         is published
held back|heldback                                     blocked
is away|still away                                     unreachable
cannot go on                                           fatal
rehears\w+                                             dry run
couriers?|parcels?|outlets?                            sender, messages, producer
partials?                                              partial aggregates
doorbells?                                             wake-up
crew|abreast|peeks?                                    worker pool, batched, sample
vouch\w*|parted copies                                 attestation, diverged copies
is another than                                        does not match
bridges?|bridged                                       the MQTT source, tocsin mqtt
(?<!core )dump(?:s|ed)?                                export
mark-spent|set-clock                                   reconcile, reset-clock
retire[sd]?                                            remove an alarm
anchors?                                               checkpoint
claim(?:s|ed|ing)?                                     own, take ownership
accepted change|mark of time|marks of time             applied change, clock, watermarks
presences?                                             connectivity
"""
"""What is not written, and what is."""

STILL = {
    "docs/reference/cli.md": 3,
    "docs/reference/metrics-and-alerts.md": 11,
}
"""Pages made from the code, and how many such words are left there: lower it, never raise it."""

SECTIONS = ("tutorials", "how-to", "reference", "explanation")
SPOKEN = frozenset({"title", "description", "noValue", "text", "label", "titleFormat"})
"""Keys of a dashboard whose values are read by people."""


def pages():
    """Yield every page for users by its name, as prose."""
    docs = ROOT / "docs"
    found = [page for section in SECTIONS for page in sorted((docs / section).glob("*.md"))]
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", docs / "index.md", *found):
        text = page.read_text()
        # All helps are on one page, which is made from the code.
        yield str(page.relative_to(ROOT)), text if page.name == "cli.md" else prose(text)


def prose(text):
    """Return a page without code, comments and where its links lead."""
    for code in (r"```.*?```", r"<!--.*?-->", r"`[^`\n]*`", r"(?<=\])\([^)]*\)"):
        text = re.sub(code, " ", text, flags=re.DOTALL)
    return text


def spoken(value):
    """Yield the texts of a dashboard."""
    if isinstance(value, dict):
        texts = (each for key, each in value.items() if key in SPOKEN and isinstance(each, str))
        yield from (re.sub(r"\{\{.*?\}\}", "", each) for each in texts)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from spoken(each)


def deployed():
    """Yield dashboards, chart, compose file and alerts."""
    deploy = ROOT / "deploy"
    for board in sorted((deploy / "grafana/dashboards").rglob("*.json")):
        yield str(board.relative_to(ROOT)), "\n".join(spoken(json.loads(board.read_text())))
    charted = [*(deploy / "helm/tocsin").rglob("*"), *(deploy / "helm/cases").glob("*.yaml")]
    others = (ROOT / "docker-compose.yml", deploy / "alerts.yml", *deploy.glob("alertmanager/*"))
    for file in sorted({*charted, *others}):
        if file.is_file() and file.suffix in {".yaml", ".yml", ".txt", ".tpl"}:
            yield str(file.relative_to(ROOT)), file.read_text()


def templates():
    """Yield pages that the product writes, without what is filled in."""
    for file in sorted((ROOT / "stream").rglob("templates/*.html")):
        text = re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", file.read_text(), flags=re.DOTALL)
        yield str(file.relative_to(ROOT)), text


PLACES = dict([*pages(), *deployed(), *templates()])


def found(text):
    """Return every unused word of a text, in its order."""
    words = "|".join(line.split("  ")[0] for line in INSTEAD.split("\n")[1:-1])
    return re.findall(rf"(?<![\w.$`-])(?:{words})(?![\w-])", text, flags=re.IGNORECASE)


@pytest.mark.parametrize("place", PLACES)
def test_the_fields_words_are_used(place):
    """Pages, helps, dashboards, chart, compose file, alerts and the board: none of these words."""
    words = found(PLACES[place])
    assert len(words) <= STILL.get(place, 0), words


def test_no_command_has_a_name_of_old():
    """In code as in prose; a field called `count` is none, and the changelog says what was."""
    names = "bridge|deliver|dump|grow|accept|claim|mark-spent|retire|set-clock"
    for page in {place for place, _ in pages()} - {"CHANGELOG.md"}:
        assert not re.findall(rf"`(?:{names})[` ]|tocsin (?:{names}|count)\b", text_of(page)), page


def test_exceptions_are_pages_made_from_the_code():
    """What is written by hand has none."""
    assert STILL.keys() <= {f"docs/{page}" for page in PAGES}


@pytest.mark.parametrize(
    "text", ["Nothing rings.", "what is told", "The dearest predicate", "the wall", "Silence"]
)
def test_a_text_of_old_is_caught(text):
    """The twin: words that were everywhere."""
    assert found(text)
