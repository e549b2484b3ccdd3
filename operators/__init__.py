"""Mechanisms: exact, pure, planned before they decide."""

from operators.apportion import Apportionment, Atom, apportion
from operators.atoms import Comparison, IntegerTest
from operators.base import Decision, Operator, Plan, Promise
from operators.formula import Formula
from operators.nlm import Nlm
from operators.noise import CertifiedProbability, NoiseSource, exp_neg_bounds
from operators.progressive import Dppwlm, Ppwlm
from operators.registry import MECHANISMS, create, price
from operators.tslm import Tslm, theoretical_limit

__all__ = [
    "MECHANISMS",
    "Apportionment",
    "Atom",
    "CertifiedProbability",
    "Comparison",
    "Decision",
    "Dppwlm",
    "Formula",
    "IntegerTest",
    "Nlm",
    "NoiseSource",
    "Operator",
    "Plan",
    "Ppwlm",
    "Promise",
    "Tslm",
    "apportion",
    "create",
    "exp_neg_bounds",
    "price",
    "theoretical_limit",
]
