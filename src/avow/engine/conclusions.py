"""Conclusions: what verdicts say, written once for all that say the same.

Most verdicts of a day say what another one said before; the text, its digest and the part of the
answer that does not change are remembered for them. A bounded memory, safe to lose at any time.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from avow.core import canonical, conclusion
from avow.core.conclusion import DIGEST_DOMAIN
from avow.core.verdict import Verdict
from avow.dialects.irl import render as irl

_KEPT_MAX = 4096


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a verdict says: as kept, and the part of the answer that follows from it alone."""

    digest: str
    text: str
    shared_answer: str
    # What the memory's key is made of; kept so that no other object can get its identity.
    held: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def said(self) -> dict[str, Any]:
        """Return what the verdict says, as JSON values."""
        value: dict[str, Any] = json.loads(self.text)
        return value


class Conclusions:
    """The memory of conclusions; equal verdicts share one."""

    def __init__(self) -> None:
        self._by_parts: dict[tuple[Any, ...], Conclusion] = {}

    def of(self, verdict: Verdict) -> Conclusion:
        """Return what a verdict says."""
        held = (verdict.risk, verdict.findings, verdict.decided_by, verdict.policy)
        trust = verdict.cases[0].trust if verdict.cases else None
        # Parts by identity: the judge hands out the same objects for the same opinion, and
        # comparing them by value would cost more than writing them again.
        key = (
            *map(id, held),
            verdict.outcome,
            verdict.stepped,
            verdict.hazard,
            trust,
            verdict.assumptions,
            verdict.ignored,
        )
        known = self._by_parts.get(key)
        if known is None:
            if len(self._by_parts) >= _KEPT_MAX:
                self._by_parts.clear()
            known = self._by_parts[key] = _written(conclusion.plain(verdict), held)
        return known

    def read(self, digest: str, text: str) -> Conclusion:
        """Return a conclusion that was kept before."""
        return Conclusion(digest, text, irl.shared_text(json.loads(text)))


def _written(said: dict[str, Any], held: tuple[Any, ...]) -> Conclusion:
    encoded = canonical.encode(said)
    return Conclusion(
        canonical.digest(DIGEST_DOMAIN, encoded),
        encoded.decode("utf-8"),
        irl.shared_text(said),
        held,
    )
