"""Small files, of who knows no custodian's secret: ``kafka``, ``log`` and one more section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from stream.config.closed import models_of
from stream.config.explaining import explained
from stream.config.findings import Findings
from stream.config.keys import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.yamlfile import Document

__all__ = ["read_small"]

_KAFKA: Final = {"kafka": "kafka: {bootstrap: localhost:9092}"}

M = TypeVar("M", bound=BaseModel)


def read_small(
    document: Document,
    path: Path,
    whole: type[M],
    examples: dict[str, str],
) -> tuple[M, Findings]:
    """Return a small file's model, and where further errors go.

    Args:
        document: as loaded.
        path: of the file.
        whole: the model of all of it.
        examples: by key, what to write, where that is another thing than in a file of alarms.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    findings = Findings(document, path.parent, list(document.errors))
    if findings.errors:
        raise findings.errors[0]
    try:
        return whole.model_validate(document.tree), findings
    except ValidationError as error:
        raise explained(document, error, models_of(whole), EXAMPLES | _KAFKA | examples)[
            0
        ] from None
