"""Bills are CycloneDX, and advisories are told of where they can be reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.audit.advisories import verdict
from deploy.image.bill import bill
from tests.support.tree import ROOT

FINE = {"name": "fine", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "strange", "skip_reason": "Dependency not found on PyPI"}


def test_the_images_bill_is_of_the_schema() -> None:
    """Strictly, version 1.5; a component without a name is refused."""
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    found = bill(Path(sysconfig.get_path("purelib")))
    assert validator.validate_str(json.dumps(found)) is None
    del found["components"][0]["name"]
    assert validator.validate_str(json.dumps(found)) is not None


@pytest.mark.parametrize(
    ("packages", "told", "codes"),
    [
        ([FINE], ["1 packages audited, 0 advisories"], (0, 0)),
        (
            [FINE, BAD],
            ["bad 2.0: PYSEC-1, mended by 2.1", "2 packages audited, 1 advisories"],
            (1, 1),
        ),
        ([FINE, UNKNOWN], ["not audited: strange", "1 packages audited, 0 advisories"], (0, 3)),
        ([UNKNOWN], ["advisories could not be reached: nothing was audited"], (0, 3)),
    ],
)
def test_an_advisory_ends_the_check(
    packages: list[dict[str, object]], told: list[str], codes: tuple[int, int]
) -> None:
    """What was found is named; what nobody was asked about is not called clean, nor released."""
    answer = json.dumps({"dependencies": packages, "fixes": []})
    for release, code in enumerate(codes):
        assert verdict(answer, release=bool(release)) == (told, code)


@pytest.mark.parametrize("answer", ["", "Temporary failure in name resolution", "[]", "{}"])
def test_no_answer_is_not_called_clean(answer: str) -> None:
    """It ends a release alone: a machine without a network tests the same code."""
    told = ["advisories could not be reached: nothing was audited"]
    assert verdict(answer, release=False) == (told, 0)
    assert verdict(answer, release=True) == (told, 3)


def test_a_release_asks_an_index() -> None:
    """Where none is to be had, the command itself ends with 3, and without `--release` with 0."""
    nowhere = os.environ | {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "PIP_INDEX_URL": "https://x.invalid",
    }
    for more, code in ((["--release"], 3), ([], 0)):
        done = subprocess.run(
            [sys.executable, "-m", "deploy.audit.advisories", *more],
            cwd=ROOT, env=nowhere, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == (
            "advisories could not be reached: nothing was audited\n",
            code,
        )
