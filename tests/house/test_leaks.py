"""A secret that lies in the tree is found; what only looks like one to a careless reader is not."""

from __future__ import annotations

import base64
import hashlib

import pytest

from tests.house.leaks import leaks

RANDOM = hashlib.sha256(b"planted").hexdigest()
ENCODED = base64.b64encode(hashlib.sha512(b"planted").digest()).decode()
# In two pieces each: this file lies in the tree, too.
PLANTED = {
    "key.pem": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIE\n",
    "cloud.py": "key = 'AKIA" + RANDOM[:16].upper() + "'\n",
    "hub.md": "Take `ghp" + f"_{RANDOM[:36]}`.\n",
    "ledger.yaml": "ledger: postgresql://tocsin:" + "hunter2@db/tocsin\n",
    "settings.yaml": "password: " + "hunter2hunter2\n",
    "hex.json": f'{{"token": "{RANDOM}"}}\n',
    "base.py": f"TOKEN = {ENCODED!r}\n",
}
HARMLESS = {
    "variable.yaml": b'password: "${KAFKA_PASSWORD}"\n',
    "prose.md": b"The password is in a file of mode 600, the secret in `${file:/run/secrets/x}`.\n",
    "code.py": b"def token(name: str) -> str:\n    return secrets[name]\n",
    "picture.png": b"\x89PNG\xff\x00",
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_found(tmp_path, name):
    """In its file and line, and without telling it."""
    (tmp_path / name).write_text("first line\n" + PLANTED[name])
    found = list(leaks(tmp_path, [name]))
    assert {(leak.path, leak.line) for leak in found} == {(name, 2)}
    assert not any(RANDOM[:16] in leak.known or "hunter2" in leak.known for leak in found)


def test_what_is_harmless_is_not(tmp_path):
    """Variables, prose, code and pictures."""
    for name, content in HARMLESS.items():
        (tmp_path / name).write_bytes(content)
    assert list(leaks(tmp_path, HARMLESS)) == []


def test_a_known_secret_is_known_in_its_file_alone(tmp_path):
    """The same words elsewhere are looked at again, and so is another secret in that file."""
    name = "ledger.yaml"
    for other in (name, "other.yaml"):
        (tmp_path / other).write_text(PLANTED[name])
    (tmp_path / "changed.yaml").write_text(PLANTED[name].replace("2@", "3@"))
    known = [leak.known for leak in leaks(tmp_path, (name, "other.yaml", "changed.yaml"))]
    assert len(set(known)) == len(known) == 3
