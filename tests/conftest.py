"""Fixtures for every test: real servers, started once and stopped with the session."""

from __future__ import annotations

from tests.support.fixtures import broker, own_broker
from tests.support.postgres import postgres

__all__ = ["broker", "own_broker", "postgres"]
