"""What the image leaves out is read by nothing that Tocsin does, and its bill names what is in."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

from deploy.image.bill import bill
from deploy.image.slim import removed, slim
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of

SITE = Path(sysconfig.get_path("purelib"))
OFFICE = ROOT / "examples" / "office"
WITHOUT = """
import contextlib, os, runpy, sys
gone = set(sys.stdin.read().splitlines())

def absent(path):
    while len(path) > 1:
        if path in gone:
            return True
        path = os.path.dirname(path)
    return False

def refuse(what, told):
    path = told[0] if what == "open" else told[1] if what == "import" else None
    if isinstance(path, str) and absent(path):
        raise FileNotFoundError(path) if what == "open" else ImportError(path)

sys.addaudithook(refuse)
sys.argv = ["tocsin", "run", "alarms.yaml", "--replay", "badges.jsonl"]
with contextlib.suppress(SystemExit):
    runpy.run_module("tocsin", run_name="__main__")
from deploy.image.slim import import_all
import_all()
import scipy
assert scipy.special.ndtr(0) == 0.5 and scipy.special.betaincinv(1, 1, 0.25) == 0.25
with open("/proc/self/maps") as maps:
    mapped = {line.split()[-1] for line in maps if "/" in line}
print("libarrow" in str(mapped), sorted(filter(absent, mapped)))
"""


def test_tocsin_works_without_what_is_left_out(tmp_path):
    """A replay, then every module there is, where those files cannot be opened or loaded."""
    for name in ("alarms.yaml", "rooms.txt", "capacity.csv", "badges.jsonl"):
        (tmp_path / name).write_bytes((OFFICE / name).read_bytes())
    done = ran(
        sys.executable,
        "-c",
        WITHOUT,
        input="\n".join(map(str, removed(SITE))),
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    # No library that is left out was loaded by another; those that stay were.
    assert done.stdout.splitlines()[-1] == "True []"
    assert (tmp_path / ".tocsin" / "office.db").is_file()


def test_slimming_removes_what_it_names_and_nothing_else(tmp_path):
    """A small environment: tests, headers, installers and copies go; code, data, licences stay."""
    stays = [
        "numpy/__init__.py",
        "numpy/testing/__init__.py",
        "pygments/lexers/__init__.py",
        "pygments/lexers/python.py",
        "scipy/special/__init__.py",
        "sqlalchemy/dialects/sqlite/base.py",
        "other/tests/__init__.py",
        "pyarrow/libarrow.so.2600",
        "pyarrow/libparquet.so.2600",
        "numpy-2.0.dist-info/LICENSE",
    ]
    goes = [
        "numpy/linalg/tests/test_x.py",
        "numpy/_core/include/numpy/x.h",
        "pyarrow/lib.pxd",
        "pyarrow/_flight.cpython-311-x86_64-linux-gnu.so",
        "pyarrow/libarrow_flight.so.2600",
        "pyarrow/libarrow.so",
        "pyarrow/libarrow.so.2600.1.0",
        "pygments/lexers/ada.py",
        "scipy/optimize/__init__.py",
        "sqlalchemy/dialects/mssql/base.py",
        "pip/__init__.py",
        "pip-25.0.dist-info/METADATA",
    ]
    for name in (*stays, *goes):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"xx")
    assert slim(tmp_path) == 2 * len(goes)
    assert sorted(stays) == sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )


def test_the_bill_names_every_package_of_the_lock():
    """Name, version and package URL of each, sorted; the same for the same packages."""
    found = bill(SITE)
    urls = [each["purl"] for each in found["components"]]
    assert urls == sorted(urls)
    lock = text_of("requirements/image.lock")
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(.*)$", lock, flags=re.MULTILINE)
    always = {f"pkg:pypi/{name}@{version}" for name, version, rest in pinned if ";" not in rest}
    assert len(always) > 30
    assert always <= {url.replace(".", "-", url.split("@")[0].count(".")) for url in urls} | set(
        urls
    )


def test_the_image_begins_with_nothing():
    """The final stage has what the scripts above put together, and runs nothing of its own."""
    dockerfile = text_of("deploy/Dockerfile")
    build, final = re.split(r"^FROM ", dockerfile, flags=re.MULTILINE)[1:]
    for script in ("slim", "root", "bill"):
        assert f"/src/deploy/image/{script}.py" in build
    assert final.startswith("scratch\n")
    assert "RUN" not in final
    assert "USER 10001:10001" in final
