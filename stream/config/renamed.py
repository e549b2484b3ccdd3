"""Names of development versions, of keys and of their values, and what replaced them."""

from __future__ import annotations

from typing import Final

__all__ = ["RENAMED"]

RENAMED: Final = {
    "alarms_per_period": "max_alarms",
    "append": "repeat",
    "append_to": "repeat_in",
    "beyond_predicates": "beyond_groups",
    "bridge": "mqtt",
    "broker_skew": "max_append_time_regression",
    "deliver": "notify",
    "discovery": "discovery_prefix",
    "doorbell_topic": "wakeup_topic",
    "every": "interval",
    "events_per_cell": "max_events_per_group",
    "false_rings": "false_alarms",
    "give_up": "retry_for",
    "granule": "resolution",
    "idle_margin": "idle_partition_timeout",
    "ledgers_topic": "ownership_topic",
    "left_out": "dropped_by_bounds",
    "max_fnr_in_silence": "max_fnr_given_no_alarm",
    "on_overrun": "on_shortfall",
    "predicates": "groups",
    "predicates_per_window": "max_groups_per_window",
    "promise": "privacy",
    "punctuation": "watermarks",
    "read_back": "lookback",
    "resend": "resend_interval",
    "tick": "publish_interval",
    "topics": "topic_prefix",
    "usual": "baseline",
    "windows_per_period": "max_windows_per_period",
}
"""What replaced a name; it is named only at a place that takes the new one."""
