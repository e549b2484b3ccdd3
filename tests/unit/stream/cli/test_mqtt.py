"""``tocsin mqtt``: what it says where it cannot begin."""

from __future__ import annotations

import sys

from tests.support.commands import configuration, tocsin


def test_a_file_of_alarms_is_bad_input(tmp_path):
    """Exit code 2: a sensor's process has no use for alarms."""
    tocsin("mqtt", configuration(tmp_path), code=2)


def test_help_needs_no_extra(monkeypatch):
    """Without a client of MQTT the help is shown; an MQTT source is not run."""
    for name in ("aiomqtt", "paho"):
        monkeypatch.setitem(sys.modules, name, None)
    ours = ("stream.cli.mqtt", "stream.kafka.mqtt")
    for name in [one for one in sys.modules if one.startswith(ours)]:
        monkeypatch.delitem(sys.modules, name)
    shown = tocsin("mqtt", "--help", code=0).stdout
    assert "Forward sensors' messages from MQTT" in shown
