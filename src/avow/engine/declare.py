"""The command behind every door: a declaration is judged and recorded in one transaction.

Three beats: gather what is known, judge, record. Whoever gets the answer can be sure that the entry
is committed, because the answer is handed out after the commit; where it cannot be written there is
no answer and so no permission.

Clauses: IRL-5.15, IRL-5.18.
"""

from dataclasses import dataclass
from typing import Any

from avow.core import ids
from avow.core.assess import Assessor, assess
from avow.core.intent import Intent
from avow.core.inventory import EMPTY, Inventory
from avow.core.journal import SALT_BYTES, Erasable
from avow.core.policy import Policy
from avow.core.situation import Situation
from avow.core.verdict import Verdict
from avow.core.words import Signature
from avow.engine.ports import Concluded, Transaction

ENTROPY_BYTES = ids.ENTROPY_BYTES + SALT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A verdict that was committed, and where the journal holds it."""

    verdict: Verdict
    verdict_id: str
    position: int
    entry_hash: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """One declaration on its way into a transaction: read and sealed before, with its entropy."""

    intent: Intent
    channel: str
    policy: Policy
    entropy: bytes
    signature: Signature = Signature.ABSENT
    inventory: Inventory = EMPTY
    assessors: tuple[Assessor, ...] = ()

    def __call__(self, transaction: Transaction) -> Recorded:
        """Gather, judge, record; only the clock and the registry are asked in between."""
        # gather
        now_ms = transaction.now_ms()
        agent = transaction.agents.find(self.intent.declaration.agent)
        situation = Situation(
            policy=self.policy,
            registered_trust=None if agent is None else agent.trust_now,
            signature=self.signature,
            inventory=self.inventory,
        )
        # judge
        verdict = assess(self.intent, situation, assessors=self.assessors)
        # record
        verdict_id = ids.verdict_id(now_ms, self.entropy[: ids.ENTROPY_BYTES])
        goal = Erasable("goal", self.entropy[ids.ENTROPY_BYTES :], self.intent.declaration.goal.raw)
        content = self._content(verdict, verdict_id, now_ms)
        entry = transaction.journal.append(content, [goal])
        transaction.verdicts.add(
            Concluded(
                verdict_id,
                entry.position,
                self.intent.declaration.agent,
                self.intent.digest,
                verdict.outcome.name,
                now_ms,
            )
        )
        return Recorded(
            verdict=verdict,
            verdict_id=verdict_id,
            position=entry.position,
            entry_hash=entry.hash,
            at_ms=now_ms,
        )

    def _content(self, verdict: Verdict, verdict_id: str, now_ms: int) -> dict[str, Any]:
        """Return what the journal says of a verdict; free text is kept beside it."""
        return {
            "agent": self.intent.declaration.agent,
            "at": now_ms,
            "channel": self.channel,
            "decided_by": verdict.decided_by.name,
            "dialect": self.intent.declaration.dialect,
            "hazard": verdict.hazard,
            "ignored": list(verdict.ignored),
            "intent": self.intent.digest,
            "kind": "verdict",
            "level": verdict.level.word,
            "outcome": verdict.outcome.name,
            "policy": self.policy.digest,
            "relaxed": bool(self.policy.relaxes),
            "rules": [finding.id for finding in verdict.findings],
            "score": verdict.score,
            "source": self.intent.source_digest,
            "trust": [case.trust.word for case in verdict.cases],
            "verdict": verdict_id,
        }
