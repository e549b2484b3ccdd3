"""What a ledger is pinned to, and how that may change."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.errors import ConfigChangedError, LedgerCorruptError, LogChangedError
from accountant.records import Answer, LogIdentity, Outcome, PartialStatus, QueryRegistration
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from tests.support.ledgers import (
    EVENT,
    USER,
    A,
    Opens,
    Series,
    admit,
    deny,
    must_verify,
    partial,
    refuses,
    registration,
    set_up,
    settle,
    status_of,
    terms,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]


def test_identity_stays(opened: Opens) -> None:
    """Id and hash key are made once and read ever after."""
    first, second = opened(), opened()
    assert (first.ledger_id, first.hash_key) == (second.ledger_id, second.hash_key)
    assert len(first.hash_key) == 32


def test_budget_never_changes(ledger: Ledger) -> None:
    """Another wall, unit or period is refused and named."""
    ledger.pins.register_budget(terms(EVENT, 5))
    ledger.pins.register_budget(terms(EVENT, 5))
    with pytest.raises(ConfigChangedError, match="epsilon_max"):
        ledger.pins.register_budget(terms(EVENT, 6))
    with pytest.raises(ConfigChangedError, match="unit 'event' -> 'user'"):
        ledger.pins.register_budget(terms(USER, 5))


def test_log_never_changes(ledger: Ledger) -> None:
    """A topic that was created anew, or grew a partition, is another log."""
    ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 2))
    ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 2))
    with pytest.raises(LogChangedError, match="topic_id 't1' -> 't2'") as caught:
        ledger.pins.register_log(LogIdentity("feed", "c", "t2", "topic", 2))
    assert "write `ledger: sqlite:///.tocsin/NAME.db`" in caught.value.hint
    with pytest.raises(LogChangedError, match="partitions 2 -> 3"):
        ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 3))


def test_a_topic_has_one_budget(ledger: Ledger) -> None:
    """Another name for the feed is no fresh budget for the same events."""
    for feed, topic_id, topic in (
        ("one", "t1", "events"),
        ("renamed", "t1", "moved"),
        ("anew", "t2", "events"),
        ("other", "t3", "others"),
    ):
        ledger.pins.register_log(LogIdentity(feed, "c", topic_id, topic, 2))
        ledger.pins.register_budget(terms(EVENT, 5, f"feed:{feed}"))
    given = QueryRegistration("q-one", "feed:one", "one", "f1", "{}", 0)
    assert ledger.pins.register_query(given) == 0
    for feed in ("renamed", "anew"):
        second = replace(given, query=f"q-{feed}", scope=f"feed:{feed}", feed=feed)
        with pytest.raises(ConfigChangedError, match="as feed 'one': an event has one budget"):
            ledger.pins.register_query(second)
        shared = replace(second, scope="feed:one")  # as under unit user: one budget for all feeds
        assert ledger.pins.register_query(shared) == 0
    ledger.pins.register_query(replace(given, query="q-other", scope="feed:other", feed="other"))
    assert sorted(ledger.reports.status().queries) == ["q-anew", "q-one", "q-other", "q-renamed"]


def test_a_feed_has_one_budget(ledger: Ledger) -> None:
    """Another privacy unit under another alarm's name is no second wall for the same people."""
    ledger.pins.register_budget(terms(USER, 5, "user"))
    ledger.pins.register_budget(terms(EVENT, 5, "feed:one"))
    ledger.pins.register_log(LogIdentity("one", "c", "t1", "events", 2))
    given = QueryRegistration("q", "user", "one", "f1", "{}", 0)
    ledger.pins.register_query(given)
    second = replace(given, query="again", scope="feed:one")
    with pytest.raises(ConfigChangedError, match="would draw on 'feed:one': an event has one"):
        ledger.pins.register_query(second)
    with pytest.raises(ConfigChangedError, match="an event has one budget"):
        ledger.pins.refuse_changes([], [], [replace(second, feed="one")])
    ledger.pins.remove_alarm("q")
    with pytest.raises(ConfigChangedError, match="an event has one budget"):
        ledger.pins.register_query(second)


