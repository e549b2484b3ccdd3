"""What a page of metrics shows, as Prometheus would read it."""

from __future__ import annotations

from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from deploy.kafka.runtime import HOST
from tests.support.waiting import PATIENCE_S

__all__ = ["answer", "scraped"]


def answer(port: int, path: str) -> tuple[int, str]:
    """Return status and text of a path; 0 while nobody listens."""
    try:
        with urlopen(f"http://{HOST}:{port}{path}", timeout=PATIENCE_S) as found:
            return found.status, found.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (URLError, ConnectionError):
        return 0, ""


def scraped(port: int) -> dict[str, float]:
    """Return a page's series, with labels as they are printed; none while nobody listens."""
    status, text = answer(port, "/metrics")
    assert status in {0, 200}, text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}
