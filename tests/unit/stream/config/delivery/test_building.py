"""The keys of lifecycles and of ``deliver``: what they become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from accountant.errors import ConfigError
from stream.config.delivery.reading import read_subscription
from stream.config.loading import examine
from stream.model.fingerprints import definition_json
from stream.model.lifecycles import Lifecycle
from tests.support.commands import configuration

KAFKA = "kafka: {bootstrap: localhost:9092}\n"
TARGETS = """\
deliver:
  alertmanagers: {main: http://localhost:9093/}
  webhooks: {pager: {url: https://pager/x, secret: "${SECRET}"}}
  mqtt: {home: {broker: localhost:1883, discovery: homeassistant}}
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
        ("    for: 3\n", Lifecycle(3, 3)),
        ("    of: [2, 3]\n    resolve_after: 4\n", Lifecycle(2, 3, 4)),
        ('    labels: {to: "{room}"}\n', Lifecycle(labels={"to": "{room}"})),
    ],
)
def test_a_lifecycle_is_read_and_is_no_part_of_the_fingerprint(
    tmp_path: Path, lines: str, terms: Lifecycle
) -> None:
    """Whatever it says, the ledger sees the same alarm: nothing is to be accepted or charged."""
    plain = examine(written(tmp_path), environ={}).alarms
    alarms = examine(written(tmp_path, lines), environ={}).alarms
    assert alarms is not None
    assert plain is not None
    query, before = alarms.queries["crowd"], plain.queries["crowd"]
    assert query.lifecycle == terms
    assert query.fingerprint == before.fingerprint
    assert definition_json(query, alarms.budget) == definition_json(before, plain.budget)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("    for: 0\n", "fires after 1 to 1000 rings"),
        ("    of: [3, 2]\n", "fires after 1 to 1000 rings"),
        ("    of: 3\n", "is a pair"),
        ("    for: 2\n    of: [2, 3]\n", "in two ways"),
        ("    resolve_after: 0\n", "resolved after 1 to 1000"),
        ("    labels: {alertname: x}\n", "is not a name here"),
        ("    labels: {a-b: x}\n", "is not a name here"),
        ('    labels: {when: "{window_end}"}\n', "`{window_end}` is no field here"),
        ('    annotations: {what: "{hall}"}\n', "`{hall}` is no field here"),
        ('    annotations: {what: "{room:>9}"}\n', "plain fields"),
    ],
)
def test_a_lifecycle_that_says_nothing_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    """Each with its line."""
    (error,) = examine(written(tmp_path, lines), environ={}).errors
    assert said in str(error)
    assert error.line > 15


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("deliver: {group: analyst-a}\n", "nothing is delivered"),
        ("deliver: {alertmanagers: {main: localhost}}\n", "not the address of a web server"),
        ("deliver: {alertmanagers: {main: {url: http://a, resend: 1ms}}}\n", "under a second"),
        ("deliver: {webhooks: {a: {url: http://a, secret: short}}}\n", "shorter than 16 bytes"),
        ("deliver: {mqtt: {a: {broker: a:1883, cafile: none.pem}}}\n", "no file that can be read"),
        ("deliver: {smtp: {}}\n", "is not a key here"),
    ],
)
def test_targets_that_cannot_be_are_refused(tmp_path: Path, section: str, said: str) -> None:
    """In a file of alarms and in one without feeds."""
    path = written(tmp_path, more=section)
    assert said in str(examine(path, environ={}).errors[0])
    path.write_text(KAFKA + section, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        read_subscription(path, environ={})


def test_a_small_file_is_as_good_as_the_file_of_alarms(tmp_path: Path) -> None:
    """Both give the same targets; secrets are in neither's representation."""
    path = written(tmp_path, "    for: 2\n", TARGETS)
    whole = read_subscription(path, environ=SECRET)
    path.write_text(f"{KAFKA}{TARGETS}alarms: {{crowd: {{for: 2}}}}\n", encoding="utf-8")
    small = read_subscription(path, environ=SECRET)
    assert whole == small
    assert small.lifecycle("crowd") == Lifecycle(2, 2)
    assert small.lifecycle("another") == Lifecycle()
    assert small.delivery.dead_letters == tmp_path / "alarms.dead-letters.jsonl"
    assert small.delivery.alertmanagers[0].url == "http://localhost:9093"
    assert SECRET["SECRET"] not in repr(small)


def test_a_file_of_alarms_has_to_say_where(tmp_path: Path) -> None:
    """Without ``deliver`` there is nothing to do; without ``kafka`` nothing to read."""
    with pytest.raises(ConfigError, match="where alarms are delivered"):
        read_subscription(written(tmp_path), environ={})
    (tmp_path / "small.yaml").write_text(TARGETS, encoding="utf-8")
    with pytest.raises(ConfigError, match="`kafka` is missing"):
        read_subscription(tmp_path / "small.yaml", environ=SECRET)
