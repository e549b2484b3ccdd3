"""Play the people of an office: badge readers at its doors, which speak MQTT.

Usage: ``python people.py HOST:PORT [--cafile FILE] [--username NAME --password-file FILE]``, until
Ctrl-C. Every half a minute everybody goes into some room and reads a badge at its door, as
Zigbee2MQTT would pass it on::

    office/library/badge   {"person": "p017", "linkquality": 96, "battery": 81}

For two of every four half minutes all are in the auditorium, and it is too full. They are made up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import ssl
import time
from pathlib import Path
from random import Random

from paho.mqtt import client as mqtt

PEOPLE = 200
WINDOW_S = 30
STORY = 4
MEETING = (0, 1)
READ_WITHIN_S = 18
"""Badges are read early in a window: all of them have arrived before it ends."""
PATIENCE_S = 30


def rooms_of(random: Random, number: int, rooms: list[str]) -> list[tuple[str, str]]:
    """Return who goes where in a window, in the order in which the badges are read."""
    everywhere = "auditorium" if number % STORY in MEETING else None
    gone = [(f"p{person:03d}", everywhere or random.choice(rooms)) for person in range(PEOPLE)]
    random.shuffle(gone)
    return gone


def play(client: mqtt.Client, random: Random, rooms: list[str], begun: int) -> None:
    """Play one window after the other, the first meeting in the next one."""
    first = begun // WINDOW_S + 1
    number = first
    while True:
        at = number * WINDOW_S
        for person, room in rooms_of(random, number - first, rooms):
            at += READ_WITHIN_S / PEOPLE
            time.sleep(max(0.0, at - time.time()))
            told = {"person": person, "linkquality": random.randint(40, 120), "battery": 81}
            client.publish(f"office/{room}/badge", json.dumps(told), qos=1)
        number = max(number + 1, int(time.time()) // WINDOW_S)


def main() -> None:
    """Connect, and play."""
    parser = argparse.ArgumentParser(description="Play the people of an office.")
    parser.add_argument("broker", help="HOST:PORT")
    parser.add_argument("--cafile", help="authorities of the broker's certificate")
    parser.add_argument("--username")
    parser.add_argument("--password-file", type=Path)
    options = parser.parse_args()
    host, _, port = options.broker.rpartition(":")
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    if options.cafile:
        client.tls_set_context(ssl.create_default_context(cafile=options.cafile))
    if options.username:
        password = options.password_file.read_text(encoding="utf-8").strip()
        client.username_pw_set(options.username, password)
    client.connect(host, int(port), keepalive=PATIENCE_S)
    client.loop_start()
    listed = Path(__file__).with_name("rooms.txt").read_text(encoding="utf-8").split()
    play(client, Random(20250303), listed, int(time.time()))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
