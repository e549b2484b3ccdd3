"""The documentation as a site: built with warnings as errors, whole, and fetching nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.tree import ROOT, text_of
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

SITE = ROOT / "deploy" / "site"
ELSEWHERE = re.compile(r"""(?:src=|<link[^>]*href=)["']?(?:https?:)?//""")
GOOD = "# Here\n\n[code](../code.py), [folder](../beside), [text](../beside/text.md#there)\n"


def build(site: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Build a tree's site with warnings as errors."""
    return subprocess.run(
        [sys.executable, str(site / "__main__.py"), f"--to={to}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_the_whole_documentation_becomes_a_site(tmp_path: Path) -> None:
    """Every link and anchor leads somewhere, and no page asks another server for anything."""
    to = tmp_path / "site"
    built = build(SITE, to)
    assert built.returncode == 0, built.stdout[-3000:]
    pages = sorted(to.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        assert not ELSEWHERE.search(page.read_text(encoding="utf-8")), page
    sources = to / "source"
    assert (sources / "index.html").is_file()  # the README
    linked = "stream/decisions/schemas/alarm.schema.json"
    assert (sources / linked).read_bytes() == (ROOT / linked).read_bytes()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository with a page, and with code and text beside it."""
    shutil.copytree(SITE, tmp_path / "deploy" / "site")
    config = tmp_path / "deploy" / "site" / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text[: text.index("\nnav:")] + "\n", encoding="utf-8")
    for path, content in (
        ("code.py", "x = 1\n"),
        ("beside/text.md", "# There\n\n[back](../docs/README.md)\n"),
        ("docs/README.md", GOOD),
    ):
        whole = tmp_path / path
        whole.parent.mkdir(exist_ok=True)
        whole.write_text(content, encoding="utf-8")
    return tmp_path


def test_what_is_linked_beside_the_pages_comes_along(tree: Path) -> None:
    """Code as it is, text as a page, a folder as a list."""
    built = build(tree / "deploy" / "site", tree / "out")
    assert built.returncode == 0, built.stdout
    assert (tree / "out" / "source" / "code.py").read_text(encoding="utf-8") == "x = 1\n"
    page = (tree / "out" / "index.html").read_text(encoding="utf-8")
    for link in ("source/code.py", "source/beside/index.html", "source/beside/text.html#there"):
        assert f'href="{link}"' in page
    listed = (tree / "out" / "source" / "beside" / "index.html").read_text(encoding="utf-8")
    assert 'href="text.html"' in listed


@pytest.mark.parametrize(
    "broken",
    [
        GOOD.replace("code.py", "cod.py"),
        GOOD.replace("#there", "#nowhere"),
        GOOD.replace("../beside)", "../besides)"),
        GOOD + "\n[no page](nothing.md)\n",
    ],
)
def test_a_link_that_leads_nowhere_ends_the_build(tree: Path, broken: str) -> None:
    """And is named."""
    (tree / "docs" / "README.md").write_text(broken, encoding="utf-8")
    built = build(tree / "deploy" / "site", tree / "out")
    assert built.returncode != 0
    assert "does not exist" in built.stderr


def test_a_link_in_code_is_none(tree: Path) -> None:
    """As in an example of Markdown."""
    text = f"{GOOD}\n```md\n[no page](nothing.md)\n```\n"
    (tree / "docs" / "README.md").write_text(text, encoding="utf-8")
    built = build(tree / "deploy" / "site", tree / "out")
    assert built.returncode == 0, built.stdout
    assert "nothing.md" in (tree / "out" / "index.html").read_text(encoding="utf-8")


def test_every_page_that_is_not_in_the_menu_is_linked() -> None:
    """A page that nothing leads to is not there for its readers."""
    text = (SITE / "mkdocs.yml").read_text(encoding="utf-8")
    menu = text[text.index("\nnav:") :]
    reached: set[str] = set()
    waiting = [f"docs/{page}" for page in re.findall(r": (\S+\.md)$", menu, re.MULTILINE)]
    assert yaml.safe_load(menu)
    while waiting:
        page = waiting.pop()
        if page in reached or not (ROOT / page).is_file():
            continue
        reached.add(page)
        whole = text_of(f"{page}")
        for link in re.findall(r"\]\(([^)#:\s]+\.md)", whole):
            found = (ROOT / page).parent / link
            waiting.append(str(found.resolve().relative_to(ROOT)))
    pages = {str(one.relative_to(ROOT)) for one in (ROOT / "docs").rglob("*.md")}
    assert pages <= reached
