"""Commands that follow a verdict: it is redeemed once for a permit, and its outcome is told once.

A redemption assesses again, in the situation of now: a policy that changed, an agent that was
revoked or a breaker that opened since then counts. The permit's fencing token is the position of
its entry, so a later permit always has a larger one.

Clauses: IRL-1.01, IRL-3.04.
"""

from dataclasses import dataclass
from typing import Any

from avow.core.assess import Assessor, assess
from avow.core.errors import ConflictError, RefusedError
from avow.core.intent import Intent
from avow.core.inventory import EMPTY, Inventory
from avow.core.journal import Erasable
from avow.core.principal import Principal, Right
from avow.core.rate import Tripped
from avow.core.situation import Situation
from avow.core.words import Outcome, Signature
from avow.engine.declare import entitled, means_of
from avow.engine.ports import Concluded, Transaction, View

# How long a verdict can be redeemed, and how long the permit then holds.
REDEEMABLE_MS = 600_000
PERMIT_MS = 60_000
ENDS = ("done", "failed", "abandoned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """What a permit says, before it is signed; `token` is the fencing token."""

    verdict: str
    intent: str
    agent: str
    principal: str
    token: int
    issued_ms: int
    expires_ms: int

    def content(self, origin: str) -> dict[str, Any]:
        """Return the permit as JSON values, to be signed."""
        return {
            "format": "avow-permit-1",
            "origin": origin,
            "verdict": self.verdict,
            "digest": self.intent,
            "agent": self.agent,
            "principal": self.principal,
            "token": self.token,
            "issued_ms": self.issued_ms,
            "expires_ms": self.expires_ms,
        }


def state(kept: Concluded, *, now_ms: int) -> str:
    """Return where a verdict stands, in one word."""
    if kept.redeemed_ms is not None:
        return "redeemed"
    match Outcome[kept.outcome]:
        case Outcome.DENY:
            return "denied"
        case Outcome.GATE:
            return "waiting" if now_ms < (kept.expires_ms or 0) else "expired"
        case _:
            return "allowed" if now_ms < kept.at_ms + REDEEMABLE_MS else "lapsed"


def owned(source: Transaction | View, principal: Principal, verdict_id: str) -> Concluded:
    """Return a verdict that the principal may see; one of somebody else does not exist for it."""
    kept = source.verdicts.find(verdict_id)
    visible = kept is not None and (kept.principal == principal.id or principal.may(Right.SEE_ALL))
    if kept is None or not visible:
        raise RefusedError("verdict.unknown", f"there is no verdict `{verdict_id[:64]}`")
    return kept


_UNREDEEMABLE = {
    "redeemed": ("verdict.redeemed", "the verdict was redeemed before"),
    "denied": ("verdict.denied", "the verdict is DENY"),
    "waiting": ("verdict.waiting", "a human has not answered yet"),
    "expired": ("verdict.expired", "nobody answered in time, which rejects it"),
    "lapsed": ("verdict.lapsed", "the verdict was not redeemed in time"),
}
_CONFLICTS = frozenset({"verdict.redeemed", "verdict.waiting"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeem:
    """Turn an allowed verdict into a permit, once."""

    verdict_id: str
    principal: Principal
    intent: Intent
    inventory: Inventory = EMPTY
    assessors: tuple[Assessor, ...] = ()

    def __call__(self, transaction: Transaction) -> Permitted:
        """Gather, judge again, record."""
        # gather
        now_ms = transaction.now_ms()
        kept = owned(transaction, self.principal, self.verdict_id)
        agent = entitled(transaction, self.principal, kept.agent)
        if kept.principal != self.principal.id:
            raise RefusedError("auth.forbidden", "only the one who declared can redeem")
        where = state(kept, now_ms=now_ms)
        if where in _UNREDEEMABLE:
            code, told = _UNREDEEMABLE[where]
            raise (ConflictError if code in _CONFLICTS else RefusedError)(code, told)
        policy = transaction.policies.in_force()
        if policy is None or self.intent.digest != kept.intent:
            raise AssertionError("a verdict outlived its policy or its declaration")
        pulse = transaction.pulse
        situation = Situation(
            policy=policy,
            registered_trust=None if agent is None else agent.trust_now,
            signature=_signature(self.intent),
            inventory=self.inventory,
            tripped=tuple(
                Tripped(means, pulse.limit(means), now_ms)
                for means in means_of(self.intent)
                if pulse.is_open(kept.agent, means, now_ms=now_ms)
            ),
        )
        # judge
        verdict = assess(self.intent, situation, assessors=self.assessors)
        if not verdict.allowed:
            told = f"judged again it is {verdict.outcome.name} by {verdict.decided_by.name}"
            raise RefusedError("verdict.hardened", told)
        # record
        return self._recorded(transaction, kept, now_ms)

    def _recorded(self, transaction: Transaction, kept: Concluded, now_ms: int) -> Permitted:
        if not transaction.verdicts.redeem(kept.id, at_ms=now_ms):
            raise ConflictError("verdict.redeemed", "the verdict was redeemed before")
        entry = transaction.journal.append(
            {
                "agent": kept.agent,
                "at": now_ms,
                "intent": kept.intent,
                "kind": "redemption",
                "principal": self.principal.id,
                "verdict": kept.id,
            }
        )
        return Permitted(
            verdict=kept.id,
            intent=kept.intent,
            agent=kept.agent,
            principal=self.principal.id,
            token=entry.position,
            issued_ms=now_ms,
            expires_ms=now_ms + PERMIT_MS,
        )


def _signature(intent: Intent) -> Signature:
    # A bad signature was denied when it was declared, so one that got here was good.
    return Signature.ABSENT if intent.declaration.seal is None else Signature.VALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Tell what came of a verdict, once."""

    verdict_id: str
    principal: Principal
    ended: str
    note: Erasable

    def __call__(self, transaction: Transaction) -> int:
        """Journal it and return the position; raise if it was told before."""
        now_ms = transaction.now_ms()
        kept = owned(transaction, self.principal, self.verdict_id)
        entitled(transaction, self.principal, kept.agent)
        if kept.principal != self.principal.id:
            raise RefusedError("auth.forbidden", "only the one who declared can tell the outcome")
        if not transaction.verdicts.report(kept.id, at_ms=now_ms):
            raise ConflictError("verdict.reported", "the outcome was told before")
        entry = transaction.journal.append(
            {
                "agent": kept.agent,
                "at": now_ms,
                "kind": "outcome",
                "principal": self.principal.id,
                "ended": self.ended,
                "verdict": kept.id,
            },
            [self.note],
        )
        return entry.position
