"""How Tocsin is built: one package in the wheel, the same bytes from the same files.

A checkout has three packages at its top, ``stream``, ``operators`` and ``accountant``: common
words. In a wheel they are ``tocsin.stream``, ``tocsin.operators`` and ``tocsin.accountant``, so
that another distribution of such a name and Tocsin leave each other whole (``docs/adr/0001``).
Import statements are renamed, and nothing else is; a module that names one of ours in another way
(a string, an import whose name is not seen) ends the build.

setuptools calls these commands (``[tool.setuptools.cmdclass]`` in ``pyproject.toml``). An editable
installation has the checkout as it is, and ``tocsin.py`` there gives the same names.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import ast
import gzip
import os
import re
import shutil
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.egg_info import egg_info
from setuptools.command.sdist import sdist

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OURS", "Described", "Source", "Wheel", "gather", "pack", "renamed", "standalone"]

HOME: Final = "tocsin"
OURS: Final = ("accountant", "operators", "stream")

_FILES: Final = {
    "__init__.py": '"""Alarms over event streams with differential privacy."""\n',
    "__main__.py": (
        '"""The command, as ``python -m tocsin``."""\n\n'
        f"from {HOME}.stream.cli.entry import main\n\n"
        'if __name__ == "__main__":\n    main()\n'
    ),
    "py.typed": "",
}
_DOTTED: Final = re.compile(rf"(?:{'|'.join(OURS)})\.[\w.:]*")
_IMPORTERS: Final = frozenset(
    ("import_module", "__import__", "find_spec", "run_module", "resolve_name")
)
_READERS: Final = frozenset(("files", "PackageLoader", "walk_packages", "iter_modules"))
_OWN: Final = frozenset(("__package__", "__name__"))
_LINK: Final = re.compile(r"\[([^]\n]+)\]\((?!https?://)[^)\n]+\)")


def renamed(source: bytes, name: str) -> bytes:
    """Return a module with its imports of our packages below ``tocsin``; lines stay where they are.

    Args:
        source: of the module, in UTF-8.
        name: for errors.

    Raises:
        ValueError: it names one of our packages where it cannot be renamed.
    """
    tree = ast.parse(source, name)
    lines = source.splitlines(keepends=True)
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module):
            begun = re.match(rb"from[ \t]+", lines[node.lineno - 1][node.col_offset :])
            if begun is None:
                raise _unseen(name, node, "write `from NAME` on one line")
            places.append((node.lineno, node.col_offset + begun.end()))
            node.module = f"{HOME}.{node.module}"
        elif isinstance(node, ast.Import):
            for each in node.names:
                if _is_ours(each.name):
                    if each.asname is None:
                        raise _unseen(name, node, "write `import NAME as ...`")
                    places.append((each.lineno, each.col_offset))
                    each.name = f"{HOME}.{each.name}"
    _refuse_hidden(tree, name)
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + f"{HOME}.".encode() + text[column:]
    made = b"".join(lines)
    if ast.dump(ast.parse(made, name)) != ast.dump(tree):
        raise ValueError(f"{name}: the renamed module is another one")
    return made


def gather(root: Path) -> None:
    """Move our packages in a tree that becomes a wheel into one, and rename their imports.

    Raises:
        ValueError: a module names one of them where it cannot be renamed.
    """
    home = root / HOME
    home.mkdir()
    for name in OURS:
        (root / name).rename(home / name)
    (root / f"{HOME}.py").unlink()
    for module in home.rglob("*.py"):
        module.write_bytes(renamed(module.read_bytes(), str(module.relative_to(home))))
    for name, text in _FILES.items():
        (home / name).write_text(text, "utf-8")


def standalone(readme: str) -> str:
    """Return the readme as an index shows it: what links point to lies in the checkout alone."""
    return _LINK.sub(r"\1", readme)


class Wheel(bdist_wheel):  # type: ignore[misc]  # setuptools is not followed by mypy
    """A wheel of one package."""

    def run(self) -> None:
        """Build it from this tree alone: nothing of an earlier build stays in it."""
        shutil.rmtree(self.get_finalized_command("build").build_lib, ignore_errors=True)
        super().run()

    def write_wheelfile(self, wheelfile_base: str, *args: Any, **kwargs: Any) -> None:
        """Put the tree right, which is whole by now; one for an editable installation is empty."""
        about = Path(wheelfile_base)
        if (about.parent / OURS[0]).is_dir():
            gather(about.parent)
            (about / "top_level.txt").write_text(f"{HOME}\n", "utf-8")
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        for path in about.parent.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


class Described(egg_info):  # type: ignore[misc]  # setuptools is not followed by mypy
    """Metadata whose description is read where no checkout is."""

    def run(self) -> None:
        """Write them."""
        metadata = self.distribution.metadata
        metadata.long_description = standalone(metadata.long_description or "")
        super().run()


class Source(sdist):  # type: ignore[misc]  # setuptools is not followed by mypy
    """A source distribution without a trace of who packed it, and when."""

    def make_archive(  # noqa: PLR0917  # setuptools calls it so
        self,
        base_name: str,
        format: str,  # noqa: A002  # the same
        root_dir: Any = None,
        base_dir: str | None = None,
        owner: str | None = None,
        group: str | None = None,
    ) -> str:
        """Pack a folder: in order, of nobody, of one time (``SOURCE_DATE_EPOCH``)."""
        if format != "gztar" or base_dir is None:
            return str(super().make_archive(base_name, format, root_dir, base_dir, owner, group))
        packed = Path(f"{base_name}.tar.gz")
        when = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        pack(packed, {str(path): path for path in Path(base_dir).rglob("*")}, when)
        return str(packed)


def pack(packed: Path, files: dict[str, Path], when: int) -> None:
    """Write an archive of files: in order, of nobody, all of one time."""
    with (
        packed.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=when) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in sorted(files.items()):
            if path.is_file():
                about = tarfile.TarInfo(name)
                about.size, about.mtime = path.stat().st_size, when
                about.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                with path.open("rb") as content:
                    archive.addfile(about, content)


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] in OURS


def _unseen(name: str, node: ast.AST, hint: str) -> ValueError:
    at = f"{name}:{getattr(node, 'lineno', '?')}"
    return ValueError(f"{at}: names a package of Tocsin's where it cannot be renamed: {hint}")


def _refuse_hidden(tree: ast.Module, name: str) -> None:
    """Refuse names of our packages in strings, and imports whose name nobody can see."""
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in words and _DOTTED.fullmatch(node.value):
                raise _unseen(name, node, "say __package__ or __name__ instead of a string")
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in ("exec", "eval") and isinstance(node.func, ast.Name):
                raise _unseen(name, node, "nobody can see what is run here")
            if called in _IMPORTERS | _READERS and node.args:
                _refuse_call(name, node, strict=called in _IMPORTERS)


def _refuse_call(name: str, node: ast.Call, *, strict: bool) -> None:
    first = node.args[0]
    if isinstance(first, ast.Constant):
        if isinstance(first.value, str) and _is_ours(first.value):
            raise _unseen(name, node, "say __package__ or __name__ instead of a string")
    elif strict and _OWN.isdisjoint(_names(first)):
        raise _unseen(name, node, "let the name begin with __package__")


def _names(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            yield node.id
