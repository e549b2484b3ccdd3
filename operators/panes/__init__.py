"""One noise per pane, shared by every window that is made of panes: an event pays once.

The noisy statistics of panes, released once; and what windows ask of them, for nothing more. The
proofs are in ``docs/research/proofs/panes.md``.
May import ``operators.single`` and what is below it.
"""

from operators.panes.law import LaplaceSum, LaplaceWalk
from operators.panes.mechanism import Panes
from operators.panes.pricing import PaneQuestion

__all__ = [
    "LaplaceSum",
    "LaplaceWalk",
    "PaneQuestion",
    "Panes",
]
