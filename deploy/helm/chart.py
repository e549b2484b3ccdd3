"""Renders the chart as three clusters would have it, into ``rendered``, for tests and readers.

Use: ``python -m deploy.helm.chart HELM [--write]``, with the path of helm 3. Without ``--write`` it
fails where what is written there is not what the chart renders.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALERTS", "CASES", "CHART", "RENDERED", "render", "stamp"]

FOLDER: Final = Path(__file__).resolve().parent
CHART: Final = FOLDER / "tocsin"
RENDERED: Final = FOLDER / "rendered"
ALERTS: Final = "deploy/alerts.yml"
"""What stands in place of the alerts: they change without the chart, and are tested by promtool."""
CASES: Final = {"small": ("small",), "own": ("own",), "full": ("small", "full")}
"""Which files of ``cases`` each cluster is given, by its name."""
KUBERNETES: Final = "1.31.0"
RELEASE: Final = "building"


def stamp() -> str:
    """Return a digest of all that is rendered: the chart's files but the alerts, and the cases."""
    digest = hashlib.sha256()
    for path in sorted(path for path in FOLDER.rglob("*") if _is_source(path)):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(FOLDER)} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


def render(helm: str, name: str) -> str:
    """Return what the chart makes of a case, after linting it; of the alerts their name alone.

    Raises:
        subprocess.CalledProcessError: helm refuses the chart; it has said why.
        ValueError: the alerts are not there as their file has them.
    """
    values = [f"--values={FOLDER / 'cases' / one}.yaml" for one in CASES[name]]
    _helm(helm, ["lint", "--strict", "--quiet", str(CHART), *values])
    asked = ["template", RELEASE, str(CHART), f"--kube-version={KUBERNETES}", *values]
    text = _helm(helm, asked)
    alerts = (CHART / "alerts.yml").read_text(encoding="utf-8").rstrip("\n").replace("\n", "\n  ")
    if text.count(alerts) != text.count("kind: PrometheusRule"):
        raise ValueError(f"what is rendered of {name} does not hold {ALERTS} as it is")
    return f"# helm template; of {stamp()}\n{text.replace(alerts, ALERTS)}"


def _is_source(path: Path) -> bool:
    inside = path.relative_to(FOLDER).parts[0]
    return inside in {CHART.name, "cases"} and path.is_file() and path.name != "alerts.yml"


def _helm(helm: str, arguments: Sequence[str]) -> str:
    done = subprocess.run([helm, *arguments], check=False, capture_output=True, text=True)  # noqa: S603  # ours
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()
    return done.stdout


def main() -> None:
    """Render every case, and write it or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("helm")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    RENDERED.mkdir(exist_ok=True)
    for name in CASES:
        path, text = RENDERED / f"{name}.yaml", render(options.helm, name)
        if options.write:
            path.write_text(text, encoding="utf-8")
        elif text != path.read_text(encoding="utf-8"):
            sys.exit(f"{path} is not what the chart renders: run it with --write")


if __name__ == "__main__":
    main()
