"""Tests here may be coroutines: each runs on a loop of its own, and what hangs is ended."""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction

import pytest

from tests.support.waiting import PATIENCE_S


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is a coroutine, with its fixtures; leave the others to pytest."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), PATIENCE_S))
    return True
