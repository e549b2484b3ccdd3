"""Bills are CycloneDX, and advisories are told of where they can be reached."""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.audit.advisories import verdict
from deploy.audit.dependencies import LOCK, PAGE, REPLACED_BY, Package, locked, page, told_of
from deploy.image.bill import bill
from tests.support.procs import ran
from tests.support.tree import ROOT

FINE = {"name": "fine", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "strange", "skip_reason": "Dependency not found on PyPI"}
UNREACHED = "advisories could not be reached: nothing was audited"


def test_the_images_bill_is_of_the_schema():
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
        ([UNKNOWN], [UNREACHED], (0, 3)),
    ],
)
def test_an_advisory_ends_the_check(packages, told, codes):
    """What was found is named; what nobody was asked about is not called clean, nor released."""
    answer = json.dumps({"dependencies": packages, "fixes": []})
    for release, code in enumerate(codes):
        assert verdict(answer, release=bool(release)) == (told, code)


@pytest.mark.parametrize("answer", ["", "Temporary failure in name resolution", "[]", "{}"])
def test_no_answer_is_not_called_clean(answer):
    """It ends a release alone: a machine without a network tests the same code."""
    for release, code in enumerate((0, 3)):
        assert verdict(answer, release=bool(release)) == ([UNREACHED], code)


def test_a_release_asks_an_index():
    """Where none is to be had, the command itself ends with 3, and without `--release` with 0."""
    nowhere = os.environ | {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "PIP_INDEX_URL": "https://x.invalid",
    }
    for more, code in ((["--release"], 3), ([], 0)):
        command = (sys.executable, "-m", "deploy.audit.advisories", *more)
        said = ran(*command, code=code, cwd=ROOT, env=nowhere).stdout
        assert said == f"{UNREACHED}\n"


TWO = """\
# by hand
aiohttp==3.14.5 \\
    --hash=sha256:00
    # via
    #   -c requirements/run.lock
    #   tocsin (pyproject.toml)
    #   faust-streaming
yarl==1.25.1 ; sys_platform != 'x' \\
    --hash=sha256:01
    # via aiohttp
"""


def test_the_audit_reads_what_a_lock_holds():
    """Names, versions, and who brought what is not required itself."""
    assert locked(TWO, frozenset({"aiohttp"})) == [
        Package("aiohttp", "3.14.5", ()),
        Package("yarl", "1.25.1", ("aiohttp",)),
    ]


def test_the_audit_says_what_an_index_says():
    """An advisory about another version than the lock's is not taken for one about the lock's."""
    answer = {
        "info": {"version": "3.14.5", "author": None, "maintainer_email": '"A, B" <a@x.example>'},
        "urls": [{"upload_time": "2025-02-02T10:00:00"}, {"upload_time": "2025-02-01T10:00:00"}],
        "vulnerabilities": [{"id": "OLD", "withdrawn": "2025-01-01"}, {"id": "NEW"}],
    }
    told = told_of(Package("aiohttp", "3.14.5", ()), answer)
    assert (told.released, told.keepers, told.advisories) == ("2025-02-01", ("A, B",), ("NEW",))
    behind = told_of(Package("aiohttp", "3.14.4", ()), answer)
    assert behind.advisories is None
    text = page([told, Package("yarl", "1.25.1", ("aiohttp",))], "2026-02-03")
    assert "- With a known advisory: `aiohttp`." in text
    assert "| `yarl` | 1.25.1 | not said | not said | not said |" in text


def test_the_audit_is_of_this_lock():
    """A new version in the lock needs `make audit`; each requirement says what replaces it."""
    text = PAGE.read_text()
    rows = re.findall(r"^\| `([a-z0-9._-]+)` \| (\S+) \|", text, flags=re.MULTILINE)
    lock = locked(LOCK.read_text(), frozenset(REPLACED_BY))
    assert rows == [(one.name, one.locked) for one in lock]
    required = text.split("\n## ")[1]
    assert {name for name, _ in rows if f"| `{name}` |" in required} == set(REPLACED_BY)
