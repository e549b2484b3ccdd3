"""Images built by buildah and run by podman, where no registry can be asked.

Both are Debian's, on storage of a test's own. A base image that cannot be pulled is made from
Debian's packages and a Python of this machine (``TOCSIN_IMAGE_PYTHON``): it stands in for the
official one, which is that on Debian's packages, too. What it cannot show is that the digest in the
Dockerfile exists.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.release.image import About
from deploy.release.version import version
from tests.support.procs import ran
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from typing import Self

IMAGE = "localhost/tocsin:checked"
ABOUT = About(version(), "0" * 40, 1_700_000_000)

MIRROR = "http://deb.debian.org/debian"
RELEASE = "bookworm"
LIBRARIES = (
    "ca-certificates,netbase,libbz2-1.0,libexpat1,libffi8,liblzma5,libnsl2,libreadline8,"
    "libsqlite3-0,libssl3,libuuid1,zlib1g"
)
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE = "localhost/python"
HYBRID = Path("/sys/fs/cgroup/unified")


class Engine:
    """Two programs on one storage; to be used in a ``with``, which removes everything at its end.

    Args:
        folder: for images and containers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._within: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Write what the programs read, and take a view of the file system if one is needed."""
        (self.folder / "storage.conf").write_text(
            "[storage]\ndriver = 'overlay'\n"
            f"graphroot = '{self.folder}/graph'\nrunroot = '{self.folder}/run'\n",
            "ascii",
        )
        # What a container gets by default is more than a container of ours may have.
        (self.folder / "containers.conf").write_text(
            "[containers]\ndefault_ulimits = ['nofile=1024:1024', 'nproc=1024:1024']\n"
            "[engine]\nevents_logger = 'file'\ncgroup_manager = 'cgroupfs'\n",
            "ascii",
        )
        if HYBRID.is_mount():  # crun refuses it; nobody else shall miss it
            self._within = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", f"umount {HYBRID} && exec sleep infinity"]
            )
            while Path(f"/proc/{self._within.pid}/comm").read_text("ascii") != "sleep\n":
                assert self._within.poll() is None
                time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        """End what was started here, and remove every image."""
        self("podman", "pod", "rm", "--all", "--force", "--time=5")
        self("podman", "rm", "--all", "--force", "--time=5")
        self("podman", "rmi", "--all", "--force")
        if self._within is not None:
            self._within.kill()
            self._within.wait()

    def __call__(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ``podman`` or ``buildah``; never fails by itself."""
        within = ("nsenter", f"--target={self._within.pid}", "--mount") if self._within else ()
        return ran(
            *within,
            program,
            *words,
            code=None,
            env={
                **os.environ,
                "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
                "CONTAINERS_CONF": str(self.folder / "containers.conf"),
                "TMPDIR": str(self.folder),
            },
            timeout=PATIENCE_S * 4,
        )

    def said(self, program: str, *words: str) -> str:
        """Run a command that ends with 0, and return what it printed."""
        done = self(program, *words)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-4000:]}"
        return done.stdout.strip()

    def build(self, name: str, about: About) -> None:
        """Build the image as a release does, but for the base that stands in."""
        asked = self.folder / "pip.conf"
        asked.write_text("[global]\ncert = /etc/authorities.crt\n", "ascii")
        build, *words = about.words(ROOT, name, BASE)
        self.said(
            *("buildah", build, "--isolation=chroot", "--network=host"),
            "--pull-never",
            # A machine behind a proxy has authorities of its own, which the image shall not have.
            f"--volume={AUTHORITIES}:/etc/authorities.crt:ro",
            f"--volume={asked}:/etc/pip.conf:ro",
            *words,
        )

    def run(self, image: str, *words: str, options: tuple[str, ...] = ()) -> str:
        """Start a container that runs by itself, with nothing but memory to write to."""
        hardened = (
            *("--detach", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
            *("--network=host", "--tmpfs=/tmp:mode=1777,size=64m", "--memory=1g"),
        )
        return self.said("podman", "run", *hardened, *options, image, *words)

    def once(self, image: str, *words: str, options: tuple[str, ...] = ()) -> str:
        """Return what a command in an image prints."""
        return self.said(
            *("podman", "run", "--rm", "--read-only", "--tmpfs=/tmp:mode=1777", "--network=host"),
            *(*options, f"--entrypoint={words[0]}", image, *words[1:]),
        )


def stand_in(engine: Engine, python: Path) -> None:
    """Make the base image: Debian's least, and a Python where the official one has it.

    Args:
        engine: gets it.
        python: where an interpreter, its library and pip were installed.
    """
    root = engine.folder / "base"
    ran(
        "debootstrap",
        f"--include={LIBRARIES}",
        "--variant=minbase",
        RELEASE,
        root,
        MIRROR,
        timeout=PATIENCE_S * 4,
    )
    for name in ("bin", "lib"):
        shutil.copytree(
            python / name,
            root / "usr/local" / name,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__", "test"),
        )
    for package in _beside_pip(root):
        shutil.rmtree(package) if package.is_dir() else package.unlink()
    for library in (root / "usr/local/lib").glob("libpython3.*.so.*"):
        ran("strip", library)
    ran("ldconfig", "-r", root)
    archive = engine.folder / "base.tar"
    ran("tar", "-C", root, "-cf", archive, ".")
    engine.said("podman", "import", str(archive), BASE)
    archive.unlink()
    shutil.rmtree(root)


def _beside_pip(root):
    for package in (root / "usr/local/lib").glob("python3.*/site-packages/*"):
        if not package.name.startswith("pip"):
            yield package
