"""Avow: agents declare before they act.

>>> import avow
>>> verdict = avow.evaluate(record)              # bytes, text or a dictionary
>>> verdict.outcome, verdict.score, verdict.reasons

`evaluate` judges in this process and needs no server; `Client` and `AsyncClient` ask a running one.
What is exported here is promised; the rest of the package may move.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from avow.core.errors import (
    AvowError,
    ConflictError,
    FaultError,
    MalformedError,
    Problem,
    RefusedError,
)
from avow.core.finding import Finding
from avow.core.inventory import Inventory, Known
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import Environment, Level, Outcome, Trust
from avow.wiring import evaluate

if TYPE_CHECKING:
    from avow.clients.answers import Answer
    from avow.clients.http import AsyncClient, Client
    from avow.clients.receipts import check as check_receipt
    from avow.clients.signing import SigningKey
    from avow.clients.verifying import verify_journal

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AsyncClient",
    "AvowError",
    "Client",
    "ConflictError",
    "Environment",
    "FaultError",
    "Finding",
    "Inventory",
    "Known",
    "Level",
    "MalformedError",
    "Outcome",
    "Policy",
    "Problem",
    "RefusedError",
    "SigningKey",
    "Trust",
    "Verdict",
    "check_receipt",
    "evaluate",
    "verify_journal",
]

# Where names live that are loaded when they are first asked for: httpx alone takes 70 ms to load,
# and who only judges in process needs none of it.
_LATER = {
    "Answer": ("avow.clients.answers", "Answer"),
    "AsyncClient": ("avow.clients.http", "AsyncClient"),
    "Client": ("avow.clients.http", "Client"),
    "SigningKey": ("avow.clients.signing", "SigningKey"),
    "check_receipt": ("avow.clients.receipts", "check"),
    "verify_journal": ("avow.clients.verifying", "verify_journal"),
}


def __getattr__(name: str) -> Any:
    """Load what is exported and not loaded yet."""
    if name not in _LATER:
        raise AttributeError(f"module `avow` has no attribute `{name}`")
    module, found = _LATER[name]
    loaded = globals()[name] = getattr(import_module(module), found)
    return loaded


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
