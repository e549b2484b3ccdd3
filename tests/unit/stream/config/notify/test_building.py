"""The keys of lifecycles, ``notify`` and ``board``: what they become, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from accountant.errors import ConfigError
from stream.config.loading import load
from stream.config.notify.reading import read_board, read_subscription
from stream.model.boards import Board
from stream.model.feeds import Domain
from stream.model.fingerprints import definition_json
from stream.model.lifecycles import Lifecycle
from tests.support.commands import configuration

KAFKA = "kafka: {bootstrap: localhost:9092}\n"
TARGETS = """\
notify:
  alertmanagers: {main: http://localhost:9093/}
  webhooks: {pager: {url: https://pager/x, secret: "${SECRET}"}}
  mqtt: {home: {broker: localhost:1883, discovery_prefix: homeassistant}}
"""
SECRET = {"SECRET": "a secret of many bytes"}


def written(folder, lines="", more=""):
    """Write a configuration with further keys of its alarm, and further sections."""
    path = Path(configuration(folder))
    text = path.read_text()
    path.write_text(KAFKA + more + text + lines)
    return path


@pytest.mark.parametrize(
    ("lines", "terms"),
    [
        ("", Lifecycle()),
        ("    lifecycle: {for: 3}\n", Lifecycle(3, 3)),
        ("    lifecycle: {of: [2, 3], resolve_after: 4}\n", Lifecycle(2, 3, 4)),
        ('    lifecycle: {labels: {to: "{room}"}}\n', Lifecycle(labels={"to": "{room}"})),
    ],
)
def test_a_lifecycle_is_read_and_is_no_part_of_the_fingerprint(tmp_path, lines, terms):
    """Whatever it says, the ledger sees the same alarm: nothing is to be accepted or charged."""
    plain, alarms = (load(written(tmp_path, each), environ={}) for each in ("", lines))
    query, before = alarms.by_name["crowd"], plain.by_name["crowd"]
    assert query.lifecycle == terms
    assert query.fingerprint == before.fingerprint
    assert definition_json(query, alarms.budget) == definition_json(before, plain.budget)


def small(folder, more="", kafka=KAFKA):
    """Write a file without feeds."""
    path = folder / "small.yaml"
    path.write_text(kafka + more)
    return path


def test_a_small_file_is_as_good_as_the_file_of_alarms(tmp_path):
    """Both give the same targets; secrets are in neither's representation."""
    whole = read_subscription(
        written(tmp_path, "    lifecycle: {for: 2}\n", TARGETS), environ=SECRET
    )
    terms = "alarms: {crowd: {lifecycle: {for: 2}}}\n"
    found = read_subscription(small(tmp_path, TARGETS + terms), environ=SECRET)
    assert found.subscription == whole.subscription
    assert found.notify.targets == whole.notify.targets
    assert found.subscription.lifecycle("crowd") == Lifecycle(2, 2)
    assert found.subscription.lifecycle("another") == Lifecycle()
    assert found.notify.targets[0].keys["url"] == "http://localhost:9093/"
    assert SECRET["SECRET"] not in repr(found)


def test_a_file_of_alarms_has_to_say_where(tmp_path):
    """Without ``notify`` there is nothing to do; without ``kafka`` nothing to read."""
    with pytest.raises(ConfigError, match="has no target for alarms"):
        read_subscription(written(tmp_path), environ={})
    for text, said in ((KAFKA, "has no target for alarms"), (TARGETS, "`kafka` is missing")):
        with pytest.raises(ConfigError, match=said):
            read_subscription(small(tmp_path, kafka=text), environ=SECRET)


@pytest.mark.parametrize(
    ("lines", "hours"),
    [
        ("", 168),  # what is written suffices for hourly windows
        ("    lifecycle: {for: 200}\n", 202),
        ('    active: "Mon 09:00-10:00"\n', 505),  # three weeks and a window
        ("    lifecycle: {for: 2, resolve_after: 3}\n    hold: 200h\n", 406),
    ],
)
def test_what_fires_is_looked_for_as_far_back_as_a_lifecycle_needs(tmp_path, lines, hours):
    """Whatever ``lookback`` says: else who is restarted forgets it, and never resolves it."""
    path = written(tmp_path, lines, TARGETS)
    found = read_board(path, environ=SECRET).board, read_subscription(path, environ=SECRET).notify
    assert [each.lookback_ms for each in found] == [hours * 3_600_000] * 2


LISTEN = ("0.0.0.0", 80)  # noqa: S104  # nothing listens
TOKEN = "a token of many bytes"  # noqa: S105  # of no server


@pytest.mark.parametrize(
    ("more", "board"),
    [
        ("", Board()),
        (
            'board: {listen: "0.0.0.0:80", token: "${file:token}", windows: 9, lookback: 1h}\n',
            Board(LISTEN, TOKEN, windows=9, lookback_ms=3_600_000),
        ),
        ("board: {links: {Grafana: 'http://up/'}}\n", Board(links={"Grafana": "http://up/"})),
    ],
)
def test_a_board_is_read(tmp_path, more, board):
    """It needs no section, and listens on this machine alone then; a token is not shown."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    found = read_board(small(tmp_path, more), environ={})
    assert (found.board, found.budget) == (board, None)
    assert TOKEN not in repr(found)
    assert Board().listen[0] == "127.0.0.1"


@pytest.mark.parametrize("listed", ["[lab, lobby]", "of_one.txt"])
def test_a_board_knows_groups_and_the_budget_where_a_file_says_them(tmp_path, listed):
    """Those of the file of alarms; a small one may list them, and the budget."""
    whole = read_board(written(tmp_path), environ={})
    assert whole.budget is not None
    assert len(whole.groups["crowd"]) > 1
    (tmp_path / "of_one.txt").write_text("lab\nlobby")
    more = f"alarms: {{crowd: {{groups: {{room: {listed}}}}}, mute: {{}}}}\n"
    more += "budget: {privacy_unit: user, epsilon_max: 1/2, period: 1d}\n"
    found = read_board(small(tmp_path, more), environ={})
    assert found.groups == {"crowd": Domain(("room",), (("lab", "lobby"),))}
    assert found.budget.epsilon_max == Fraction(1, 2)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("notify: {webhooks: {a: {url: http://a, secret: short}}}\n", "shorter than 16 bytes"),
        ("notify: {smtp: {}}\n", "unknown key"),
        ("alarms: {crowd: {groups: {room: nowhere.txt}}}\n", "cannot read the domain's file"),
        ("alarms: {crowd: {groups: {room: []}}}\n", "the domain is not a list of values"),
        ("board: {links: {Grafana: 'javascript:alert(1)'}}\n", "not a URL of a web server"),
        ("budget: {privacy_unit: user, epsilon_max: 1}\n", "needs a period"),
    ],
)
def test_what_a_file_of_alarms_may_not_say_a_small_one_may_not(tmp_path, section, said):
    """In a file without feeds as in one of alarms, whose mistakes are recorded."""
    with pytest.raises(ConfigError, match=said):
        read_board(small(tmp_path, section), environ={})
