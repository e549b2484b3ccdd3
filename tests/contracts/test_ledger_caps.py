"""Caps over a period: windows that nobody more can count in are free, on any back end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.errors import ArgumentError
from accountant.records import Request
from tests.support.ledgers import Series

DATABASES = ["sqlite"]

FEW = Series("few", units=2, period=100, windows=2)


def test_a_cap_is_of_the_configuration_that_asks():
    """Nor does a cap of nothing pass, nor one of a run."""
    asked = FEW.request(0)
    with pytest.raises(ArgumentError, match="does not match the request"):
        Request(asked.charge, "another")
    with pytest.raises(ArgumentError, match="`windows` is below 1"):
        replace(FEW, windows=0).request(0)
    with pytest.raises(ArgumentError, match="own query"):
        replace(asked.charge, periods=())
