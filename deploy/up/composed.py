"""The composed stack of ``docker-compose.yml`` under a name of its own, where an engine runs.

It has the hours and rooms of ``deploy/tocsin/`` and nobody who is made up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deploy.up import podman
from deploy.up.processes import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ENGINES", "down", "up"]

ENGINES: Final[Mapping[str, tuple[str, ...]]] = {
    "docker": ("docker", "compose"),
    "podman": ("podman-compose",),
}
"""By engine: what reads the file."""

_SEEN: Final = (1, 6)
"""The oldest podman-compose that was seen to start it all; Debian 12 has 1.0, which fails."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_PROJECT: Final = "tocsin-up"
"""Not the file's own: what is removed here must not be somebody's ledger."""


def up(engine: str) -> None:
    """Build the image and start everything.

    Args:
        engine: one of ``ENGINES``.

    Raises:
        StartError: it is missing, does not answer, or could not start something.
    """
    _check(engine)
    _check_version(ENGINES[engine][0])
    subprocess.run(["sh", str(_ROOT / "deploy" / "secrets.sh")], check=True)
    if engine == "podman":
        _compose(engine, "build")
        podman.start(_command(engine), _PROJECT, _ROOT)
    else:
        _compose(engine, "up", "--build", "--detach")


def down(engine: str) -> None:
    """End everything and remove its containers and volumes; secrets stay.

    Args:
        engine: one of ``ENGINES``.

    Raises:
        StartError: it is missing, does not answer, or could not end something.
    """
    _check(engine)
    _compose(engine, "down", "--volumes")


def _check(engine: str) -> None:
    program = ENGINES[engine][0]
    for name in dict.fromkeys((engine, program)):
        if shutil.which(name) is None:
            raise StartError(f"{name} is missing\n  hint: leave WITH out: nothing of it is needed")
    asked = subprocess.run([engine, "info"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise StartError(f"{engine} does not answer:\n{asked.stderr.strip()}")


def _check_version(program: str) -> None:
    if program != "podman-compose":
        return
    asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"podman-compose version:? (\d+)\.(\d+)", asked.stdout + asked.stderr)
    if found is not None and (int(found[1]), int(found[2])) < _SEEN:
        raise StartError(
            f"{found[0]} is too old\n  hint: take 1.6 or newer (`pipx install podman-compose`)"
        )


def _command(engine: str) -> Sequence[str]:
    return [*ENGINES[engine], "--project-name", _PROJECT]


def _compose(engine: str, *words: str) -> None:
    command = [*_command(engine), *words]
    environment = podman.with_files() if engine == "podman" else None
    done = subprocess.run(command, cwd=_ROOT, env=environment, check=False)
    if done.returncode != 0:
        raise StartError(f"{' '.join(command)} ended with {done.returncode}")
