"""Bills are CycloneDX, and advisories are told of where they can be reached."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.audit.advisories import verdict
from deploy.image.bill import bill

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
    ("packages", "told", "code"),
    [
        ([FINE], ["1 packages audited, 0 advisories"], 0),
        (
            [FINE, BAD],
            ["bad 2.0: PYSEC-1, mended by 2.1", "2 packages audited, 1 advisories"],
            1,
        ),
        ([FINE, UNKNOWN], ["not audited: strange", "1 packages audited, 0 advisories"], 0),
        ([UNKNOWN], ["advisories could not be reached: nothing was audited"], 0),
    ],
)
def test_an_advisory_ends_the_check(
    packages: list[dict[str, object]], told: list[str], code: int
) -> None:
    """What was found is named; what nobody was asked about is not called clean."""
    assert verdict(json.dumps({"dependencies": packages, "fixes": []})) == (told, code)


@pytest.mark.parametrize("answer", ["", "Temporary failure in name resolution", "[]", "{}"])
def test_no_answer_is_not_called_clean(answer: str) -> None:
    """And ends nothing: a machine without a network tests the same code."""
    assert verdict(answer) == (["advisories could not be reached: nothing was audited"], 0)
