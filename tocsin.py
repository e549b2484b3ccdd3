"""Where the installed command begins: it sees that Tocsin's own packages are found, and starts it.

``stream``, ``operators`` and ``accountant`` are common words. Another distribution, a folder of the
same name or a PYTHONPATH may stand before ours; what was found first would run instead of Tocsin,
or end in a traceback. So nothing of ours is imported before Python has said where it finds it. This
file is named after the distribution, and imports next to nothing: signals come first
(``stream/cli/entry.py``).
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main", "shadow"]

_OURS: Final = ("stream", "operators", "accountant")
_BAD_INPUT: Final = 2
_FREE_OF_OTHERS: Final = (
    "unset PYTHONPATH, start in another folder, or uninstall what brought it; `pipx install`"
    " gives Tocsin an environment of its own"
)


def shadow() -> str:
    """Return what stands where Tocsin's own packages should be, in one sentence; "" for nothing.

    They lie beside this file, in an installation as in a checkout. Nothing is imported.
    """
    for name in _OURS:
        try:
            found = find_spec(name)
        except ValueError:  # a program put a module of this name in place by hand
            return f"another `{name}` was loaded before Tocsin's own"
        if found is None:
            return f"Tocsin's package `{name}` is not installed beside {__file__}"
        ours = Path(__file__).resolve().parent / name / "__init__.py"
        if found.origin is not None and Path(found.origin).resolve() == ours:
            continue
        places = found.submodule_search_locations or [str(found.origin)]
        return f"another `{name}` stands before Tocsin's own: {next(iter(places))}"
    return ""


def main() -> NoReturn:
    """Run the command ``tocsin``, or say in one sentence why its packages cannot be had.

    Raises:
        SystemExit: with the command's exit code; 2 where something else is found in their place.
    """
    found = shadow()
    if found:
        sys.stderr.write(f"error: {found}\n  hint: {_FREE_OF_OTHERS}\n")
        sys.exit(_BAD_INPUT)
    from stream.cli.entry import main as command  # noqa: PLC0415  # it is ours: that was seen

    command()


if __name__ == "__main__":
    main()
