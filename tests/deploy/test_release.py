"""What a release is made of: one version, archives that are the same twice, an image's labels."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tarfile

import pytest

from deploy.release.__main__ import packed_chart, sums
from deploy.release.image import About
from deploy.release.version import PLACES, said, version, write
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of


def test_the_version_is_the_same_everywhere():
    """Chart (rendered too), image, compose and AsyncAPI say what pyproject.toml says."""
    assert said() == [version()] * len(PLACES)
    for name in ("small", "own", "full"):
        rendered = text_of(f"deploy/helm/rendered/{name}.yaml")
        told = re.findall(r"(?:app.kubernetes.io/version: |chart: tocsin-)(\S+)", rendered)
        assert {each.strip('"') for each in told} == {version()}


def test_a_new_version_is_written_into_every_place(tmp_path):
    """Nothing else of the files changes."""
    _places(tmp_path)
    _say_another(tmp_path)
    assert said(tmp_path) != ["7.8.9"] * len(PLACES)
    write(tmp_path)
    assert said(tmp_path) == ["7.8.9"] * len(PLACES)
    for name, _ in PLACES:
        again = (tmp_path / name).read_text().replace("7.8.9", version())
        assert again == text_of(name)


def test_the_chart_is_packed_as_helm_does_it(tmp_path):
    """One folder, named after the chart, with all that is in it."""
    chart = ROOT / "deploy" / "helm" / "tocsin"
    packed = packed_chart(ROOT, tmp_path, 1_700_000_000)
    assert packed.name == f"tocsin-{version()}-chart.tgz"
    with tarfile.open(packed) as archive:
        names = {each.name for each in archive.getmembers()}
    wanted = {path for path in chart.rglob("*") if path.is_file()}
    assert names == {f"tocsin/{path.relative_to(chart)}" for path in wanted}


def test_checksums_are_those_of_the_files(tmp_path):
    """As `sha256sum --check` reads them; they are no checksums of themselves."""
    for name in ("b", "a", "SHA256SUMS"):
        (tmp_path / name).write_text(name)
    told = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a", "b")]
    assert sums(tmp_path) == "".join(told)


def test_an_image_says_what_it_is_of(tmp_path):
    """Version, commit and time of the commit, which is the time of its files as well."""
    about = About("1.2.3", "f" * 40, 1_700_000_000)
    words = set(about.words(tmp_path, "tocsin:1.2.3"))
    label = "--label=org.opencontainers.image."
    assert words >= {
        f"{label}version=1.2.3",
        f"{label}revision={'f' * 40}",
        f"{label}created=2023-11-14T22:13:20Z",
        "--timestamp=1700000000",
    }
    mirrored = about.words(tmp_path, "tocsin:1.2.3", "mirror.example/python")
    assert set(mirrored) - words == {"--from=mirror.example/python"}
    dockerfile = text_of("deploy/Dockerfile")
    for name in ("title", "description", "version", "licenses"):
        assert f"org.opencontainers.image.{name}=" in dockerfile


@pytest.mark.long
def test_a_release_is_that_of_a_commit(tmp_path):
    """A tree with changes, or of two versions, is refused before anything is built."""
    tree, out = tmp_path / "tree", tmp_path / "dist"
    shutil.copytree(ROOT / "deploy" / "release", tree / "deploy" / "release")
    _places(tree, ".gitignore")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-C", str(tree)]
    release = [sys.executable, "-m", "deploy.release", out, "--bill", "x", "--without-image"]

    def commit():
        for words in (["add", "."], ["commit", "--quiet", "--message=a"]):
            ran(*git, *words)

    def refused():
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tree)}
        done = ran(*release, code=2, cwd=tree, env=environ)
        assert not out.exists()
        return done.stderr

    ran(*git, "init", "--quiet")
    commit()
    _say_another(tree)
    assert "the checkout has changes" in refused()
    commit()
    assert "places differ about the version" in refused()


def _places(folder, *more):
    """Copy every file that says the version, and more."""
    for name in {"pyproject.toml", *more, *(name for name, _ in PLACES)}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def _say_another(folder):
    """Write version 7.8.9 into the project's file."""
    project = folder / "pyproject.toml"
    project.write_text(project.read_text().replace(f'"{version()}"', '"7.8.9"', 1))
