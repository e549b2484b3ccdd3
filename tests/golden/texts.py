"""Many texts in one file, each under its name; and what changed from one file to another."""

from __future__ import annotations

from difflib import unified_diff

_HEAD = "######## "


def render(texts):
    """Return texts as one."""
    return "".join(f"{_HEAD}{name}\n{text.rstrip()}\n\n" for name, text in texts.items())


def parse(text):
    """Return texts by name, as :func:`render` wrote them."""
    parts = (part.partition("\n") for part in f"\n{text}".split(f"\n{_HEAD}")[1:])
    return {name: f"{body.rstrip()}\n" for name, _, body in parts}


def difference(old, new):
    """Return what changed, readable, or nothing."""
    lines: list[str] = []
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            lines.append(f"{_HEAD}{name}: {'only now' if before is None else 'gone'}")
        elif before.rstrip() != after.rstrip():
            lines.append(f"{_HEAD}{name}")
            both = (before.rstrip().splitlines(), after.rstrip().splitlines())
            lines += unified_diff(*both, "recorded", "now", n=2, lineterm="")
    return "\n".join(lines)
