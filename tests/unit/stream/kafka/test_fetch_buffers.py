"""Freed memory stays with the process, where its C library can be told so."""

from __future__ import annotations

import ctypes
import platform
from types import SimpleNamespace

from stream.kafka.fetch_buffers import keep_freed_memory


def test_glibc_takes_both_settings():
    """Neither is out of its range; called twice, they stay."""
    of_glibc = platform.libc_ver()[0] == "glibc"
    assert keep_freed_memory() is of_glibc
    assert keep_freed_memory() is of_glibc


def test_another_library_goes_on_as_it_does(monkeypatch):
    """Where there is nothing to be told, nothing fails."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace())
    assert not keep_freed_memory()
