"""Takes out of an environment what a worker never reads, and compiles what it does read.

Use: ``VENV/bin/python slim.py VENV``, which uses that Python's own library too. Removed are
installers, tests of packages, headers and sources to compile against, Arrow's parts for remote
servers, dialects of other databases, lexers, and second copies of libraries. Code and licences
stay. Then every module of Tocsin's is imported: that ends with an error if something is missing,
and tells whose bytecode to write. A worker on a read-only disk would compile the rest at every
start, and what it never imports needs none.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from py_compile import PycInvalidationMode, compile  # noqa: A004  # of files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["compile_imported", "import_all", "link", "removed", "slim", "strip"]

INSTALLERS = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")
TESTED = ("numpy", "scipy", "pyarrow", "greenlet")
"""Their folders called ``tests`` hold tests; elsewhere that name may be a package's own."""

COMPILED_AGAINST = frozenset(
    (".h", ".hpp", ".pxd", ".pyx", ".pxi", ".pyi", ".a", ".c", ".cc", ".cpp")
)
SCIPY = (
    *("cluster", "constants", "datasets", "differentiate", "fft", "fftpack", "integrate"),
    *("interpolate", "io", "linalg", "misc", "ndimage", "odr", "optimize", "signal", "sparse"),
    *("spatial", "stats"),
)
"""Tocsin asks for special functions, which need none of these."""

FOLDERS = (
    *(f"scipy/{name}" for name in SCIPY),
    "pyarrow/include",
    "pyarrow/src",
    "numpy/_core/include",
    "numpy/_core/lib",
    "sqlalchemy/testing",
    *(f"sqlalchemy/dialects/{name}" for name in ("mssql", "mysql", "oracle")),
)
OURS = ("tocsin.accountant", "tocsin.operators", "tocsin.stream")
LATER = (
    "scipy.special",
    "pyarrow.parquet",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "urllib.request",
    "encodings.idna",
)
"""What is imported when it is first used, and by the image's question for its health."""

EXTRAS = ("matplotlib", "dp_accounting")
"""What a user of the library may install beside it, and the image does not."""

RUN = re.compile(r"\.__main__$")
"""Modules that do something when they are imported."""

ARROW_REMOTE = ("flight", "s3", "gcsfs", "azurefs", "hdfs")
"""Parts of Arrow that speak to servers: files lie here, events come by Kafka."""


def removed(site: Path) -> Iterator[Path]:
    """Yield files and folders of a ``site-packages`` that a worker never reads."""
    for name in INSTALLERS:
        for found in (*site.glob(name), *site.glob(f"{name}-*.dist-info")):
            if found.is_dir():
                yield found
    yield from site.glob("distutils-precedence.pth")
    for lexer in site.glob("pygments/lexers/[a-z]*.py"):
        if not lexer.stem.startswith(("python", "special")):  # tracebacks are shown with them
            yield lexer
    for package in TESTED:
        yield from (folder for folder in site.glob(f"{package}/**/tests") if folder.is_dir())
    yield from (path for path in site.rglob("*.*") if path.suffix in COMPILED_AGAINST)
    yield from (site / folder for folder in FOLDERS if (site / folder).is_dir())
    for part in ARROW_REMOTE:
        yield from site.glob(f"pyarrow/lib*{part}*.so*")
        yield from site.glob(f"pyarrow/_{part}*.so")
    # Wheels have no links: what others load is called `.so.NUMBER`, the rest are copies of it.
    for library in site.glob("pyarrow/lib*.so.*"):
        if re.fullmatch(r"lib\w+\.so\.\d+", library.name):
            yield from library.parent.glob(f"{library.name}.*")
            yield from library.parent.glob(library.name.rpartition(".")[0])


def slim(site: Path) -> int:
    """Remove it.

    Returns:
        The bytes that were freed.
    """
    before = _bytes(site)
    for path in list(removed(site)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)  # it lay in a folder that has gone
    return before - _bytes(site)


def strip(site: Path) -> None:
    """Take out of compiled modules and libraries what only a debugger reads.

    Not where a wheel brings libraries of others, in ``NAME.libs``: what was put in there has been
    rewritten to find them, and would not load any more.

    Raises:
        CalledProcessError: one of them cannot be read.
    """
    rewritten = {path.stem for path in site.glob("*.libs")}
    found = [
        path
        for path in site.rglob("*.so*")
        if path.is_file() and path.relative_to(site).parts[0].removesuffix(".libs") not in rewritten
    ]
    subprocess.run(["strip", "--strip-unneeded", *found], check=True)


def link(site: Path) -> None:
    """Let libraries that two wheels bring be one file."""
    first: dict[tuple[str, bytes], Path] = {}
    for path in sorted(site.glob("*.libs/*.so*")):
        same = first.setdefault((path.name, path.read_bytes()), path)
        if same != path:
            path.unlink()
            path.symlink_to(Path("..", *same.relative_to(site).parts))


def import_all() -> None:
    """Import every module of Tocsin's, and those that it imports later.

    Raises:
        ImportError: something that one of them needs is not there.
    """
    for name in OURS:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not RUN.search(found.name):
                _import(found.name)
    for name in LATER:
        importlib.import_module(name)


def compile_imported() -> int:
    """Write the bytecode of Tocsin's modules and of all that this process has imported.

    It does not ask for the source's time, which differs between two builds of the same files and
    which engines may change; nothing changes a source in an image.

    Returns:
        How many there are.
    """
    sources = {
        path
        for name, module in tuple(sys.modules.items())
        if name != "__main__"
        and (path := Path(getattr(module, "__file__", None) or "")).suffix == ".py"
        and path.exists()
    }
    sources.update(Path(str(sys.modules["tocsin"].__file__)).parent.rglob("*.py"))
    for source in sources:
        compile(str(source), doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    return len(sources)


def main() -> None:
    """Slim the environment that is named, and compile what Tocsin imports."""
    environment = Path(sys.argv[1])
    (site,) = environment.glob("lib/python3.*/site-packages")
    for script in environment.glob("bin/pip*"):
        script.unlink()
    before = _bytes(site)
    slim(site)
    strip(site)
    link(site)
    sys.dont_write_bytecode = True
    import_all()
    for cache in site.rglob("__pycache__"):
        shutil.rmtree(cache)
    modules = compile_imported()
    print(f"{before / 1e6:.0f} MB before, {_bytes(site) / 1e6:.0f} now, {modules} modules compiled")


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


if __name__ == "__main__":
    main()
