"""What every key of lifecycles, of ``deliver`` and of ``board`` means, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DELIVERY", "LIFECYCLE"]

LIFECYCLE: Final[Mapping[str, str]] = {
    "for": "a predicate fires once it rang in so many windows in a row; costs nothing",
    "of": "[2, 3]: it fires once it rang in 2 of its last 3 windows; instead of for",
    "resolve_after": "it is resolved once it was silent in so many windows in a row",
    "labels": "who is told: templates over {alarm} and the fields of the predicate",
    "annotations": "what is told: templates over the predicate, {window_end}, {since} and others",
}
"""Keys of an alarm."""

DELIVERY: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {
    ("deliver",): {
        "group": "consumer group whose offsets say how far alarms were delivered",
        "read_back": "at the start, what fires is found by reading back so far",
        "give_up": "what a target did not take for so long goes to the dead letters",
        "dead_letters": "file of what was not delivered; FILE.dead-letters.jsonl where left out",
        "alertmanagers": "Alertmanagers, by name",
        "webhooks": "web servers that take signed notices, by name",
        "mqtt": "MQTT brokers, by name",
    },
    ("deliver", "alertmanagers", "*"): {
        "url": "where it is: http://localhost:9093",
        "resend": "what fires is sent again after so long",
    },
    ("deliver", "webhooks", "*"): {
        "url": "where notices are posted",
        "secret": "16 bytes or more that sign them, best from the environment: ${NAME}",
    },
    ("deliver", "mqtt", "*"): {
        "broker": "host:port",
        "username": "who tocsin deliver is",
        "password": "best from the environment: ${NAME}",
        "cafile": "authorities of the broker's certificate, in PEM; TLS where it is given",
        "topics": "first level of every topic",
        "discovery": "first level of Home Assistant's discovery, often homeassistant",
    },
    ("board",): {
        "listen": "host:port of the page; anybody who reaches it reads it, unless there is a token",
        "token": "password of the page, 16 bytes or more, best from a file: ${file:PATH}",
        "windows": "how many of the last windows of an alarm are shown",
        "predicates": "how many predicates of an alarm are shown; how many more rang is said",
        "read_back": "at the start, what rings is found by reading back so far",
    },
}
"""By the place of the mapping, then by its key."""
