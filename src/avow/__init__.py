"""Avow: agents declare before they act.

>>> import avow
>>> verdict = avow.evaluate(record)              # bytes, text or a dictionary
>>> verdict.outcome, verdict.score, verdict.reasons

`evaluate` judges in this process and needs no server. What is exported here is promised; the rest
of the package may move.
"""

from avow.core.errors import AvowError, MalformedError, Problem
from avow.core.finding import Finding
from avow.core.inventory import Inventory, Known
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import Environment, Level, Outcome, Trust
from avow.wiring import evaluate

__version__ = "0.1.0"

__all__ = [
    "AvowError",
    "Environment",
    "Finding",
    "Inventory",
    "Known",
    "Level",
    "MalformedError",
    "Outcome",
    "Policy",
    "Problem",
    "Trust",
    "Verdict",
    "evaluate",
]
