"""The page about notify: its file is read, its figures are the planner's, its tables complete."""

from __future__ import annotations

import re

from stream.config.closed import keys_of
from stream.config.notify.keys import LifecycleModel
from stream.config.notify.reading import read_subscription
from stream.decisions.lifecycle import Notice
from stream.decisions.templates import FIELDS
from stream.model.panes import PATTERN
from stream.planning.lifecycles import reaches
from tests.support.tree import blocks, text_of

PAGE = text_of("docs/how-to/notify.md")
RECORDS = text_of("docs/reference/records.md")


def test_the_file_without_feeds_is_read(tmp_path):
    """As printed, with its two variables."""
    (text,) = blocks(PAGE, "yaml")
    path = tmp_path / "notify.yaml"
    path.write_text(text)
    environ = {"KAFKA_PASSWORD": "x", "WEBHOOK_SECRET": "sixteen bytes or more"}
    found = read_subscription(path, environ=environ)
    terms = found.subscription.lifecycle("fire-code")
    assert (terms.needed, terms.among, terms.resolve_after) == (2, 3, 2)
    assert found.notify.group == "analyst-notify"


def test_the_figures_are_the_planners():
    """Three in a row miss 0.143, two of three 0.007, and two silent windows are one in 400."""
    assert f"probability {1 - reaches(3, 3, 0.95):.3f}" in PAGE
    assert f"`of: [2, 3]` with {1 - reaches(2, 3, 0.95):.3f}" in PAGE
    assert f"once in {round(1 / 0.05**2)} windows" in PAGE


def test_every_key_and_field_has_its_place():
    """Keys of lifecycles; fields of notices and of templates."""
    words = set(re.findall(r"`{?([a-z_]+)}?`", PAGE))
    assert set(keys_of(LifecycleModel)) | set(Notice.__struct_fields__) | set(FIELDS) <= words


def test_consumers_leave_out_what_panes_are_called():
    """The printed pattern is the one by which names are reserved."""
    assert f'panes = re.compile("{PATTERN}")' in RECORDS
