"""Secrets in the tree: none but those made up for tests, by ``python -m tests.house.leaks``.

The detectors are those of detect-secrets. They are asked of whole files, not of each line, which
takes seconds instead of a minute. What they find and is known stands in ``leaks.txt`` by its
digest, so that the list itself holds nothing; ``--write`` writes it again: look first at what is
new.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detect_secrets.core.scan import get_plugins
from detect_secrets.filters.heuristic import is_potential_uuid, is_templated_secret
from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
from detect_secrets.plugins.keyword import KeywordDetector
from detect_secrets.settings import default_settings

from tests.support.tree import ROOT, tracked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


KNOWN = ROOT / "tests" / "house" / "leaks.txt"
_NOT_ASKED = frozenset(
    {
        "Artifactory Credentials",
        "Cloudant Credentials",
        "IBM Cloud IAM Key",
        "IBM COS HMAC Credentials",
        "SoftLayer Credentials",
        "Public IP (ipv4)",
    }
)
"""Services that nothing here speaks to, whose patterns take most of the time; and no secret."""
_SETTINGS = (".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".env", ".sh")
"""Where a secret may stand behind a name without looking like one; elsewhere names are prose."""
_DIGESTS = ("tests/golden/records/", "tests/data/", "requirements/")
"""Where digests stand by the thousand: random to look at, and public."""


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """What looks like a secret.

    Args:
        path: of the file, from the tree's root.
        kind: of secret, in the detector's words.
        digest: of the secret, 16 hex digits.
        line: where it stands, from 1 on; not part of what is known of it.
    """

    path: str
    kind: str
    digest: str
    line: int = 0

    @property
    def known(self) -> str:
        """The line of ``leaks.txt`` that allows it."""
        return f"{self.digest}  {self.path}  {self.kind}"


def leaks(root: Path, paths: Iterable[str]) -> Iterator[Leak]:
    """Yield what looks like a secret in these files; what is no text is passed over.

    Args:
        root: of the tree.
        paths: from there.
    """
    with default_settings():
        detectors = [one for one in get_plugins() if one.secret_type not in _NOT_ASKED]
        for path in paths:
            try:
                text = (root / path).read_text()
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue
            found = {
                (kind, secret) for one in detectors for kind, secret in _found(one, path, text)
            }
            for kind, secret in sorted(found):
                digest = hashlib.sha256(secret.encode()).hexdigest()[:16]
                yield Leak(path, kind, digest, text.count("\n", 0, text.find(secret)) + 1)


def _found(detector, path, text):
    random = isinstance(detector, HighEntropyStringsPlugin)
    if random and path.startswith(_DIGESTS):
        return
    if isinstance(detector, KeywordDetector):
        if not path.endswith(_SETTINGS):
            return
        secrets: Iterable[str] = [
            found.secret_value or ""
            for number, line in enumerate(text.splitlines(), 1)
            for found in detector.analyze_line(path, line, number)
        ]
    else:
        secrets = detector.analyze_string(text)
    for secret in secrets:
        if random and detector.calculate_shannon_entropy(secret) <= detector.entropy_limit:
            continue
        if not is_potential_uuid(secret) and not is_templated_secret(secret):
            yield detector.secret_type, secret


def main(arguments: Sequence[str]) -> int:
    """Print what is not known, and what is known and gone; 1 if there is any."""
    found = sorted(leaks(ROOT, sorted(tracked(ROOT))))
    if "--write" in arguments:
        lines = sorted({leak.known for leak in found})
        KNOWN.write_text("".join(f"{line}\n" for line in lines))
        return 0
    known = set(KNOWN.read_text().splitlines())
    new = [leak for leak in found if leak.known not in known]
    gone = sorted(known - {leak.known for leak in found})
    for leak in new:
        print(f"{leak.path}:{leak.line}: looks like a secret: {leak.kind}")
    for line in gone:
        print(f"{KNOWN.name}: is not there any more: {line}")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
