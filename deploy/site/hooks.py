"""Brings what the documentation links to beside ``docs`` into the site, at ``source``.

Pages are read on the repository's tree, where links lead to code, schemas and reports. mkdocs knows
of ``docs`` alone: files that are linked come along, Markdown as pages and the rest as it is, a
folder as a page that lists it, and links are turned to where each lies in the site. The pages of
the Python API are made here, from the docstrings, and lie at ``reference/python``.
"""  # noqa: INP001  # mkdocs loads it by its path

from __future__ import annotations

import importlib
import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

__all__ = ["on_files", "on_page_markdown"]

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = "docs/"
BESIDE: Final = "source/"
API: Final = "tests.docs.api"
LISTING: Final = "index.md"
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<path>[^)#\s:]+)(?P<fragment>#[^)\s]*)?(?=\))")
_FENCE: Final = re.compile(r"^ *(```+|~~~+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the Python API, what is linked, and what that links to."""
    for uri, text in _api():
        files.append(File.generated(config, uri, content=text))
    known = {file.src_uri for file in files}
    waiting = [
        DOCS + uri for uri in sorted(known) if uri.endswith(".md") and (ROOT / DOCS / uri).is_file()
    ]
    while waiting:
        page = waiting.pop()
        for path in _linked(page):
            uri = _uri(path)
            if uri in known or uri.startswith("../"):
                continue
            known.add(uri)
            files.append(_file(path, uri, config))
            if path.endswith(".md") or (ROOT / path).is_dir():
                waiting.append(path)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn a page's links to where the site has what they lead to."""
    place, uri = _path(page.file.src_uri), page.file.src_uri
    return "".join(_turned(line, place, uri) for line in _lines(markdown))


def _api() -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page of the Python API, where there is one."""
    if not (ROOT / API.replace(".", "/")).with_suffix(".py").is_file():
        return
    sys.path.insert(0, str(ROOT))
    api = importlib.import_module(API)
    for name in api.PACKAGES:
        yield f"reference/python/{name}.md", api.page(name)


def _file(path: str, uri: str, config: MkDocsConfig) -> File:
    whole = ROOT / path
    if not whole.is_dir():
        return File.generated(config, uri, abs_src_path=str(whole))
    listed = "\n".join(f"- [{one.name}]({one.name})" for one in _inside(whole))
    return File.generated(config, uri, content=f"# {path}\n\n{listed}\n")


def _linked(page: str) -> Iterator[str]:
    """Yield the paths in the repository that a page links to."""
    whole = ROOT / page
    if whole.is_dir():
        yield from (f"{page}/{one.name}" for one in _inside(whole))
        return
    for line in _lines(whole.read_text(encoding="utf-8")):
        if isinstance(line, _Code):
            continue
        for link in _LINK.finditer(line):
            path = _resolved(page, link["path"])
            if (ROOT / path).exists():
                yield path


def _inside(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file())


def _turned(line: str, place: str, uri: str) -> str:
    if isinstance(line, _Code):
        return line

    def turned(link: re.Match[str]) -> str:
        target = _uri(_resolved(place, link["path"]))
        there = posixpath.relpath(target, posixpath.dirname(uri) or ".")
        return f"{link['before']}{there}{link['fragment'] or ''}"

    return _LINK.sub(turned, line)


class _Code(str):
    """A line of code, in which nothing is a link."""

    __slots__ = ()


def _lines(markdown: str) -> Iterator[str]:
    """Yield the lines of a page with their ends; those of code as such."""
    fence = ""
    for line in markdown.splitlines(keepends=True):
        found = _FENCE.match(line)
        if fence or found:
            yield _Code(line)
        else:
            yield line
        if found and not fence:
            fence = found[1]
        elif found and line.strip().startswith(fence):
            fence = ""


def _resolved(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _uri(path: str) -> str:
    """Return where the site has a path of the repository."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    whole = ROOT / path
    return BESIDE + (f"{path}/{LISTING}" if whole.is_dir() else path)


def _path(uri: str) -> str:
    """Return which path of the repository the site has there."""
    return uri.removeprefix(BESIDE) if uri.startswith(BESIDE) else DOCS + uri
