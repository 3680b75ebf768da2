"""The service: what every door of a running Avow works with.

A door authenticates, translates its own words into these calls and the answers back. Reading,
signatures and limits come before the transaction; what must hold at the moment of judging is asked
again inside it, by the command.

Clauses: IRL-1.01, IRL-5.15, IRL-6.14.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from avow.core import did as dids
from avow.core.agent import KEY_BYTES, Agent
from avow.core.assess import Assessor
from avow.core.errors import FaultError, MalformedError, Problem, RefusedError
from avow.core.intent import Intent
from avow.core.journal import SALT_BYTES, Erasable
from avow.core.principal import Principal, Right
from avow.core.rate import Limit, Tripped
from avow.core.words import Means, Signature
from avow.engine import redeem as redeeming
from avow.engine import register
from avow.engine.conclusions import Conclusion, Conclusions
from avow.engine.declare import DECLARATION, ENTROPY_BYTES, Checked, Declare, Recorded
from avow.engine.hub import Hub
from avow.engine.judgement import AUTO, Judge, Vouched
from avow.engine.ports import Clock, Command, Concluded, Entropy, Reading, View, Writing
from avow.engine.redeem import ENDS, Permitted, Redeem, Report
from avow.engine.roster import Limiter, Roster, demand

T = TypeVar("T")
KEY_MAX = 200
NOTE_MAX = 8192
WAIT_S_MAX = 60.0
_LOOK_EVERY_S = 0.25
Verifies = Callable[[bytes, bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class Terms:
    """The times a service goes by, in milliseconds."""

    gate_ms: int = 300_000
    signature_window_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class Standing:
    """A verdict and where it stands now."""

    kept: Concluded
    conclusion: Conclusion
    entry_hash: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Everything a door may ask for; safe to use from one event loop."""

    judge: Judge
    writing: Writing
    reading: Reading
    roster: Roster
    limiter: Limiter
    hub: Hub
    clock: Clock
    entropy: Entropy
    verifies: Verifies
    conclusions: Conclusions
    terms: Terms
    limits: Mapping[Means, Limit]
    assessors: tuple[Assessor, ...] = ()

    async def do(self, command: Command[T]) -> T:
        """Execute a command and return its answer once it is committed."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def settle(answer: Any, error: BaseException | None) -> None:
            # Whoever asked may have gone away meanwhile; what was committed stays.
            if not future.done():
                if error is None:
                    future.set_result(answer)
                else:
                    future.set_exception(error)

        self.writing.submit(command, settle)
        return await future

    async def look(self, query: Callable[[View], T]) -> T:
        """Run a query beside the event loop."""
        return await asyncio.to_thread(self.reading.read, query)

    async def declare(
        self,
        principal: Principal,
        body: bytes,
        *,
        channel: str,
        dialect: str = AUTO,
        idempotency_key: str = "",
    ) -> Recorded:
        """Judge a declaration and record it."""
        demand(principal, Right.DECLARE)
        self.limiter.spend(principal.id)
        _check_key(idempotency_key)
        intent = self._read(principal, body, dialect)
        checked = Checked()
        if intent.declaration.seal is not None:
            checked = await self._checked(intent)
        return await self.do(
            Declare(
                intent=intent,
                text=body.decode("utf-8"),
                principal=principal,
                channel=channel,
                entropy=self.entropy.draw(ENTROPY_BYTES),
                conclusions=self.conclusions,
                gate_ms=self.terms.gate_ms,
                checked=checked,
                idempotency_key=idempotency_key,
                assessors=self.assessors,
            )
        )

    async def simulate(
        self, principal: Principal, body: bytes, *, dialect: str = AUTO
    ) -> tuple[Intent, Conclusion]:
        """Judge a declaration as it would be judged now, and write nothing."""
        demand(principal, Right.DECLARE)
        self.limiter.spend(principal.id)
        intent = self._read(principal, body, dialect)
        agent = await self.roster.agent(intent.declaration.agent)
        checked = Checked()
        if intent.declaration.seal is not None:
            checked = await self._checked(intent)
        policy, breakers = await self.look(
            lambda view: (view.policies.in_force(), view.breakers.listed())
        )
        if policy is None:
            raise FaultError("policy.none_in_force")
        vouched = Vouched(
            trust=None if agent is None else agent.trust_now,
            signature=checked.signature,
            tripped=self._tripped(intent, breakers),
        )
        return intent, self.conclusions.of(
            self.judge.assess(intent, policy=policy, vouched=vouched)
        )

    def _tripped(
        self, intent: Intent, breakers: list[tuple[str, Means, int]]
    ) -> tuple[Tripped, ...]:
        now_ms, agent = self.clock.now_ms(), intent.declaration.agent
        return tuple(
            Tripped(means, self.limits[means], opened_ms)
            for name, means, opened_ms in breakers
            if name == agent and now_ms - opened_ms < self.limits[means].quiet_ms
        )

    async def verdict(
        self, principal: Principal, verdict_id: str, *, wait_s: float = 0.0
    ) -> Standing:
        """Return a verdict; while a human is asked, wait up to so long for the answer."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(wait_s, WAIT_S_MAX)
        while True:
            heard = self.hub.heard()
            standing = await self.look(lambda view: self._standing(view, principal, verdict_id))
            left = until - loop.time()
            if standing.state != "waiting" or left <= 0 or self.hub.is_stopping:
                return standing
            expires = (standing.kept.expires_ms or 0) - self.clock.now_ms()
            # Many may wait, and each look costs a connection: not at every commit of anybody's.
            await asyncio.sleep(min(left, _LOOK_EVERY_S))
            await self.hub.next(heard, min(max(until - loop.time(), 0), max(expires / 1000, 0.05)))

    async def redeem(self, principal: Principal, verdict_id: str) -> Permitted:
        """Turn an allowed verdict into a permit, once; what it says is still to be signed."""
        demand(principal, Right.DECLARE)
        kept, text = await self.look(lambda view: _declared(view, principal, verdict_id))
        if text is None:
            raise RefusedError("verdict.erased", "the declaration was erased")
        intent = self.judge.read(text.text.encode("utf-8"), kept.dialect)
        return await self.do(
            Redeem(
                verdict_id=verdict_id,
                principal=principal,
                intent=intent,
                assessors=self.assessors,
            )
        )

    async def report(self, principal: Principal, verdict_id: str, ended: str, note: str) -> int:
        """Tell what came of a verdict, once; return the position of the entry."""
        demand(principal, Right.DECLARE)
        problems = []
        if ended not in ENDS:
            message = f"`{ended[:40]}` is not one of {', '.join(ENDS)}"
            problems.append(Problem("ended", "field.unknown_value", message))
        if len(note) > NOTE_MAX:
            problems.append(Problem("note", "field.out_of_range", f"longer than {NOTE_MAX}"))
        if "\0" in note:
            problems.append(Problem("note", "field.out_of_range", "holds the character U+0000"))
        if problems:
            raise MalformedError("request.invalid", problems)
        kept = Erasable("note", self.entropy.draw(SALT_BYTES), note)
        return await self.do(
            Report(verdict_id=verdict_id, principal=principal, ended=ended, note=kept)
        )

    async def add_agent(
        self, principal: Principal, agent_id: str, trust: str, did: str | None
    ) -> tuple[Agent, str]:
        """Register an agent and return it with its key, which is shown this once."""
        demand(principal, Right.ADMINISTER)
        name, level, identity = register.read_agent(agent_id, trust, did)
        key, digest = register.fresh_key(self.entropy.draw(KEY_BYTES))
        command = register.AddAgent(
            by=principal.id, agent_id=name, trust=level, key_digest=digest, did=identity
        )
        return await self.administer(principal, command), key

    async def add_person(
        self, principal: Principal, person_id: str, roles: list[str]
    ) -> tuple[Any, str]:
        """Register a person and return them with their key, which is shown this once."""
        demand(principal, Right.ADMINISTER)
        name, known = register.read_person(person_id, roles)
        key, digest = register.fresh_key(self.entropy.draw(KEY_BYTES))
        command = register.AddPerson(
            by=principal.id, person_id=name, roles=known, key_digest=digest
        )
        return await self.administer(principal, command), key

    async def administer(self, principal: Principal, command: Command[T]) -> T:
        """Execute what only an admin may do; the registry is asked again in the transaction."""
        demand(principal, Right.ADMINISTER)
        answer: T = await self.do(register.ByAdmin(principal=principal, command=command))
        self.roster.forget()
        return answer

    def _read(self, principal: Principal, body: bytes, dialect: str) -> Intent:
        intent = self.judge.read(body, dialect)
        named = intent.declaration.agent
        if named != principal.id and not principal.may(Right.DECLARE_FOR_OTHERS):
            told = f"the record names `{named[:128]}`, the key is `{principal.id}`'s"
            raise RefusedError("agent.mismatch", told)
        if named != principal.id:
            # Whoever speaks for an agent spends that agent's allowance as well.
            self.limiter.spend(named)
        return intent

    async def _checked(self, intent: Intent) -> Checked:
        """Check a signature with the registered key; a time outside the window is refused."""
        seal = intent.declaration.seal
        if seal is None:
            raise AssertionError("nothing to check")
        window_ms = self.terms.signature_window_ms
        if abs(self.clock.now_ms() - seal.signed_ms) > window_ms:
            told = f"signed more than {window_ms // 1000} s from now"
            raise RefusedError("signature.stale", told)
        agent = await self.roster.agent(intent.declaration.agent)
        checked = Checked(signature=Signature.INVALID, window_ms=window_ms)
        if agent is None or agent.did is None or agent.did != seal.did:
            return checked
        # 150 us of arithmetic, beside the loop so that others are served meanwhile.
        good = await asyncio.to_thread(self.verifies, dids.key(agent.did), seal.message, seal.value)
        return replace(checked, signature=Signature.VALID, did=agent.did) if good else checked

    def _standing(self, view: View, principal: Principal, verdict_id: str) -> Standing:
        kept = redeeming.owned(view, principal, verdict_id)
        said = view.verdicts.said(kept.conclusion)
        if said is None:
            raise AssertionError("a verdict names a conclusion that is not kept")
        return Standing(
            kept,
            self.conclusions.read(kept.conclusion, said),
            view.hash_at(kept.position),
            redeeming.state(kept, now_ms=view.now_ms()),
        )


def _declared(
    view: View, principal: Principal, verdict_id: str
) -> tuple[Concluded, Erasable | None]:
    kept = redeeming.owned(view, principal, verdict_id)
    return kept, view.text(kept.position, DECLARATION)


def _check_key(key: str) -> None:
    if len(key) > KEY_MAX or not key.isprintable():
        message = f"an `Idempotency-Key` is at most {KEY_MAX} printable characters"
        problem = Problem("Idempotency-Key", "field.out_of_range", message)
        raise MalformedError("request.invalid", [problem])
