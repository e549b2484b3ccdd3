"""Tocsin under its own name, in a checkout: ``tocsin.operators`` is ``operators``, and so on.

An installation holds one package, ``tocsin``, with the three in it (``deploy/release/wheel.py``),
so that another distribution's ``stream`` neither breaks it nor is broken by it. What is written for
an installation runs in a checkout too, editable or not: this file answers for names below
``tocsin`` with the modules that lie beside it, never with second copies of them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

__all__: list[str] = []

__path__: list[str] = []
"""Says that there are modules below this one; where they are, the finder knows."""

_PACKAGES: Final = ("stream", "operators", "accountant")


class _Beside(MetaPathFinder, Loader):
    """Finds ``tocsin.NAME`` as the module ``NAME``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a name of ours that there is."""
        del path, target
        above, _, name = fullname.partition(".")
        if above != "tocsin" or name.split(".")[0] not in _PACKAGES or find_spec(name) is None:
            return None
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in the place of an empty one."""
        sys.modules[module.__name__] = import_module(module.__name__.partition(".")[2])


if __name__ == "__main__":
    from stream.cli.entry import main

    main()
else:
    sys.meta_path.insert(0, _Beside())  # the finder of files would load a second copy
