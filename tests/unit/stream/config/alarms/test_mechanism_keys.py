"""Keys of mechanisms: each is one of alarms, and stands where its mechanism reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from operators.registry import ALL, OFFERED
from stream.config.alarms.mechanism_keys import misplaced_keys, named_wrongly
from stream.config.keys import AlarmModel

if TYPE_CHECKING:
    from operators.descriptors import Mechanism

VALUES: dict[str, Any] = {key: "anything" for one in OFFERED.values() for key in one.keys}
"""Every key of some mechanism, with a value that nobody looks at here."""


def alarm(mechanism: str, *keys: str) -> AlarmModel:
    """Return the keys of an alarm whose values have been checked."""
    written = {key: VALUES[key] for key in keys}
    return AlarmModel.model_construct(sql="", max_fnr=0.05, mechanism=mechanism, **written)


@pytest.mark.parametrize("mechanism", OFFERED.values(), ids=OFFERED)
def test_a_mechanism_reads_its_own_keys_and_no_others(mechanism: Mechanism) -> None:
    """What it reads is let by; every other key is told to belong elsewhere, or why it does not."""
    assert list(misplaced_keys(alarm(mechanism.name, *mechanism.keys))) == []
    for key in VALUES.keys() - set(mechanism.keys):
        ((at, message, hint),) = misplaced_keys(alarm(mechanism.name, *mechanism.keys, key))
        assert at == key
        if key in mechanism.refuses:
            assert (message, hint) == mechanism.refuses[key]
        else:
            assert message.startswith(f"{key} is for mechanism: ")
            assert mechanism.name in message


@pytest.mark.parametrize("mechanism", OFFERED.values(), ids=OFFERED)
def test_what_a_mechanism_needs_is_asked_for(mechanism: Mechanism) -> None:
    """A key that has to be written is named at the mechanism, with an example."""
    found = [(at, message) for at, message, hint in misplaced_keys(alarm(mechanism.name)) if hint]
    needed = [f"mechanism: {mechanism.name} needs {key}" for key in mechanism.needs]
    assert found == [("mechanism", message) for message in needed]


def test_every_key_of_a_mechanism_is_a_key_of_alarms() -> None:
    """No descriptor names a key that the configuration has no type for."""
    assert VALUES.keys() <= AlarmModel.model_fields.keys()


def test_only_what_keeps_its_promise_may_be_named() -> None:
    """A baseline is told to be one, an unknown name what is near it."""
    assert not any(map(named_wrongly, OFFERED))
    for name in ALL.keys() - OFFERED.keys():
        message, hint = named_wrongly(name) or ("", "")
        assert "does not keep max_fnr" in message
        assert hint == "write mechanism: tslm"
    assert named_wrongly("tsml") == ("this mechanism is not known", "did you mean `tslm`?")
