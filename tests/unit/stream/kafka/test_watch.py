"""What an analyst is shown of a window."""

from __future__ import annotations

import pytest

from stream.kafka.watch import shown_of
from tests.support.boards import window_of
from tests.support.published import alarm_of, decision_of


@pytest.mark.parametrize(
    ("alarm", "denied", "shown"),
    [
        ("crowd", True, "denial"),
        ("crowd", False, "alarms"),
        ("panes-0123abcd", True, ""),
        ("panes-0123abcd", False, ""),
        ("panes-front", True, "denial"),
        ("my-panes-0123abcd", True, "denial"),
    ],
)
def test_alarms_and_denials_are_shown(alarm: str, denied: bool, shown: str) -> None:
    """Silence says as much as a decision; panes are no alarm, and what is like their name is."""
    alarms = () if denied else (alarm_of(0, {"room": "hall"}, alarm=alarm),)
    window = window_of(decision_of(0, denied=denied, alarm=alarm, alarms=alarms), alarms)
    found = {"denial": (window.decision,), "alarms": alarms, "": ()}
    assert shown_of(window) == found[shown]
