"""``python -m deploy.site`` makes the documentation a site, in which every link leads somewhere.

Pages are read on the repository's tree, where links lead to code, schemas and reports. The site has
``docs`` at its root, and what is linked beside it at ``source``: Markdown as pages, the rest as it
is, a folder as a page that lists it. The pages of the Python API are made from the docstrings, and
lie at ``reference/python``. Where a page says ``<!-- picture NAME: what is on it -->``, a picture
is taken of what runs, if there is a browser. Zensical builds the site, and follows the links from
page to page.
"""  # noqa: INP001  # deploy holds no package

from __future__ import annotations

import argparse
import importlib
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main"]

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG: Final = "mkdocs.yml"
SITE: Final = ".cache/site"
DOCS: Final = "docs/"
BESIDE: Final = "source/"
API: Final = "deploy.site.api"
PICTURES: Final = "tests.docs.pictures"
NO_PICTURE: Final = "*There is no picture: this site was built without a browser.*"
IMAGES: Final = "images"
LISTING: Final = "index.md"
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<path>[^)#\s:]+)(?P<fragment>#[^)\s]*)?(?=\))")
_PICTURE: Final = re.compile(r"^<!-- picture (?P<name>[a-z-]+): (?P<alt>.+) -->$")
_FENCE: Final = re.compile(r"^ *(```+|~~~+)")


def main() -> int:
    """Build the site, and return Zensical's exit code: not 0 where a link leads nowhere."""
    parser = argparse.ArgumentParser(prog="python -m deploy.site", description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / SITE, help="the folder of the site")
    to = parser.parse_args().to
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        shutil.copy(Path(__file__).with_name(CONFIG), work)
        broken = _assemble(work / DOCS)
        if broken:
            sys.stderr.write("".join(f"{one}\n" for one in broken))
            return 1
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        command += ["--config-file", CONFIG]
        code = subprocess.run(command, cwd=work, check=False).returncode  # noqa: S603  # ours
        if code == 0:
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(work / "site", to)
    return code


def _assemble(folder: Path) -> list[str]:
    """Write all pages into a folder, with what they link to, and what that links to.

    Returns:
        links that lead nowhere, one sentence each.
    """
    shutil.copytree(ROOT / DOCS, folder)
    for uri, text in _api():
        _write(folder / uri, text)
    pictures = _Pictures()
    waiting = [str(one.relative_to(ROOT)) for one in sorted((ROOT / DOCS).rglob("*.md"))]
    known, broken = set(waiting), list[str]()
    while waiting:
        path = waiting.pop()
        there, whole = folder / _uri(path), ROOT / path
        if whole.is_dir():
            listed = "\n".join(f"- [{one.name}]({one.name})" for one in _inside(whole))
            _write(there, f"# {path}\n\n{listed}\n")
        elif path.endswith(".md"):
            lines = _lines(whole.read_text(encoding="utf-8"))
            _write(there, "".join(_turned(line, path, pictures) for line in lines))
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole, there)
            continue
        for one in sorted({*_linked(path)} - known):
            if (ROOT / one).exists() and not one.startswith("../"):
                known.add(one)
                waiting.append(one)
            elif not (folder / _uri(one)).exists():
                broken.append(f"{path}: what it links to does not exist: {one}")
    pictures.take(folder / IMAGES)
    return broken


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _api() -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page of the Python API, where there is one."""
    api = _made_by(API)
    for name in () if api is None else api.PACKAGES:
        yield f"reference/python/{name}.md", api.page(name)


def _made_by(module: str) -> Any:
    """Return a module that makes what the repository does not hold; ``None`` without it."""
    there = (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
    return importlib.import_module(module) if there else None


class _Pictures:
    """What pages ask for pictures of."""

    def __init__(self) -> None:
        self._made_by = _made_by(PICTURES)
        self._asked: set[str] = set()

    def of(self, line: re.Match[str], page: str) -> str:
        """Return what shows a picture on a page, in the shade that its reader has chosen."""
        if self._made_by is None or not self._made_by.can_take():
            return f"{NO_PICTURE}\n"
        self._asked.add(line["name"])
        folder = posixpath.relpath(IMAGES, posixpath.dirname(_uri(page)) or ".")
        shades = (
            f"![{line['alt']}]({folder}/{line['name']}-{shade}.png#only-{shade})"
            for shade in ("light", "dark")
        )
        return f"{' '.join(shades)}\n"

    def take(self, to: Path) -> None:
        """Take all that were asked for."""
        if self._asked:
            to.mkdir(exist_ok=True)
            self._made_by.take(sorted(self._asked), to)


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
            yield _resolved(page, link["path"])


def _inside(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file())


def _turned(line: str, page: str, pictures: _Pictures) -> str:
    """Return a line with its links turned to where the site has what they lead to."""
    if isinstance(line, _Code):
        return line
    if picture := _PICTURE.match(line.rstrip()):
        return pictures.of(picture, page)

    def turned(link: re.Match[str]) -> str:
        target = _uri(_resolved(page, link["path"]))
        there = posixpath.relpath(target, posixpath.dirname(_uri(page)) or ".")
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


if __name__ == "__main__":
    raise SystemExit(main())
