"""What an installed package holds."""

from __future__ import annotations

import tomllib

from tests.support.tree import ROOT

PACKAGES = ("accountant", "operators", "stream")


def test_every_file_of_a_package_is_installed() -> None:
    """Schemas, templates and type markers are package data; nothing else lies beside the code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    data = project["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        folder = ROOT / package
        installed = {path for pattern in data[package] for path in folder.glob(pattern)}
        lying = {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".py"}
        assert {path for path in lying if path.parent.name != "__pycache__"} == installed
