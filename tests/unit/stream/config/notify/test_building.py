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


def written(folder: Path, lines: str = "", more: str = "") -> Path:
    """Write a configuration with further keys of its alarm, and further sections."""
    path = Path(configuration(folder))
    text = path.read_text(encoding="utf-8")
    path.write_text(KAFKA + more + text + lines, encoding="utf-8")
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
def test_a_lifecycle_is_read_and_is_no_part_of_the_fingerprint(
    tmp_path: Path, lines: str, terms: Lifecycle
) -> None:
    """Whatever it says, the ledger sees the same alarm: nothing is to be accepted or charged."""
    plain, alarms = (load(written(tmp_path, each), environ={}) for each in ("", lines))
    query, before = alarms.by_name["crowd"], plain.by_name["crowd"]
    assert query.lifecycle == terms
    assert query.fingerprint == before.fingerprint
    assert definition_json(query, alarms.budget) == definition_json(before, plain.budget)


def test_a_small_file_is_as_good_as_the_file_of_alarms(tmp_path: Path) -> None:
    """Both give the same targets; secrets are in neither's representation."""
    path = written(tmp_path, "    lifecycle: {for: 2}\n", TARGETS)
    whole = read_subscription(path, environ=SECRET)
    path.write_text(
        f"{KAFKA}{TARGETS}alarms: {{crowd: {{lifecycle: {{for: 2}}}}}}\n", encoding="utf-8"
    )
    small = read_subscription(path, environ=SECRET)
    assert whole == small
    assert small.subscription.lifecycle("crowd") == Lifecycle(2, 2)
    assert small.subscription.lifecycle("another") == Lifecycle()
    assert small.notify.dead_letters == tmp_path / "alarms.dead-letters.jsonl"
    assert small.notify.targets[0].keys["url"] == "http://localhost:9093/"
    assert SECRET["SECRET"] not in repr(small)


def test_a_file_of_alarms_has_to_say_where(tmp_path: Path) -> None:
    """Without ``notify`` there is nothing to do; without ``kafka`` nothing to read."""
    with pytest.raises(ConfigError, match="has no target for alarms"):
        read_subscription(written(tmp_path), environ={})
    (tmp_path / "small.yaml").write_text(TARGETS, encoding="utf-8")
    with pytest.raises(ConfigError, match="`kafka` is missing"):
        read_subscription(tmp_path / "small.yaml", environ=SECRET)
    with pytest.raises(ConfigError, match="has no target for alarms"):
        read_subscription(small(tmp_path), environ={})


def small(folder: Path, more: str = "") -> Path:
    """Write a file without feeds."""
    path = folder / "small.yaml"
    path.write_text(KAFKA + more, encoding="utf-8")
    return path


def test_a_board_needs_no_section_of_its_own(tmp_path: Path) -> None:
    """It listens on this machine alone; what the budget is, it knows where the file says."""
    found = read_board(small(tmp_path), environ={})
    assert (found.board, found.budget) == (Board(), None)
    assert found.board.listen[0] == "127.0.0.1"
    whole = read_board(written(tmp_path, "    lifecycle: {for: 2}\n"), environ={})
    assert whole.board == Board()
    assert whole.budget is not None
    assert whole.subscription.lifecycle("crowd") == Lifecycle(2, 2)


def test_a_small_file_may_list_groups_and_links(tmp_path: Path) -> None:
    """Groups are those of the file of alarms; a link leads to a web server."""
    whole = read_board(written(tmp_path), environ={})
    assert len(whole.groups["crowd"]) > 1
    (rooms,) = whole.groups["crowd"].values
    (tmp_path / "of_one.txt").write_text("\n".join(rooms), encoding="utf-8")
    for listed in (f"[{', '.join(rooms)}]", "of_one.txt"):
        more = (
            f"alarms: {{crowd: {{groups: {{room: {listed}}}}}, mute: {{}}}}\n"
            "board: {links: {Grafana: 'http://grafana:3000/'}}\n"
        )
        found = read_board(small(tmp_path, more), environ={})
        assert found.groups == {"crowd": Domain(("room",), (rooms,))}
        assert found.board == Board(links={"Grafana": "http://grafana:3000/"})


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("notify: {webhooks: {a: {url: http://a, secret: short}}}\n", "shorter than 16 bytes"),
        ("notify: {smtp: {}}\n", "unknown key"),
        ("alarms: {crowd: {groups: {room: nowhere.txt}}}\n", "cannot read the domain's file"),
        ("alarms: {crowd: {groups: {room: []}}}\n", "the domain is empty"),
        ("board: {links: {Grafana: 'javascript:alert(1)'}}\n", "not a URL of a web server"),
        ("budget: {privacy_unit: user, epsilon_max: 1}\n", "needs a period"),
    ],
)
def test_what_a_file_of_alarms_may_not_say_a_small_one_may_not(
    tmp_path: Path, section: str, said: str
) -> None:
    """In a file without feeds as in one of alarms, whose mistakes are recorded."""
    with pytest.raises(ConfigError, match=said):
        read_board(small(tmp_path, section), environ={})


def test_a_small_file_may_say_what_the_budget_is(tmp_path: Path) -> None:
    """The same section as in the file of alarms; the token comes from a file and is not shown."""
    (tmp_path / "token").write_text("a token of many bytes\n", encoding="utf-8")
    more = (
        "budget: {privacy_unit: user, epsilon_max: 1/2, period: 1d}\n"
        'board: {listen: "0.0.0.0:80", token: "${file:token}", windows: 9, lookback: 1h}\n'
    )
    found = read_board(small(tmp_path, more), environ={})
    listen = ("0.0.0.0", 80)  # noqa: S104  # nothing listens
    assert found.board == Board(listen, "a token of many bytes", windows=9, lookback_ms=3_600_000)
    assert "many bytes" not in repr(found)
    assert found.budget.epsilon_max == Fraction(1, 2)
