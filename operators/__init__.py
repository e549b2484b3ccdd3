"""Mechanisms: exact, pure, planned before they decide."""

from operators.apportion import Apportionment, Atom, apportion
from operators.atoms import Comparison, IntegerTest
from operators.base import Decision, Operator, Plan, Promise
from operators.condition import Aim, Channel, Condition, ThresholdAtom
from operators.formula import Formula
from operators.nlm import Nlm
from operators.noise import CertifiedProbability, NoiseSource, exp_neg_bounds
from operators.probe import Probe
from operators.probe_ent import ProbeEnt
from operators.progressive import Dppwlm, Ppwlm
from operators.registry import MECHANISMS, create, price
from operators.shared import SharedTslm
from operators.single import Single
from operators.tslm import Tslm, theoretical_limit

__all__ = [
    "MECHANISMS",
    "Aim",
    "Apportionment",
    "Atom",
    "CertifiedProbability",
    "Channel",
    "Comparison",
    "Condition",
    "Decision",
    "Dppwlm",
    "Formula",
    "IntegerTest",
    "Nlm",
    "NoiseSource",
    "Operator",
    "Plan",
    "Ppwlm",
    "Probe",
    "ProbeEnt",
    "Promise",
    "SharedTslm",
    "Single",
    "ThresholdAtom",
    "Tslm",
    "apportion",
    "create",
    "exp_neg_bounds",
    "price",
    "theoretical_limit",
]
