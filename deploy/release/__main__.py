"""All files of a release, from a commit alone: ``make release``.

Use: ``python -m deploy.release OUT --bill SBOM [--helm HELM] [--base IMAGE] [--without-image]``.
The tree of the commit is built twice, in two folders, the second time from the source distribution;
where bytes differ, nothing is left. The image needs ``buildah``; the chart is packed here, and read
by ``helm`` where one is named.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.release.image import About
from deploy.release.version import ROOT, said, version
from deploy.release.wheel import pack

__all__ = ["build", "main", "packed_chart", "packed_image", "sums"]

_REFUSED: Final = 2
_BUILD: Final = (
    "import sys; from setuptools import build_meta as b;"
    " out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"
)


def build(source: Path, out: Path, epoch: int) -> list[Path]:
    """Build a wheel and a source distribution of a tree, and return them in this order.

    Raises:
        SystemExit: a build fails, or warns.
    """
    out.mkdir(parents=True)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    environ.pop("PYTHONPATH", None)
    _run([sys.executable, "-W", "error", "-c", _BUILD, str(out)], folder=source, environ=environ)
    return sorted(out.iterdir())


def packed_chart(source: Path, out: Path, epoch: int) -> Path:
    """Pack the chart of a tree as helm does, in order, of one time and of nobody."""
    chart = source / "deploy" / "helm" / "tocsin"
    packed = out / f"tocsin-{version(source)}-chart.tgz"
    files = {f"tocsin/{path.relative_to(chart)}": path for path in chart.rglob("*")}
    pack(packed, files, epoch)
    return packed


def packed_image(name: str, folder: Path, made: Path, epoch: int) -> None:
    """Pack an image's files, of one time and of nobody, and leave its digest beside them."""
    _run(["buildah", "push", f"--digestfile={made}-image.digest", name, f"oci:{folder}:{name}"])
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    pack(Path(f"{made}-image.tar.gz"), files, epoch)


def sums(out: Path) -> str:
    """Return the checksums of a folder's files, as ``sha256sum --check`` reads them."""
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    digests = ((hashlib.sha256(path.read_bytes()).hexdigest(), path.name) for path in files)
    return "".join(f"{digest}  {name}\n" for digest, name in digests)


def main() -> None:
    """Make the files of the commit that is checked out."""
    parser = argparse.ArgumentParser(description="The files of a release.")
    parser.add_argument("out", type=Path, help="a folder that is not there yet")
    parser.add_argument("--bill", type=Path, required=True, help="of what a user installs")
    parser.add_argument("--helm", help="reads the chart")
    parser.add_argument("--image", default="tocsin", help="name of the image")
    parser.add_argument("--base", help="the base image under another name, as in a mirror")
    parser.add_argument("--without-image", action="store_true", help="where buildah is not")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    _refuse(out, image=not options.without_image)
    about = About(version(), _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, made = folder / "source", folder / "made"
        _run(["git", "archive", f"--output={folder / 'tree.tar'}", "HEAD"])
        _unpack(folder / "tree.tar", source)
        _same_twice(folder, build(source, made, about.epoch), about.epoch)
        chart = packed_chart(source, made, about.epoch)
        if options.helm:
            _run([options.helm, "lint", "--strict", "--quiet", str(chart)])
        shutil.copyfile(options.bill, made / f"tocsin-{about.version}.cdx.json")
        if not options.without_image:
            image = f"{options.image}:{about.version}"
            _run(["buildah", *about.words(source, image, options.base)])
            packed_image(image, folder / "image", made / f"tocsin-{about.version}", about.epoch)
        (made / "SHA256SUMS").write_text(sums(made), "utf-8")
        shutil.copytree(made, out)
    print((out / "SHA256SUMS").read_text("utf-8"), end="")  # noqa: T201


def _refuse(out: Path, *, image: bool) -> None:
    """End where the release would not be that of a commit, or lack something."""
    changed = _git("status", "--porcelain")
    wrong = (
        (bool(changed), "the checkout has changes: commit them"),
        (set(said()) != {version()}, "places differ about the version: make version"),
        (out.exists(), f"{out.name} is there already: remove it"),
        (image and not shutil.which("buildah"), "buildah is missing; or say WITHOUT=image"),
    )
    for there, sentence in wrong:
        if there:
            print(f"error: {sentence}", file=sys.stderr)  # noqa: T201
            sys.exit(_REFUSED)


def _same_twice(folder: Path, built: list[Path], epoch: int) -> None:
    """Build what the source distribution holds, and compare."""
    (sdist,) = (path for path in built if path.name.endswith(".tar.gz"))
    _unpack(sdist, folder / "again")
    (source,) = (folder / "again").iterdir()
    again = build(source, folder / "second", epoch)
    for one, other in zip(built, again, strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            sys.exit(f"error: {one.name} is not the same twice")


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    _run(["tar", "-xf", str(archive), "-C", str(folder)])


def _git(*words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)  # noqa: S603
    return done.stdout.strip()


def _run(words: list[str], *, folder: Path = ROOT, environ: dict[str, str] | None = None) -> None:
    """Run a command; what it printed is shown where it fails."""
    done = subprocess.run(  # noqa: S603  # our own command lines
        words, cwd=folder, env=environ, capture_output=True, check=False, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}error: {words[0]} ended with {done.returncode}")


if __name__ == "__main__":
    main()
