"""From bytes to a verdict, recording nothing: the simulation every door can offer.

The order is that of every declaration: admit, read, seal, gather, judge. What a declaration adds
to it is the transaction around gather and record; this module writes nothing and so may not be
used to permit an effect that the journal should know of.

Clauses: IRL-2.04, IRL-2.21, IRL-4.01.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from avow.core.assess import Assessor, assess
from avow.core.declaration import Declaration
from avow.core.errors import MalformedError, Problem
from avow.core.intent import Intent, seal
from avow.core.inventory import EMPTY, Inventory
from avow.core.policy import Policy
from avow.core.rate import Tripped
from avow.core.situation import Situation
from avow.core.verdict import Verdict
from avow.core.words import Signature, Trust
from avow.dialects import reading
from avow.dialects.irl import lower as irl

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One spelling: whether a value is meant in it, and what it declares."""

    recognises: Callable[[Any], bool]
    read: Callable[[Any], Declaration]


DIALECTS = {irl.NAME: Dialect(irl.recognises, irl.read)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What the caller vouches for about the one who declares, and about the world."""

    trust: Trust | None = None
    signature: Signature = Signature.ABSENT
    inventory: Inventory = EMPTY
    tripped: tuple[Tripped, ...] = ()


NOTHING_VOUCHED = Vouched()


class Judge:
    """Reads and judges declarations; counts what it had to refuse, by code.

    `assessors` are further checks that join every judgement; they can only harden.
    """

    def __init__(
        self,
        limits: reading.Limits = reading.DEFAULT_LIMITS,
        assessors: tuple[Assessor, ...] = (),
    ) -> None:
        self._limits = limits
        self._assessors = assessors
        self.refused: Counter[str] = Counter()

    def read(self, body: bytes, dialect: str = AUTO) -> Intent:
        """Return the sealed intent of a body, or raise `MalformedError` and count it."""
        try:
            value = reading.admit(body, self._limits)
            declaration = _dialect(value, dialect).read(value)
        except MalformedError as error:
            self.refused[error.code] += 1
            raise
        return seal(declaration, source_digest=hashlib.sha256(body).hexdigest())

    def judge(
        self,
        body: bytes,
        *,
        policy: Policy,
        vouched: Vouched = NOTHING_VOUCHED,
        dialect: str = AUTO,
    ) -> Verdict:
        """Return the verdict on a body under a policy, given what the caller vouches for."""
        return self.assess(self.read(body, dialect), policy=policy, vouched=vouched)

    def assess(self, intent: Intent, *, policy: Policy, vouched: Vouched) -> Verdict:
        """Return the verdict on an intent that was read before."""
        situation = Situation(
            policy=policy,
            registered_trust=vouched.trust,
            signature=vouched.signature,
            inventory=vouched.inventory,
            tripped=vouched.tripped,
        )
        return assess(intent, situation, assessors=self._assessors)


def _dialect(value: Any, wanted: str) -> Dialect:
    if wanted == AUTO:
        for dialect in DIALECTS.values():
            if dialect.recognises(value):
                return dialect
    elif wanted in DIALECTS:
        return DIALECTS[wanted]
    named = "no dialect recognises the document" if wanted == AUTO else f"no dialect `{wanted}`"
    problem = Problem("", "declaration.unknown_dialect", named)
    raise MalformedError("declaration.unknown_dialect", [problem])
