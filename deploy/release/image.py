"""The image of a release: its labels, and how buildah makes the same one twice."""  # noqa: INP001  # of a script

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["About"]


@dataclass(frozen=True)
class About:
    """What an image says of itself beside what its Dockerfile says.

    Args:
        version: of Tocsin.
        revision: the commit.
        epoch: seconds since 1970 of the commit; of every file and layer too.
    """

    version: str
    revision: str
    epoch: int

    @property
    def labels(self) -> dict[str, str]:
        """Those of the Open Container Initiative."""
        created = datetime.fromtimestamp(self.epoch, UTC).isoformat().replace("+00:00", "Z")
        return {
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.created": created,
        }

    def words(self, source: Path, name: str, base: str | None = None) -> list[str]:
        """Return the arguments of ``buildah`` that build it from a tree.

        Args:
            source: the tree.
            name: of the image.
            base: the Dockerfile's base image under another name, as in a mirror of its registry.
        """
        labels = [f"--label={key}={value}" for key, value in self.labels.items()]
        return [
            *("build", "--format=docker", f"--timestamp={self.epoch}", *labels),
            *(f"--build-arg=VERSION={self.version}", f"--tag={name}"),
            *([f"--from={base}"] if base else []),
            *(f"--file={source / 'deploy' / 'Dockerfile'}", str(source)),
        ]