def test_events_keep_the_field_that_dates_them(ledger: Ledger) -> None:
    """By two fields one event would lie in two windows that are taken to share none."""
    ledger.pins.register_budget(terms(EVENT, 5))
    dated = {name: json.dumps({"feed": {"time": name}}) for name in ("ts", "seen")}
    given = QueryRegistration("q", "s", "feed", "f1", dated["ts"], 0)
    ledger.pins.register_query(given)
    ledger.pins.register_query(
        replace(given, query="elsewhere", feed="doors", definition=dated["seen"])
    )
    with pytest.raises(ConfigChangedError, match="charged as two"):
        ledger.pins.register_query(replace(given, query="new", definition=dated["seen"]))
    with pytest.raises(ConfigChangedError, match="charged as two"):
        ledger.pins.accept_change(replace(given, fingerprint="f2", definition=dated["seen"]), 20)
    ledger.pins.accept_change(replace(given, fingerprint="f2"), 20)
    assert ledger.pins.register_query(replace(given, fingerprint="f2")) == 0


def test_rows_of_a_query_are_what_was_registered(ledger: Ledger) -> None:
    """A region that was changed behind the ledger's back, or that two versions see otherwise."""
    here = replace(A, shape=Shape(Region.where(x=1).canonical))
    set_up(ledger, EVENT, 5, [here])
    with pytest.raises(LedgerCorruptError, match="other rows"):
        ledger.pins.register_query(registration(A))
    assert ledger.pins.register_query(registration(here)) == 0


def test_query_change_is_named(ledger: Ledger) -> None:
    """A changed definition is refused with the path that differs and the command that helps."""
    ledger.pins.register_budget(terms(EVENT, 5))
    old = QueryRegistration("q", "s", "feed", "f1", json.dumps({"having": {"c": 120}}), 40)
    assert ledger.pins.register_query(old) == 40
    new = QueryRegistration("q", "s", "feed", "f2", json.dumps({"having": {"c": 130}}), 90)
    with pytest.raises(ConfigChangedError, match=r"having\.c \(120 -> 130\)") as caught:
        ledger.pins.register_query(new)
    assert "tocsin ledger" in caught.value.hint
    assert ledger.pins.register_query(old) == 40


def test_accepted_change_takes_effect_at_a_boundary(ledger: Ledger) -> None:
    """Before the boundary windows can only be denied, from there the new configuration decides."""
    set_up(ledger, EVENT, 5, [A])
    ledger.counts.put_partial(partial(A, 0))
    new = Series("a", fingerprint="f2")
    ledger.pins.accept_change(registration(new), 20)
    ledger.pins.accept_change(registration(new), 20)
    assert ledger.pins.register_query(registration(new)) == 0
    with pytest.raises(ConfigChangedError):
        ledger.counts.put_partial(partial(A, 2))
    assert ledger.counts.put_partial(partial(new, 1)) is PartialStatus.DECIDED
    assert ledger.counts.put_partial(partial(new, 2)) is PartialStatus.STORED
    admit(ledger, 40, new)
    assert refuses(ledger, new, 0)
    for index in (0, 1):
        assert deny(ledger, new, index, "reconfigured").outcome is Outcome.DENIED
    assert refuses(ledger, new, 3), "nothing is stepped over from the boundary on"
    assert settle(ledger, new, 2).fingerprint == "f2"
    must_verify(ledger)


def test_reservation_of_the_old_configuration_is_missed(ledger: Ledger) -> None:
    """A window reserved under the old fingerprint cannot be decided under the new one."""
    set_up(ledger, EVENT, 5, [A])
    admit(ledger, 20, A)
    new = Series("a", fingerprint="f2", units=3)
    ledger.pins.accept_change(registration(new), 0)
    assert ledger.answer(A.key(0)) is Answer.MISSED
    assert refuses(ledger, new, 0)
    deny(ledger, new, 0, "reconfigured")
    must_verify(ledger)


