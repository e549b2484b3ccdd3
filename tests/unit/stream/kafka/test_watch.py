"""What an analyst is shown of a window."""

from __future__ import annotations

import pytest

from stream.kafka.watch import shown_of
from tests.support.boards import window_of
from tests.support.published import alarm_of, decision_of


@pytest.mark.parametrize("name", ["crowd", "panes-front", "my-panes-0123abcd", "panes-0123abcd"])
def test_alarms_and_denials_are_shown(name):
    """No alarm says as much as a decision; panes are no alarm, and what is like their name is."""
    alarms = (alarm_of(0, {"room": "hall"}, alarm=name),)
    fired = window_of(decision_of(0, alarm=name, alarms=alarms), alarms)
    denied = window_of(decision_of(0, alarm=name, denied=True))
    shown = (shown_of(fired), shown_of(denied))
    assert shown == (((), ()) if name == "panes-0123abcd" else (alarms, (denied.decision,)))
