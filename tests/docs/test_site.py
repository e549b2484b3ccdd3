"""The documentation as a site: built with warnings as errors, whole, and fetching nothing."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from deploy.kafka.runtime import HOST
from tests.support.chromium import Chromium
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of

SITE = ROOT / "deploy" / "site"
ELSEWHERE = re.compile(r"""(?:src=|<link[^>]*href=)["']?(?:https?:)?//""")
GOOD = "# Here\n\n[code](../code.py), [folder](../beside), [text](../beside/text.md#there)\n"


def build(site, to):
    """Build a tree's site with warnings as errors."""
    return ran(
        sys.executable,
        site / "__main__.py",
        f"--to={to}",
        code=None,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def page(tree, text):
    """Return what becomes of a text as the only page of a tree, which can be built."""
    (tree / "docs" / "README.md").write_text(text)
    built = build(tree / "deploy" / "site", tree / "out")
    assert built.returncode == 0, built.stdout
    return (tree / "out" / "index.html").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site."""
    to = tmp_path_factory.mktemp("site") / "site"
    built = build(SITE, to)
    assert built.returncode == 0, (built.stdout + built.stderr)[-3000:]
    return to


def test_the_whole_documentation_becomes_a_site(site):
    """Every link and anchor leads somewhere, and no page asks another server for anything."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    assert [one for one in pages if ELSEWHERE.search(one.read_text())] == []
    sources = site / "source"
    assert (sources / "index.html").is_file()  # the README
    linked = "stream/decisions/schemas/alarm.schema.json"
    assert (sources / linked).read_bytes() == (ROOT / linked).read_bytes()


def test_pictures_are_taken_of_what_runs(site):
    """Each page that asks for one shows it, in the shade that its reader sees the page in."""
    asked = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for name in re.findall(r"^<!-- picture ([a-z-]+):", page.read_text(), re.MULTILINE):
            asked += 1
            there = page.relative_to(ROOT / "docs").with_suffix(".html")
            html = (site / there).read_text()
            assert "built without a browser" not in html
            for shade in ("light", "dark"):
                assert f'src="../images/{name}-{shade}.png#only-{shade}"' in html
                picture = (site / "images" / f"{name}-{shade}.png").read_bytes()
                assert picture.startswith(b"\x89PNG"), name
                assert len(picture) > 10_000, name
    assert asked == 2


PHONE, DESK = (380, 800), (1280, 900)
PAGES = ("index", "reference/configuration", "reference/sql", "how-to/board", "research/papers")
ACROSS = "document.documentElement.scrollWidth"
BOXES = """
[...document.querySelectorAll('.md-content table, .md-content pre code')].map(
    (one) => one.closest('.md-typeset__scrollwrap') ?? one.closest('pre')
).filter((box) => box.scrollWidth > box.clientWidth).map((box) => getComputedStyle(box).overflowX)
"""
SCHEME = "document.body.getAttribute('data-md-color-scheme')"
FOUND = """
[...document.querySelectorAll('*')].some(
    (one) => one.shadowRoot?.textContent.includes('Quantifiers over groups')
)
"""


def test_the_site_in_a_browser(site):
    """On a phone tables scroll and pages do not; light and dark are the reader's; search finds."""

    async def work(address):
        async with Chromium() as browser:
            boxes = set()
            for page in PAGES:
                for shade, scheme in (("light", "default"), ("dark", "slate")):
                    await browser.look(*PHONE, prefers_color_scheme=shade)
                    await browser.open(f"{address}/{page}.html")
                    assert await browser.value(ACROSS) == PHONE[0], page
                    assert await browser.value(SCHEME) == scheme, page
                boxes.update(await browser.value(BOXES))
            assert boxes == {"auto"}
            await browser.look(*DESK)
            await browser.open(f"{address}/index.html")
            await browser.until("document.querySelector('.md-search__button') !== null")
            await browser.value("document.querySelector('.md-search__button').click()")
            await browser.until("document.activeElement.shadowRoot != null")
            await browser.tell("Input.insertText", text="quantifier")
            await browser.until(FOUND)
            assert browser.complaints == []

    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            asyncio.run(work(f"http://{HOST}:{server.server_port}"))
        finally:
            server.shutdown()
            thread.join()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def tree(tmp_path):
    """A small repository with a page, and with code and text beside it."""
    for name in ("__main__.py", "mkdocs.yml"):
        (tmp_path / "deploy" / "site").mkdir(parents=True, exist_ok=True)
        shutil.copy(SITE / name, tmp_path / "deploy" / "site")
    config = tmp_path / "deploy" / "site" / "mkdocs.yml"
    text = config.read_text()
    config.write_text(text[: text.index("\nnav:")] + "\n")
    for path, content in (
        ("code.py", "x = 1\n"),
        ("beside/text.md", "# There\n\n[back](../docs/README.md)\n"),
        ("docs/README.md", GOOD),
    ):
        whole = tmp_path / path
        whole.parent.mkdir(exist_ok=True)
        whole.write_text(content)
    return tmp_path


def test_what_is_linked_beside_the_pages_comes_along(tree):
    """Code as it is, text as a page, a folder as a list."""
    shown = page(tree, GOOD)
    for link in ("source/code.py", "source/beside/index.html", "source/beside/text.html#there"):
        assert f'href="{link}"' in shown
    source = tree / "out" / "source"
    assert (source / "code.py").read_text() == "x = 1\n"
    assert 'href="text.html"' in (source / "beside" / "index.html").read_text()


def test_a_site_without_a_browser_says_so_in_place_of_a_picture(tree):
    """As it is built where nothing can take one."""
    said = page(tree, f"{GOOD}\n<!-- picture board: a board -->\n")
    assert "this site was built without a browser" in said
    assert "<img" not in said


@pytest.mark.parametrize(
    "broken",
    [
        GOOD.replace("code.py", "cod.py"),
        GOOD.replace("#there", "#nowhere"),
        GOOD.replace("../beside)", "../besides)"),
        GOOD + "\n[no page](nothing.md)\n",
    ],
)
def test_a_link_that_leads_nowhere_ends_the_build(tree, broken):
    """And is named."""
    (tree / "docs" / "README.md").write_text(broken)
    built = build(tree / "deploy" / "site", tree / "out")
    assert built.returncode != 0
    assert "does not exist" in built.stderr


def test_a_link_in_code_is_none(tree):
    """As in an example of Markdown."""
    assert "nothing.md" in page(tree, f"{GOOD}\n```md\n[no page](nothing.md)\n```\n")


def test_every_page_that_is_not_in_the_menu_is_linked():
    """A page that nothing leads to is not there for its readers."""
    text = (SITE / "mkdocs.yml").read_text()
    menu = text[text.index("\nnav:") :]
    reached = set()
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
