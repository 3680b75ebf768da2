"""The command behind every door: a declaration is judged and recorded in one transaction.

Three beats: gather what is known, judge, record. Whoever gets the answer can be sure that the entry
is committed, because the answer is handed out after the commit; where it cannot be written there is
no answer and so no permission. A repetition, by the caller's key or of an open question, is given
the earlier answer and writes nothing.

Clauses: IRL-2.04, IRL-5.15, IRL-5.18, IRL-6.08, IRL-6.14.
"""

from dataclasses import dataclass
from typing import Any

from avow.core import ids
from avow.core.agent import Agent
from avow.core.assess import Assessor, assess
from avow.core.errors import ConflictError, FaultError, RefusedError
from avow.core.intent import Intent
from avow.core.inventory import EMPTY, Inventory
from avow.core.journal import SALT_BYTES, Erasable
from avow.core.policy import Policy
from avow.core.principal import Principal
from avow.core.rate import Position, Tripped
from avow.core.situation import Situation
from avow.core.verdict import Verdict
from avow.core.words import Means, Outcome, Signature
from avow.engine.conclusions import Conclusion, Conclusions
from avow.engine.ports import Concluded, Repetition, Transaction

ENTROPY_BYTES = ids.ENTROPY_BYTES + SALT_BYTES
KEY, SEAL = "key", "seal"
# As long as a verdict can be redeemed: later the same key means a new declaration.
KEY_KEPT_MS = 600_000
DECLARATION = "declaration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A verdict that was committed, and where the journal holds it."""

    kept: Concluded
    entry_hash: str
    conclusion: Conclusion
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found about the signature before the transaction, and with whose key."""

    signature: Signature = Signature.ABSENT
    did: str | None = None
    window_ms: int = 0


UNSIGNED = Checked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """One declaration on its way into a transaction: read and sealed before, with its entropy."""

    intent: Intent
    text: str
    principal: Principal
    channel: str
    entropy: bytes
    conclusions: Conclusions
    gate_ms: int
    checked: Checked = UNSIGNED
    idempotency_key: str = ""
    policy: Policy | None = None
    inventory: Inventory = EMPTY
    assessors: tuple[Assessor, ...] = ()

    def __call__(self, transaction: Transaction) -> Recorded:
        """Gather, judge, record; only the store is asked in between."""
        # gather
        now_ms = transaction.now_ms()
        agent = entitled(transaction, self.principal, self.intent.declaration.agent)
        if earlier := self._repeated(transaction, now_ms):
            return earlier
        situation = self._situation(transaction, agent, now_ms)
        # judge
        verdict = assess(self.intent, situation, assessors=self.assessors)
        # record
        if verdict.outcome is Outcome.GATE and (open_one := self._waiting(transaction, now_ms)):
            # Its key and its signature are used up all the same.
            self._remember(transaction, open_one.kept.id, now_ms)
            return open_one
        return self._recorded(transaction, verdict, now_ms)

    def _repeated(self, transaction: Transaction, now_ms: int) -> Recorded | None:
        """Return what came of the same key; a signature comes once, whatever came of it."""
        principal, seal = self.principal.id, self.intent.declaration.seal
        find = transaction.repetitions.find
        if self.idempotency_key:
            before = find(principal, KEY, self.idempotency_key, now_ms=now_ms)
            if before is not None and before.source != self.intent.source_digest:
                raise ConflictError(
                    "idempotency.mismatch", "the key was used for another declaration"
                )
            if before is not None:
                return recalled(transaction, before.verdict, self.conclusions)
        if seal is not None and find(self.intent.declaration.agent, SEAL, seal.id, now_ms=now_ms):
            raise ConflictError(
                "signature.replayed", f"the signature id `{seal.id}` was seen before"
            )
        return None

    def _waiting(self, transaction: Transaction, now_ms: int) -> Recorded | None:
        declaration = self.intent.declaration
        found = transaction.verdicts.waiting(
            self.principal.id, declaration.session or "", self.intent.digest, now_ms=now_ms
        )
        return found and recalled(transaction, found.id, self.conclusions)

    def _situation(self, transaction: Transaction, agent: Agent | None, now_ms: int) -> Situation:
        policy = self.policy or transaction.policies.in_force()
        if policy is None:
            raise FaultError("policy.none_in_force")
        signature = self.checked.signature
        if signature is Signature.VALID and (agent is None or agent.did != self.checked.did):
            # The key was exchanged or revoked between the check and this transaction.
            signature = Signature.INVALID
        return Situation(
            policy=policy,
            registered_trust=None if agent is None else agent.trust_now,
            signature=signature,
            inventory=self.inventory,
            tripped=tuple(
                tripped
                for means in means_of(self.intent)
                if (tripped := self._counted(transaction, means, now_ms))
            ),
        )

    def _counted(self, transaction: Transaction, means: Means, now_ms: int) -> Tripped | None:
        """Count one operation; a breaker that opens or closes over it is journalled."""
        agent, pulse = self.intent.declaration.agent, transaction.pulse
        counted = pulse.count(agent, means, now_ms=now_ms)
        if counted.closed:
            transaction.breakers.closed(agent, means)
            note_breaker(transaction, agent, means, "closed", by="time")
        if counted.tripped:
            transaction.breakers.opened(agent, means, at_ms=now_ms)
            note_breaker(transaction, agent, means, "open", by="rate")
        opened_ms = counted.breaker.opened_ms
        if counted.position is Position.CLOSED or opened_ms is None:
            return None
        return Tripped(means, pulse.limit(means), opened_ms)

    def _recorded(self, transaction: Transaction, verdict: Verdict, now_ms: int) -> Recorded:
        declaration, conclusion = self.intent.declaration, self.conclusions.of(verdict)
        verdict_id = ids.verdict_id(now_ms, self.entropy[: ids.ENTROPY_BYTES])
        text = Erasable(DECLARATION, self.entropy[ids.ENTROPY_BYTES :], self.text)
        content = self._content(verdict, conclusion, verdict_id, now_ms)
        entry = transaction.journal.append(content, [text])
        kept = Concluded(
            verdict_id,
            entry.position,
            self.principal.id,
            declaration.agent,
            declaration.session or "",
            self.intent.digest,
            verdict.outcome.name,
            conclusion.digest,
            declaration.dialect,
            now_ms,
            now_ms + self.gate_ms if verdict.outcome is Outcome.GATE else None,
        )
        transaction.verdicts.keep(conclusion.digest, conclusion.text)
        transaction.verdicts.add(kept)
        self._remember(transaction, verdict_id, now_ms)
        return Recorded(kept=kept, entry_hash=entry.hash, conclusion=conclusion)

    def _remember(self, transaction: Transaction, verdict_id: str, now_ms: int) -> None:
        declaration, source = self.intent.declaration, self.intent.source_digest
        if self.idempotency_key:
            until = now_ms + KEY_KEPT_MS
            transaction.repetitions.add(
                Repetition(self.principal.id, KEY, self.idempotency_key, source, verdict_id, until)
            )
        if declaration.seal is not None:
            # As long as its time would still be accepted, on either side of now.
            until = now_ms + 2 * self.checked.window_ms
            transaction.repetitions.add(
                Repetition(declaration.agent, SEAL, declaration.seal.id, source, verdict_id, until)
            )

    def _content(
        self, verdict: Verdict, conclusion: Conclusion, verdict_id: str, now_ms: int
    ) -> dict[str, Any]:
        """Return what the journal says of a verdict; free text is kept beside it."""
        return {
            "agent": self.intent.declaration.agent,
            "at": now_ms,
            "channel": self.channel,
            "conclusion": conclusion.digest,
            "decided_by": verdict.decided_by.name,
            "dialect": self.intent.declaration.dialect,
            "hazard": verdict.hazard,
            "ignored": list(verdict.ignored),
            "intent": self.intent.digest,
            "kind": "verdict",
            "level": verdict.level.word,
            "means": [means.value for means in means_of(self.intent)],
            "outcome": verdict.outcome.name,
            "policy": verdict.policy.digest,
            "principal": self.principal.id,
            "relaxed": bool(verdict.policy.relaxes),
            "rules": [finding.id for finding in verdict.findings],
            "score": verdict.score,
            # As it was judged: a key may have been exchanged since it was checked.
            "signature": (verdict.cases[0] if verdict.cases else self.checked).signature.value,
            "trust": [case.trust.word for case in verdict.cases],
            "verdict": verdict_id,
        }


def means_of(intent: Intent) -> tuple[Means, ...]:
    """Return the kinds of effect that an intent has, each once."""
    effects = intent.declaration.effects
    if len(effects) == 1:
        return (effects[0].means,)
    return tuple(dict.fromkeys(effect.means for effect in effects))


def entitled(transaction: Transaction, principal: Principal, agent_id: str) -> Agent | None:
    """Return the agent that is spoken for; raise if the principal was revoked meanwhile.

    The door authenticated it from memory; what counts is what the registry says now.
    """
    agent = transaction.agents.find(agent_id)
    if principal.is_agent:
        current = agent if principal.id == agent_id else transaction.agents.find(principal.id)
        gone = current is None or current.revoked_ms is not None
    else:
        person = transaction.people.find(principal.id)
        gone = person is None or person.revoked_ms is not None
    if gone:
        raise RefusedError("auth.revoked", f"the key of `{principal.id}` was revoked")
    return agent


def note_breaker(
    transaction: Transaction, agent: str, means: Means, state: str, *, by: str
) -> None:
    """Journal that a breaker opened or closed, and why."""
    now_ms = transaction.now_ms()
    transaction.journal.append(
        {
            "agent": agent,
            "at": now_ms,
            "by": by,
            "kind": "breaker",
            "means": means.value,
            "state": state,
        }
    )


def recalled(transaction: Transaction, verdict_id: str, conclusions: Conclusions) -> Recorded:
    """Return a verdict as it was answered before."""
    kept = transaction.verdicts.find(verdict_id)
    if kept is None:
        raise AssertionError("a repetition names a verdict that is not kept")
    said = transaction.verdicts.said(kept.conclusion)
    if said is None:
        raise AssertionError("a verdict names a conclusion that is not kept")
    return Recorded(
        kept=kept,
        entry_hash=transaction.journal.hash_at(kept.position),
        conclusion=conclusions.read(kept.conclusion, said),
        repeated=True,
    )
