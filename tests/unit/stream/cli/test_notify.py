"""``tocsin notify``: what it says where it cannot begin (see ``test_main.py``)."""

from __future__ import annotations

import builtins
import sys

import pytest

from accountant.errors import DependencyError
from stream.kafka.notify.notifier import target_of
from stream.model.notifications import TargetSettings


def test_mqtt_without_its_client_names_the_extra(monkeypatch):
    """The client comes with an extra; without it one is told which."""
    real = builtins.__import__

    def missing(name, *rest):
        if name == "aiomqtt":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "stream.kafka.notify.mqtt", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    broker = TargetSettings("mqtt", "home", {})
    with pytest.raises(DependencyError, match=r"tocsin\[mqtt\]"):
        target_of(broker)