def test_accepted_change_gives_old_reservations_back(ledger: Ledger) -> None:
    """Windows that the new calendar doesn't have hold no loss, before the boundary or behind it."""
    old = Series("a", size=20, step=10)
    new = Series("a", size=30, step=30, fingerprint="f2")
    set_up(ledger, EVENT, 2, [old])
    admit(ledger, 60, old)
    ledger.pins.accept_change(registration(new), 30)
    assert status_of(ledger).reservations == 0
    for index, reason in enumerate(("reconfigured", "not_admitted")):
        deny(ledger, new, index, reason)
    admit(ledger, 90, new)
    assert settle(ledger, new, 2).outcome is Outcome.DECIDED
    must_verify(ledger)


def test_retired_query_gives_its_reservations_back(ledger: Ledger) -> None:
    """What a retired query had settled stays, what it had only reserved is free again."""
    set_up(ledger, EVENT, 1, [A, Series("z")])
    admit(ledger, 20, A)
    settle(ledger, A, 0)
    ledger.pins.remove_alarm("a")
    ledger.pins.remove_alarm("a")
    assert status_of(ledger).reservations == 0
    with pytest.raises(ConfigChangedError, match="removed"):
        ledger.pins.register_query(registration(A))
    with pytest.raises(ConfigChangedError, match="removed"):
        settle(ledger, A, 1)
    must_verify(ledger)


def test_a_file_has_one_budget(opened: Opens) -> None:
    """By what it holds, whatever feed, topic and alarm are called; in one call or in two."""
    ledger = opened()
    for feed in ("one", "renamed", "other"):
        ledger.pins.register_log(LogIdentity(feed, "replay", f"replay:{feed}", f"{feed}-topic", 1))
        ledger.pins.register_budget(terms(EVENT, 5, f"feed:{feed}"))
    given = QueryRegistration("q-one", "feed:one", "one", "f1", "{}", 0)
    second = replace(given, query="q-renamed", scope="feed:renamed", feed="renamed")
    refused = pytest.raises(ConfigChangedError, match=r"'renamed' reads a file, .* as feed 'one'")
    with refused:
        ledger.pins.refuse_changes([], [], [given, second], files={name: ["d1"] for name in NAMES})
    ledger.pins.register_files({"one": ["d1", "d2"]})
    ledger.pins.register_files({"one": ["d1", "d3"]})
    assert ledger.pins.register_query(given) == 0
    for again in (ledger, opened()):
        again.pins.refuse_changes([], [], [second], files={"renamed": ["d4"]})
        with refused:
            again.pins.refuse_changes([], [], [second], files={"renamed": ["d4", "d3"]})
    ledger.pins.register_files({"other": ["d1"], "renamed": ["d2"]})
    shared = replace(second, query="q-other", scope="feed:one", feed="other")
    assert ledger.pins.register_query(shared) == 0  # as under unit user: one budget for all feeds
    with refused:
        opened().pins.register_query(second)


def test_a_file_of_somebody_is_no_public_reference(ledger: Ledger) -> None:
    """Whatever its feed is called; files that nobody protects may be one."""
    ledger.pins.register_budget(terms(USER, 5, "user"))
    ledger.pins.register_query(QueryRegistration("q", "user", "one", "f1", "{}", 0))
    ledger.pins.register_files({"one": ["d1"]})
    log = LogIdentity("renamed", "replay", "replay:renamed", "topic", 1)
    ledger.pins.refuse_changes([], [log], [], ["renamed"], {"renamed": ["d2"]})
    with pytest.raises(ConfigChangedError, match="'renamed' is a public reference, and alarm 'q'"):
        ledger.pins.refuse_changes([], [log], [], ["renamed"], {"renamed": ["d2", "d1"]})


NAMES = ("one", "renamed")
