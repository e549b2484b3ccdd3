"""Known vulnerabilities of what a user installs, where they can be asked for.

Use: ``python -m deploy.audit.advisories``, for ``requirements/image.lock``. pip-audit asks the
package index that pip is set to; one without advisories, or none at all, is said plainly and ends
nothing, so that a machine without a network tests the same code. With ``--release``, what was not
audited ends with 3: nothing is released of which nobody was asked.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["main", "verdict"]

_RELEASE: Final = "--release"
_NOT_AUDITED: Final = 3
LOCK: Final = Path(__file__).resolve().parents[2] / "requirements" / "image.lock"
_PATIENCE_S: Final = 120


def verdict(answer: str, *, release: bool) -> tuple[list[str], int]:
    """Return what pip-audit's answer says, in lines, and the exit code.

    Args:
        answer: what it wrote as JSON; anything else where it reached nobody.
        release: every package has to be audited.
    """
    left = _NOT_AUDITED if release else 0
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        packages = []
    asked = [one for one in packages if "skip_reason" not in one]
    if not asked:
        return ["advisories could not be reached: nothing was audited"], left
    lines = [f"not audited: {one['name']}" for one in packages if "skip_reason" in one]
    found = [(one, advisory) for one in asked for advisory in one["vulns"]]
    for one, advisory in found:
        better = ", ".join(advisory["fix_versions"]) or "no version yet"
        lines.append(f"{one['name']} {one['version']}: {advisory['id']}, mended by {better}")
    lines.append(f"{len(asked)} packages audited, {len(found)} advisories")
    return lines, 1 if found else left if len(asked) < len(packages) else 0


def main() -> int:
    """Ask, print, and return 1 if there is an advisory, 3 if a release was not audited."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(  # noqa: S603  # our own command line
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
        answer = done.stdout
    except subprocess.TimeoutExpired:
        answer = ""
    lines, code = verdict(answer, release=_RELEASE in sys.argv[1:])
    print(*lines, sep="\n")  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
