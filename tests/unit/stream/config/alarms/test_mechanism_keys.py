"""Keys of mechanisms: each stands under the name of a mechanism that reads it, and nowhere else."""

from __future__ import annotations

import pytest

from operators.registry import OFFERED
from stream.config.alarms.mechanism_keys import (
    AUTO,
    OWN_KEYS,
    MechanismModel,
    refusal,
)
from stream.config.closed import keys_of
from stream.config.keys import AlarmModel, TimingModel
from stream.config.moved import misplaced_keys

KEYS = tuple(dict.fromkeys(key for one in OFFERED.values() for key in one.keys))
BESIDE = {"tolerance": 9, "hold": 5, "reference_timeout": 5}
"""Keys of some mechanisms that stand beside those of every alarm."""


def alarm(mechanism, *keys):
    """Return the keys of an alarm whose values have been checked."""
    written = {key: BESIDE[key] for key in keys if key in AlarmModel.model_fields}
    timing = {f"{key}_ms": BESIDE[key] for key in keys if key in keys_of(TimingModel)}
    return AlarmModel.model_construct(
        sql="",
        max_fnr=0.05,
        mechanism=MechanismModel(name=mechanism),
        timing=TimingModel.model_construct(**timing),
        **written,
    )


@pytest.mark.parametrize("mechanism", OFFERED.values(), ids=OFFERED)
def test_a_mechanism_reads_its_own_keys_and_no_others(mechanism):
    """Every other key is told to belong elsewhere, or why it is not read."""
    own = [key for key in mechanism.keys if key in BESIDE]
    assert list(misplaced_keys(alarm(mechanism.name, *own))) == []
    assert {*OWN_KEYS[mechanism.name], *own} == set(mechanism.keys)
    for key in set(KEYS) - set(mechanism.keys):
        message, hint = refusal(key, mechanism.name) or ("", "")
        if key in BESIDE:
            at = ("timing", key) if key in keys_of(TimingModel) else (key,)
            assert list(misplaced_keys(alarm(mechanism.name, key))) == [(at, message, hint)]
        if key in mechanism.refuses:
            assert (message, hint) == mechanism.refuses[key]
        else:
            assert message == f"mechanism {mechanism.name} has no key {key}"
            assert hint.startswith(f"remove {key}, or use mechanism: ")


def test_every_key_of_a_mechanism_is_one_of_the_configuration():
    """No descriptor names a key that the configuration has no type for; no type is left over."""
    assert set(KEYS) - BESIDE.keys() == MechanismModel.model_fields.keys() - {"name"}
    assert OWN_KEYS.keys() == {*OFFERED, AUTO}
