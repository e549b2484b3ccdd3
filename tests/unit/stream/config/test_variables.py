"""Values from files beside the configuration: put in, and in no error."""

from __future__ import annotations

import os
import time

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from stream.config.loading import load
from stream.config.variables import REFERENCE
from tests.support.checking import check
from tests.support.configurations import MARK, edited, place, write

SECRET = "hunter2"  # noqa: S105  # what must be seen nowhere
METRICS = 'metrics: {custodian: "127.0.0.1:9465"}\n'
TOKEN = edited(METRICS, "metrics: {custodian_token: ⟦'${file:secrets/token}'}\n")


def _given(folder, held, text=TOKEN):
    """Write a configuration and the file that it reads a token from."""
    (folder / "secrets").mkdir(exist_ok=True)
    (folder / "secrets" / "token").write_bytes(held)
    return write(folder, text.replace(MARK, ""))


@pytest.mark.parametrize(
    ("held", "value"),
    [
        (b"hunter2", "hunter2"),
        (b"hunter2\n", "hunter2"),
        (b"hunter2\r\n", "hunter2"),
        (b"hunter2-${HOME}\n", "hunter2-${HOME}"),
        ("ключ\n".encode(), "ключ"),
    ],
)
def test_a_value_is_what_a_file_holds_less_one_newline(tmp_path, held, value):
    """Whoever writes the file, with an editor or `printf`, means the same; no variable inside."""
    alarms = load(_given(tmp_path, held), environ={"HOME": "elsewhere"})
    assert alarms.settings.custodian_token == value


def test_a_file_may_be_part_of_a_value_beside_variables(tmp_path):
    """A database's password stands in the middle of its address."""
    text = edited(
        METRICS,
        "ledger: postgresql://${WHO}:${file:secrets/token}@db/t\n",
    )
    alarms = load(_given(tmp_path, b"hunter2\n", text), environ={"WHO": "tocsin"})
    assert alarms.settings.ledger_url == "postgresql+psycopg://tocsin:hunter2@db/t"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xff hunter2", "is not UTF-8 text"),
        (b"hunter2\0", "is not UTF-8 text"),
        (b"hunter2" * 10_000, "is longer than 64 KiB"),
    ],
)
def test_what_is_no_secret_is_refused_where_it_is_named(tmp_path, held, said):
    """The error has a place, the path and a reason, and nothing of what the file holds."""
    (error,) = check(_given(tmp_path, held), environ={})
    assert error.message == f"the file secrets/token {said}"
    assert (error.line, error.column) == place(TOKEN)
    assert SECRET not in str(error)


@pytest.mark.parametrize(
    "path", ["missing", "secrets", "secrets/token/below", "/dev/zero", "a\0b", "~nobody-here/x"]
)
def test_a_file_that_cannot_be_read_is_one_error(tmp_path, path):
    """Missing, a folder, a device, no path at all."""
    text = TOKEN.replace("secrets/token", path.replace("\0", "\\0")).replace("'", '"')
    (error,) = check(_given(tmp_path, b"hunter2", text), environ={})
    assert error.message.startswith("the file ")
    assert " cannot be read: " in error.message
    assert "starts at this file's folder" in error.hint


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody may ever write into it."""
    file = _given(tmp_path, b"hunter2")
    (tmp_path / "secrets" / "token").unlink()
    os.mkfifo(tmp_path / "secrets" / "token")
    (error,) = check(file, environ={})
    assert "a pipe, not a file" in error.message


def test_errors_about_the_value_show_the_reference(tmp_path):
    """An address that is none is told as it is written, never as the file has it."""
    text = TOKEN.replace("custodian_token", "custodian")
    (error,) = check(_given(tmp_path, b"hunter2", text), environ={})
    assert "${file:secrets/token}" in str(error)
    assert SECRET not in str(error)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_no_command_prints_what_a_file_held(tmp_path, command):
    """Token, database and broker come from files; what is said of them holds no secret."""
    text = edited(
        METRICS,
        "ledger: postgresql://t:${file:secrets/token}@db/t\n"
        "metrics: {custodian_token: '${file:secrets/token}'}\n",
    ).replace(
        '"localhost:9092"',
        '"k:1", security: {security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, '
        "sasl_username: t, sasl_password: '${file:secrets/token}'}",
    )
    text = text.replace("tolerance: 9", "tolerance: 17")
    file = _given(tmp_path, b"hunter2\n", text)
    for more in ([], ["--json"]):
        done = CliRunner().invoke(main, [command, str(file), *more])
        assert done.exit_code == 0, done.output
        assert SECRET not in done.output


@pytest.mark.parametrize("opened", ["${file:", "${A:-"])
def test_what_is_never_closed_is_read_once(opened):
    """Twice as many take twice as long, not four times."""

    def took_s(times):
        text = opened * times
        began = time.process_time()
        found = list(REFERENCE.finditer(text))
        assert not any(match[name] for match in found for name in ("name", "path"))
        return time.process_time() - began

    once, twice = (min(took_s(times) for _ in range(5)) for times in (30_000, 60_000))
    assert twice < 3 * once


def test_a_variable_called_file_keeps_its_default(tmp_path):
    """`${file:-x}` was a variable before files could be read."""
    text = TOKEN.replace("${file:secrets/token}", "${file:-plain}")
    value = load(_given(tmp_path, b"", text), environ={}).settings.custodian_token
    assert value == "plain"
