"""The page: what it says, that hostile values stay words, and that nothing private is on it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from accountant.loss.gaussian import Gaussian
from accountant.units import Contribution, PrivacyUnit
from stream.kafka.board.standing import Kind, Seen
from stream.kafka.board.view import _REASONS, MOST_LISTED, SHAPES, WIDTH, promise, row_of, words
from stream.model.alarms import Budget
from stream.model.boards import Board
from stream.model.feeds import Domain
from stream.model.lifecycles import Lifecycle
from stream.model.reasons import DENIALS
from stream.windows.calendars import LocalCalendar
from stream.windows.periods import Periods
from tests.support.boards import Page, Scene, setup_of, window_of
from tests.support.published import HOUR_MS, alarm_of, decision_of
from tests.support.tree import ROOT

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</li></ul></main><style>*{display:none}</style>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% include 'board.html' %}",
    "data: x\n\nevent: view",
    "&lt;b&gt;&#0;",
    "\u202egnitrats\u2066",
    "",
)
DAY = Periods(LocalCalendar(1, 1, "Europe/Berlin"))
LAB = (("room", "lab"),)
HALL = (("room", "hall"),)


def told_by(scene, now_ms=0, **how):
    """Return the words of the page."""
    return Page(scene.html(now_ms, **how)).text


def page_of(values):
    """Return a page on which groups, fields, alarms and annotations have these values."""
    scene = Scene(setup_of({"crowd": Lifecycle(annotations={"said": "{room}"})}))
    scene.hour(0, values)
    for value in values:
        fired = alarm_of(0, {value: "lab"}, alarm=value)
        scene.standings.take(window_of(decision_of(0, alarms=[fired], alarm=value), [fired]))
    return Page(scene.html())


def test_hostile_values_are_words_and_nothing_else():
    """No element and no attribute comes of them, and they can be read as they are."""
    ours, theirs = page_of([f"room {n}" for n in range(len(HOSTILE))]), page_of(HOSTILE)
    shapes = [sorted([tag, *sorted(each)] for tag, each in page.tags) for page in (ours, theirs)]
    assert shapes[0] == shapes[1]
    assert [each.get("src") for each in theirs.all("script")] == ["board.js"]
    words = "".join(theirs.texts)
    assert not [value for value in HOSTILE[:6] if value not in words]
    assert "\u202e" not in words
    assert "\N{REPLACEMENT CHARACTER}gnitrats" in words


def test_nothing_stands_in_the_page_that_its_policy_would_refuse():
    """No style, no script and no handler in the page itself, nothing from elsewhere."""
    page = page_of(["lab"])
    names = {name for tag, each in page.tags for name in (tag, *each)}
    assert not [name for name in names if name == "style" or name.startswith("on")]
    links = [each.get("href", each.get("src", "")) for _, each in page.tags]
    assert not [link for link in links if "//" in link or link.startswith("data:")]
    ids = [each["id"] for _, each in page.tags if "id" in each]
    assert len(ids) == len(set(ids))


def test_what_was_charged_changes_nothing_on_the_page():
    """Decisions say what they cost; the page says what is promised, and nothing of what is left."""
    free, charged = Scene(), Scene()
    free.standings.take(window_of(decision_of(0)))
    charge = {"epsilon": "3.987654321", "epsilon_units": 11, "cells_per_unit": 7}
    charged.standings.take(window_of(msgspec.structs.replace(decision_of(0), **charge)))
    assert free.html() == charged.html()


def test_it_says_what_fires_and_since_when():
    """With the alarm, its group and what the configuration says of it."""
    terms = {"crowd": Lifecycle(annotations={"summary": "{room} is full"})}
    scene = Scene(setup_of(terms))
    scene.hour(0, ["lab"])
    scene.hour(1, ["lab"])
    assert "crowd room lab since 1970-01-01 00:00 UTC lab is full" in told_by(scene)
    scene.hour(2)
    assert "Nothing fires." in told_by(scene)


def test_denials_are_told_apart_from_windows_without_an_alarm():
    """In counts, in the words of a strip and in the list, with the reason."""
    scene = Scene()
    scene.hour(0, ["lab"])
    scene.hour(1)
    scene.hour(2, denied=True)
    scene.hour(3, unanswered=2)
    lost = decision_of(4, alarms=[alarm_of(4, {})])
    scene.standings.take(window_of(lost, whole=False))
    said = told_by(scene)
    assert (
        "2 windows with an alarm; 1 without an alarm; 1 denied, without any answer;"
        " 1 no alarm, but not answered in full."
    ) in said
    (crowd,) = scene.alarms()
    assert [words(window).partition(" (")[0] for window in crowd.standing.seen] == [
        "fired: lab",
        "did not fire",
        "denied: budget",
        "not all were answered: unanswered",
        "fired: 1 more; not all were answered: incomplete_records",
    ]
    assert "02:00 to 03:00 denied: budget (the privacy budget, or this alarm's SVT run," in said
    assert [each["aria-label"] for each in Page(scene.html()).all("svg") if "role" in each] == [
        (
            "fired in 2 of 5 windows; did not fire: 1; denied: 1; not known: 1;"
            " last fired 1970-01-01 04:00 to 05:00"
        ),
        (
            "fired in 1 of 5 windows; did not fire: 1; denied: 1; not known: 2;"
            " last fired 1970-01-01 00:00 to 01:00"
        ),
    ]


def test_every_reason_and_every_kind_has_its_own():
    """Words, and a shape: no two kinds are drawn alike, without any colour."""
    assert set(_REASONS) == {*DENIALS, "unanswered", "incomplete_records"}
    assert set(SHAPES) == {"lost", *Kind}
    assert len(set(SHAPES.values())) == len(SHAPES)


def test_so_many_rows_are_shown_and_the_rest_is_said():
    """Who fires comes first, then who fired most; nobody is left out unsaid."""
    scene = Scene(setup_of(board=Board(groups=2)))
    for number, rooms in enumerate((["attic", "hall", "lab"], ["hall", "lab"], ["attic"])):
        scene.hour(number, rooms)
    (crowd,) = scene.alarms()
    rows = [(row.name, row.fires) for row in crowd.rows]
    assert rows == [("any", True), ("attic", True), ("hall", False)]
    assert crowd.more == 1
    assert "1 more fired" in told_by(scene)
    crowded = Scene()
    crowded.hour(0, [str(number) for number in range(130)])
    assert "30 more fire." in told_by(crowded)


ROOMS = Domain(("room",), (("lab", "hall", "attic", "<b>"),))
MANY = Domain(("room",), (tuple(map(str, range(600))),))
FLOORS = Domain(("floor", "room"), (("1", "2"), ("lab", "hall")))


def unfired(scene):
    """Return the groups that are listed as without an alarm; ``None`` where it is not known."""
    (crowd,) = scene.alarms()
    said = told_by(scene)
    assert ("Groups without an alarm" in said) is (crowd.without is not None)
    if crowd.without is None:
        return None
    assert f"in these windows: {crowd.without}" in said
    assert (f"{crowd.without - MOST_LISTED} more are not listed." in said) is (
        crowd.without > len(crowd.unfired)
    )
    return crowd.unfired


@pytest.mark.parametrize(
    ("domain", "fired", "whole", "listed"),
    [
        # a group that is not configured takes none off
        (ROOMS, [{"room": "hall"}, {"room": "cellar"}], True, ["lab", "attic", "<b>"]),
        # groups of several fields are their combinations, in whichever order a record has them
        (FLOORS, [{"room": "lab", "floor": "2"}], True, ["1, lab", "1, hall", "2, hall"]),
        (MANY, [{"room": "0"}], True, [str(room) for room in range(1, MOST_LISTED + 1)]),
        # none is taken for one that did not where records are gone, or more fired than are named
        (ROOMS, [{"room": "lab"}], False, None),
        (MANY, [{"room": str(room)} for room in range(300)], True, None),
        (None, [{"room": "lab"}], True, None),
    ],
)
def test_groups_without_an_alarm_are_listed_as_configured(domain, fired, *, whole, listed):
    """Less those with a published alarm, where all of these are known."""
    scene = Scene(setup_of(groups={"other": ROOMS} if domain is None else {"crowd": domain}))
    assert "Groups without an alarm" not in told_by(scene)
    alarms = [alarm_of(0, group) for group in fired]
    window = window_of(decision_of(0, alarms=alarms), alarms if whole else [], whole=whole)
    scene.standings.take(window)
    scene.hour(1, denied=True)
    assert unfired(scene) == (None if listed is None else tuple(listed))


def test_a_group_that_fired_in_an_earlier_step_is_not_without_an_alarm():
    """Also where that step is no window of those shown any more."""
    scene = Scene(setup_of(board=Board(windows=1), groups={"crowd": ROOMS}))
    scene.step(0, ["lab"])
    scene.step(1)
    assert unfired(scene) == ("hall", "attic", "<b>")


def test_it_links_what_else_analysts_may_read():
    """The public topics with their schemas, and what the file names; nothing that is internal."""
    board = Board(links={"Dashboard": "https://grafana.example.com/d/tocsin-alarms"})
    page = Page(Scene(setup_of(board=board)).html())
    assert [each["href"] for each in page.all("a")] == [
        "#view",
        *(f"{name}.schema.json" for name in ("decision", "alarm", "count")),
        "https://grafana.example.com/d/tocsin-alarms",
    ]
    assert "Kafka topic decisions: what became of every window (schema)" in page.text
    assert [word for word in ("bell", "ledgers", "127.0.0.1:1") if word in page.text] == []


def test_a_page_that_stands_still_says_so():
    """Kafka away, a decision overdue, nothing read yet: three different things."""
    scene = Scene(setup_of({"mute": Lifecycle()}))
    assert "No decision was heard of yet." in told_by(scene)
    scene.hour(0, ["lab"])
    soon, late = 2 * HOUR_MS, 3 * HOUR_MS
    fresh = told_by(scene, soon)
    assert "Last decision: 1970-01-01 01:00 UTC." in fresh
    assert "No decision of it was heard of." in fresh
    assert "verdue" not in fresh
    old = told_by(scene, late)
    assert "Overdue: crowd." in old
    assert "The next decision was due by 1970-01-01 02:30 UTC." in old
    assert "Kafka does not answer" in told_by(scene, soon, away=True)
    reading = told_by(scene, late, caught_up=False)
    assert "Reading what was published before" in reading
    assert "lab" not in reading


@pytest.mark.parametrize(
    ("unit", "periods", "whose", "period"),
    [
        (PrivacyUnit.USER, DAY, "all events of one person in one period", "1 day in"),
        (PrivacyUnit.USER, Periods.lifetime(), "all events of one person", "lifetime"),
        (PrivacyUnit.EVENT, None, "one event of one feed", "lifetime"),
    ],
)
def test_the_promise_is_what_the_configuration_says(unit, periods, whose, period):
    """Its terms, as anybody may know them; a Gaussian one has its delta beside it."""
    pure = Budget(unit, Fraction(7, 2), periods, Contribution())
    gaussian = replace(pure, gaussian=Gaussian(Fraction(7, 2), Fraction(1, 10**6)))
    terms, others = dict(promise(pure)), dict(promise(gaussian))
    assert terms["epsilon_max"] == "3.5"
    assert terms["unit"] == f"{unit.value}: {whose}"
    assert terms["period"].startswith(period)
    sentence = others.pop("promise")
    said = terms.pop("promise")
    assert others == {**terms, "delta": "1e-06 (privacy: gdp)"}
    assert "e^3.5 times as likely, but for 1e-06 of probability" in sentence
    assert "e^3.5 times as likely, whatever" in said
    assert "does not say what the budget is" in told_by(Scene())


FIRED = frozenset([LAB])
NOBODY = frozenset()
WINDOWS = [
    Seen(at, at + 1, outcome, "", fired, earlier, len(fired), lost=2 * (at == 3))
    for at, (outcome, fired, earlier) in enumerate(
        [
            (Kind.NOT_FIRED, FIRED, NOBODY),
            (Kind.NOT_FIRED, NOBODY, NOBODY),
            (Kind.DENIED, NOBODY, NOBODY),
            (Kind.UNSURE, FIRED, NOBODY),
            (Kind.NOT_FIRED, NOBODY, FIRED),
            (Kind.DENIED, NOBODY, FIRED),
        ]
    )
]


def test_each_window_is_what_it_was_for_whom_it_is_asked():
    """It fired, did not fire, was denied, is unsure, or it had fired earlier."""
    for kinds, letters in (
        ([each.kind(LAB) for each in WINDOWS], "fndfee"),
        ([each.kind(HALL) for each in WINDOWS], "nndund"),
        ([each.kind_of_any for each in WINDOWS], "fndfed"),
    ):
        assert "".join(kind[0] for kind in kinds) == letters


def test_a_strip_has_a_shape_for_every_window():
    """The oldest is at the left; none is left out, and what is lost before one is drawn, too."""
    row = row_of("", WINDOWS[2:4], [Kind.DENIED, Kind.UNSURE], fires=False)
    assert row.paths == {
        Kind.DENIED: f"M0 0{SHAPES[Kind.DENIED]}",
        Kind.UNSURE: f"M{WIDTH} 0{SHAPES[Kind.UNSURE]}",
        "lost": f"M{WIDTH} 0{SHAPES['lost']}",
    }
    assert row.counts == {Kind.DENIED: 1, Kind.UNSURE: 1}


STYLES = (ROOT / "stream" / "kafka" / "board" / "static" / "board.css").read_text()
INKS = ("ink", "quiet", "fired", "denied", "unsure", "warn")
LEAST = {
    **{(ink, paper): 4.5 for ink in INKS for paper in ("page", "card")},
    **{(ink, "fired-card"): 4.5 for ink in ("ink", "warn")},
    **{(ink, "card"): 3.0 for ink in ("not-fired", "focus")},
}
"""AA: words 4.5 to 1, shapes and focus 3 to 1, on whatever they stand on."""


def luminance(colour):
    """Return how light a colour is (WCAG 2.2, definition of relative luminance)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """Return the contrast of two colours (WCAG 2.2, definition of contrast ratio)."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(scheme):
    """Also where the reader wants it dark."""
    light, _, rest = STYLES.partition("@media (prefers-color-scheme: dark)")
    styles = light if scheme == "light" else rest.partition("\n}\n")[0]
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", styles))
    weak = [
        pair for pair, least in LEAST.items() if contrast(*(found[name] for name in pair)) < least
    ]
    assert weak == []
    assert contrast("#777777", "#ffffff") < 4.5  # a grey that is known to be too light
