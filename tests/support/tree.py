"""Where the source tree begins, and which files are of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
_LEFT_BEHIND = {"__pycache__", ".venv", ".git", "build", ".tocsin", ".cache", ".hypothesis"}


def text_of(path: str) -> str:
    """Return a file of the checkout as text."""
    return (ROOT / path).read_text()


def yaml_of(path: str) -> Any:
    """Return what a file of the checkout holds as YAML."""
    return yaml.safe_load(text_of(path))


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of one language in a page."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def cells(text: str) -> list[list[str]]:
    """Return the rows of a page's tables, cell by cell; a head and the line below it are rows."""
    rows = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in row] for row in rows]


def anchors(text: str) -> set[str]:
    """Return the anchors that a page's headings have, as hosts of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def tracked(root: Path) -> set[str]:
    """Return the files of a tree, from its root: git's, or all but what runs leave."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
            text=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return {
            str(path)
            for path in paths
            if not _LEFT_BEHIND & set(path.parts)
            and not any(part.endswith((".egg-info", "_cache")) for part in path.parts)
            and not path.name.endswith((".pyc", ".db", ".db-wal", ".db-shm", ".db.heads"))
        }
    return {name for name in listed.stdout.split("\0") if name and (root / name).is_file()}
