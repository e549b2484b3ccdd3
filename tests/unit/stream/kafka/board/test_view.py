"""The page: what it says, that hostile values stay words, and that nothing private is on it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.kafka.board.standing import Group

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
GDP = Gaussian(Fraction(7, 2), Fraction(1, 10**6))


def told_by(scene: Scene, now_ms: int = 0, **how: bool) -> str:
    """Return the words of the page."""
    return Page(scene.html(now_ms, **how)).text


def told_of(values: Sequence[str]) -> str:
    """Return a page on which groups, fields, alarms and annotations have these values."""
    terms = Lifecycle(annotations={"said": "{room}"})
    scene = Scene(setup_of({"crowd": terms}))
    scene.hour(0, values)
    for value in values:
        ring = alarm_of(0, {value: "lab"}, alarm=value)
        scene.standings.take(window_of(decision_of(0, alarms=[ring], alarm=value), [ring]))
    return scene.html()


def shape_of(page: Page) -> list[list[str]]:
    """Return the elements of a page, each with the names of its attributes."""
    return sorted([tag, *sorted(each)] for tag, each in page.tags)


def test_hostile_values_are_words_and_nothing_else() -> None:
    """No element and no attribute comes of them, and they can be read as they are."""
    ours, theirs = (Page(told_of(values)) for values in ([f"room {n}" for n in range(10)], HOSTILE))
    assert shape_of(theirs) == shape_of(ours)
    assert [each.get("src") for each in theirs.all("script")] == ["board.js"]
    words = "".join(theirs.texts)
    assert not [value for value in HOSTILE[:6] if value not in words]
    assert "\u202e" not in words
    assert "\N{REPLACEMENT CHARACTER}gnitrats" in words


def test_nothing_stands_in_the_page_that_its_policy_would_refuse() -> None:
    """No style, no script and no handler in the page itself, nothing from elsewhere."""
    scene = Scene()
    scene.hour(0, ["lab"])
    page = Page(scene.html())
    names = {name for tag, each in page.tags for name in (tag, *each)}
    assert not [name for name in names if name == "style" or name.startswith("on")]
    links = [each.get("href", each.get("src", "")) for _, each in page.tags]
    assert not [link for link in links if "//" in link or link.startswith("data:")]
    ids = [each["id"] for _, each in page.tags if "id" in each]
    assert len(ids) == len(set(ids))


def test_what_was_charged_changes_nothing_on_the_page() -> None:
    """Decisions say what they cost; the page says what is promised, and nothing of what is left."""
    free, charged = Scene(), Scene()
    decision = decision_of(0)
    free.standings.take(window_of(decision))
    charge = {"epsilon": "3.987654321", "epsilon_units": 11, "cells_per_unit": 7}
    charged.standings.take(window_of(msgspec.structs.replace(decision, **charge)))
    assert free.html() == charged.html()


def test_it_says_what_rings_and_since_when() -> None:
    """With the alarm, its group and what the configuration says of it."""
    terms = {"crowd": Lifecycle(annotations={"summary": "{room} is full"})}
    scene = Scene(setup_of(terms))
    scene.hour(0, ["lab"])
    scene.hour(1, ["lab"])
    assert "crowd room lab since 1970-01-01 00:00 UTC lab is full" in told_by(scene)
    scene.hour(2)
    assert "Nothing fires." in told_by(scene)


def test_denials_are_told_apart_from_silence_in_words() -> None:
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
    assert "1970-01-01 02:00 to 03:00 denied: budget (the privacy budget does not hold" in said
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


def test_every_reason_is_explained() -> None:
    """Those of denials, and the two of answers that are not whole."""
    assert set(_REASONS) == {*DENIALS, "unanswered", "incomplete_records"}


def test_so_many_rows_are_shown_and_the_rest_is_said() -> None:
    """Who rings comes first, then who fired most; nobody is left out in silence."""
    scene = Scene(setup_of(board=Board(groups=2)))
    scene.hour(0, ["attic", "hall", "lab"])
    scene.hour(1, ["hall", "lab"])
    scene.hour(2, ["attic"])
    (crowd,) = scene.alarms()
    assert [row.name for row in crowd.rows] == ["any", "attic", "hall"]
    assert (crowd.more, [row.fires for row in crowd.rows]) == (1, [True, True, False])
    assert "1 more fired" in told_by(scene)
    crowded = Scene()
    crowded.hour(0, [str(number) for number in range(130)])
    assert "30 more fire." in told_by(crowded)


ROOMS = Domain(("room",), (("lab", "hall", "attic", "<b>"),))


def test_groups_without_an_alarm_are_listed_as_configured() -> None:
    """Less those with a published alarm; a group that is not configured takes none off."""
    scene = Scene(setup_of(groups={"crowd": ROOMS}))
    assert "Groups without an alarm" not in told_by(scene)
    scene.hour(0, ["hall", "cellar"])
    scene.hour(1, denied=True)
    (crowd,) = scene.alarms()
    assert (crowd.unfired, crowd.without, crowd.fields) == (("lab", "attic", "<b>"), 3, "room")
    said = told_by(scene)
    assert "Groups without an alarm in these windows: 3" in said
    assert "denied or is not known says nothing of any group. lab attic <b>" in said
    other = Scene(setup_of(groups={"another": ROOMS}))
    other.hour(0, ["hall"])
    assert other.alarms()[0].without is None


def test_groups_of_several_fields_are_their_combinations() -> None:
    """In whichever order a record names the fields."""
    domain = Domain(("floor", "room"), (("1", "2"), ("lab", "hall")))
    scene = Scene(setup_of(groups={"crowd": domain}))
    ring = alarm_of(0, {"room": "lab", "floor": "2"})
    scene.standings.take(window_of(decision_of(0, alarms=[ring]), [ring]))
    (crowd,) = scene.alarms()
    assert (crowd.unfired, crowd.without) == (("1, lab", "1, hall", "2, hall"), 3)


def test_no_group_is_listed_where_not_all_alarms_are_known() -> None:
    """Records are gone, or more fired than are named: none is taken for one that did not."""
    gone = Scene(setup_of(groups={"crowd": ROOMS}))
    ring = alarm_of(0, {"room": "lab"})
    gone.standings.take(window_of(decision_of(0, alarms=[ring]), [], whole=False))
    many = Domain(("room",), (tuple(map(str, range(600))),))
    crowded = Scene(setup_of(groups={"crowd": many}))
    crowded.hour(0, [str(number) for number in range(300)])
    for scene in (gone, crowded):
        assert scene.alarms()[0].without is None
        assert "Groups without an alarm" not in told_by(scene)
    calm = Scene(setup_of(groups={"crowd": many}))
    calm.hour(0, ["0"])
    (crowd,) = calm.alarms()
    assert (len(crowd.unfired), crowd.unfired[0], crowd.without) == (MOST_LISTED, "1", 599)
    assert f"{599 - MOST_LISTED} more are not listed." in told_by(calm)


def test_a_group_that_fired_in_an_earlier_step_is_not_without_an_alarm() -> None:
    """Also where that step is no window of those shown any more."""
    scene = Scene(setup_of(board=Board(windows=1), groups={"crowd": ROOMS}))
    scene.step(0, ["lab"])
    scene.step(1)
    (crowd,) = scene.alarms()
    assert (crowd.unfired, crowd.without) == (("hall", "attic", "<b>"), 3)


def test_it_links_what_else_analysts_may_read() -> None:
    """The public topics with their schemas, and what the file names; nothing that is internal."""
    board = Board(links={"Dashboard": "https://grafana.example.com/d/tocsin-alarms"})
    page = Page(Scene(setup_of(board=board)).html())
    links = [each["href"] for each in page.all("a")]
    assert links == [
        "#view",
        *(f"{name}.schema.json" for name in ("decision", "alarm", "count")),
        "https://grafana.example.com/d/tocsin-alarms",
    ]
    assert "Kafka topic decisions: what became of every window (schema)" in page.text
    assert [word for word in ("bell", "ledgers", "127.0.0.1:1") if word in page.text] == []


def test_a_page_that_stands_still_says_so() -> None:
    """Kafka away, a decision overdue, nothing read yet: three different things."""
    scene = Scene(setup_of({"mute": Lifecycle()}))
    assert "No decision was heard of yet." in told_by(scene)
    scene.hour(0, ["lab"])
    soon, late = 2 * HOUR_MS, 3 * HOUR_MS
    fresh = told_by(scene, soon)
    assert "Last decision: 1970-01-01 01:00 UTC." in fresh
    assert "verdue" not in fresh
    assert "No decision of it was heard of." in fresh
    old = told_by(scene, late)
    assert "Overdue: crowd." in old
    assert "its next decision is overdue" in old
    assert "The next decision was due by 1970-01-01 02:30 UTC." in old
    assert "Kafka does not answer" in told_by(scene, soon, away=True)
    reading = told_by(scene, late, caught_up=False)
    assert "Reading what was published before" in reading
    assert "lab" not in reading


@pytest.mark.parametrize(
    ("unit", "periods", "gaussian", "said", "lasts"),
    [
        (PrivacyUnit.USER, DAY, None, ": all events of one person in one period", "1 day in"),
        (PrivacyUnit.USER, Periods.lifetime(), None, ": all events of one person", "lifetime"),
        (PrivacyUnit.EVENT, None, None, ": one event of one feed", "lifetime"),
        (PrivacyUnit.USER, DAY, GDP, ": all events of one person in one period", "1 day in"),
    ],
)
def test_the_promise_is_what_the_configuration_says(
    unit: PrivacyUnit, periods: Periods | None, gaussian: Gaussian | None, said: str, lasts: str
) -> None:
    """Its terms, as anybody may know them; a Gaussian one has its delta beside it."""
    budget = Budget(unit, Fraction(7, 2), periods, Contribution())
    budget = replace(budget, gaussian=gaussian)
    terms = dict(promise(budget))
    assert terms["epsilon_max"] == "3.5"
    assert terms["unit"] == f"{unit.value}{said}"
    assert terms["period"].startswith(lasts)
    assert terms.get("delta") == (None if gaussian is None else "1e-06 (privacy: gdp)")
    doubt = "" if gaussian is None else " as likely, but for 1e-06 of probability"
    assert f"e^3.5 times{doubt}" in terms["promise"]
    assert ("but for" in terms["promise"]) is bool(doubt)
    assert "does not say what the budget is" in told_by(Scene())


LAB: Group = (("room", "lab"),)
HALL: Group = (("room", "hall"),)
NOBODY: frozenset[Group] = frozenset()
WINDOWS = (
    Seen(0, 1, Kind.NOT_FIRED, "", frozenset([LAB]), NOBODY, 1, 0),
    Seen(1, 2, Kind.NOT_FIRED, "", NOBODY, NOBODY, 0, 0),
    Seen(2, 3, Kind.DENIED, "budget", NOBODY, NOBODY, 0, 0),
    Seen(3, 4, Kind.UNSURE, "unanswered", frozenset([LAB]), NOBODY, 1, 2),
    Seen(4, 5, Kind.NOT_FIRED, "", NOBODY, frozenset([LAB]), 0, 0),
    Seen(5, 6, Kind.DENIED, "budget", NOBODY, frozenset([LAB]), 0, 0),
)


def drawn(kinds: Sequence[Kind]) -> str:
    """Return a letter a window, by where the paths begin."""
    found = {}
    row = row_of("", WINDOWS, kinds, fires=False)
    for kind, path in row.paths.items():
        if kind != "lost":
            found |= {int(x) // WIDTH: kind[0] for x in re.findall(r"M(\d+) ", path)}
    assert sum(row.counts.values()) == len(WINDOWS)
    assert row.paths["lost"] == "M30 0v20"
    return "".join(found.get(place, " ") for place in range(len(WINDOWS)))


def test_each_window_is_what_it_was_for_whom_it_is_asked() -> None:
    """Fired, did not fire, denied, unsure, earlier; the oldest is at the left; none is left out."""
    assert drawn([each.kind(LAB) for each in WINDOWS]) == "fndfee"
    assert drawn([each.kind(HALL) for each in WINDOWS]) == "nndund"
    assert drawn([each.kind_of_any for each in WINDOWS]) == "fndfed"


def test_shapes_differ_without_any_colour() -> None:
    """No two kinds are drawn alike."""
    assert len(set(SHAPES.values())) == len(SHAPES)
    assert set(SHAPES) == {"lost", *Kind}


STYLES = (ROOT / "stream" / "kafka" / "board" / "static" / "board.css").read_text(encoding="utf-8")


def colours(text: str) -> Mapping[str, str]:
    """Return the variables of a part of the style sheet."""
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", text))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2.2, definition of contrast ratio)."""
    light = []
    for colour in (one, other):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        light.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    low, high = sorted(light)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_enough_in_light_and_dark(*, dark: bool) -> None:
    """AA: words 4.5 to 1, shapes and focus 3 to 1, on whatever they stand on."""
    light, _, rest = STYLES.partition("@media (prefers-color-scheme: dark)")
    found = colours(rest.partition("\n}\n")[0] if dark else light)
    for ink in ("ink", "quiet", "fired", "denied", "unsure", "warn"):
        for paper in ("page", "card"):
            assert contrast(found[ink], found[paper]) >= 4.5, (ink, paper)
    for ink in ("ink", "warn"):
        assert contrast(found[ink], found["fired-card"]) >= 4.5, ink
    for ink in ("not-fired", "focus"):
        assert contrast(found[ink], found["card"]) >= 3, ink
    assert contrast("#777777", "#ffffff") < 4.5  # a grey that is known to be too light
