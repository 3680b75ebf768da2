"""The addresses behind the front: verdicts, agents, people, breakers and the house itself."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from avow.channels.http import shapes
from avow.core import signing
from avow.core.agent import Agent
from avow.core.errors import FaultError, RefusedError
from avow.core.policy import Policy
from avow.core.principal import Person, Principal, Right
from avow.core.words import Means
from avow.dialects.irl import render as irl
from avow.engine.conformance import Register
from avow.engine.desk import utc
from avow.engine.keeping import CloseBreaker
from avow.engine.ports import Signer, View
from avow.engine.redeem import Permitted
from avow.engine.register import RevokeAgent, RevokePerson
from avow.engine.roster import demand
from avow.engine.service import WAIT_S_MAX, Service, Standing
from avow.engine.telemetry import Telemetry

Who = Callable[[Request], Any]


STREAMS_MAX = 256
STREAMS_EACH_MAX = 8


class Streams:
    """How many streams of events are open, and whose."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def check(self, principal_id: str) -> None:
        """Raise if there are too many already, of anybody or of this principal."""
        if self._open.total() >= STREAMS_MAX or self._open[principal_id] >= STREAMS_EACH_MAX:
            told = "too many streams of events are open already"
            raise RefusedError("queue.full", told, retry_after_ms=5000)

    @contextlib.contextmanager
    def opened(self, principal_id: str) -> Iterator[None]:
        """Count a stream for as long as it is open."""
        self._open[principal_id] += 1
        try:
            yield
        finally:
            self._open[principal_id] -= 1
            self._open += Counter()


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the addresses work with, beside the service."""

    service: Service
    telemetry: Telemetry
    origin: str
    signer: Callable[[], Signer]
    register: Callable[[], Register]
    ring: Callable[[], str]
    note: Callable[[], str]
    unanchored: Callable[[], int]
    check: Callable[[], None]
    streams: Streams = field(default_factory=Streams)


def verdicts(house: House, who: Who) -> APIRouter:
    """Return the addresses of verdicts."""
    router, service = APIRouter(prefix="/v1/verdicts", tags=["verdicts"]), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/{verdict_id}")
    async def show(
        verdict_id: str,
        principal: Asking,
        wait: Annotated[float, Query(ge=0, le=WAIT_S_MAX)] = 0,
    ) -> dict[str, Any]:
        """Show a verdict; with `wait`, hold the answer back while a human is asked."""
        return _standing(await service.verdict(principal, verdict_id, wait_s=wait))

    @router.post("/{verdict_id}/redeem")
    async def redeem(verdict_id: str, principal: Asking) -> shapes.Permit:
        """Turn an allowed verdict into a signed permit, once; it is judged again first."""
        return _permit(house, await service.redeem(principal, verdict_id))

    @router.post("/{verdict_id}/outcome")
    async def outcome(verdict_id: str, told: shapes.Outcome, principal: Asking) -> shapes.Reported:
        """Tell what came of it, once: done, failed or abandoned."""
        position = await service.report(principal, verdict_id, told.ended, told.note)
        return shapes.Reported(position=position)

    return router


def agents(house: House, who: Who) -> APIRouter:
    """Return the addresses of agents."""
    router, service = APIRouter(prefix="/v1"), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/agents", tags=["agents"])
    async def listed(principal: Asking) -> list[shapes.AgentShown]:
        """List the agents."""
        demand(principal, Right.SEE_ALL)
        return [_agent(agent) for agent in await service.look(lambda view: view.agents.listed())]

    @router.post("/agents", tags=["agents"], status_code=201)
    async def add_agent(wanted: shapes.NewAgent, principal: Asking) -> shapes.AgentAdded:
        """Register an agent; its key is in the answer and nowhere else."""
        made, key = await service.add_agent(principal, wanted.id, wanted.trust, wanted.did)
        return shapes.AgentAdded(**_agent(made).model_dump(), key=key)

    @router.delete("/agents/{agent_id:path}", tags=["agents"], status_code=204)
    async def revoke_agent(agent_id: str, principal: Asking) -> Response:
        """Revoke an agent: its key stops working at once."""
        await service.administer(principal, RevokeAgent(by=principal.id, agent_id=agent_id))
        return Response(status_code=204)

    return router


def people(house: House, who: Who) -> APIRouter:
    """Return the addresses of people."""
    router, service = APIRouter(prefix="/v1"), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/people", tags=["people"])
    async def listed(principal: Asking) -> list[shapes.PersonShown]:
        """List the people."""
        demand(principal, Right.SEE_ALL)
        return [_person(one) for one in await service.look(lambda view: view.people.listed())]

    @router.post("/people", tags=["people"], status_code=201)
    async def add_person(wanted: shapes.NewPerson, principal: Asking) -> shapes.PersonAdded:
        """Register a person; their key is in the answer and nowhere else."""
        made, key = await service.add_person(principal, wanted.id, wanted.roles)
        return shapes.PersonAdded(**_person(made).model_dump(), key=key)

    @router.delete("/people/{person_id:path}", tags=["people"], status_code=204)
    async def revoke_person(person_id: str, principal: Asking) -> Response:
        """Revoke a person; the last admin stays."""
        await service.administer(principal, RevokePerson(by=principal.id, person_id=person_id))
        return Response(status_code=204)

    return router


def breakers(house: House, who: Who) -> APIRouter:
    """Return the addresses of breakers."""
    router, service = APIRouter(prefix="/v1"), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/breakers", tags=["breakers"])
    async def listed(principal: Asking) -> list[shapes.BreakerShown]:
        """List the breakers that are open."""
        demand(principal, Right.SEE_ALL)
        found = await service.look(lambda view: view.breakers.listed())
        return [
            shapes.BreakerShown(agent=agent, means=means.value, opened=utc(opened_ms))
            for agent, means, opened_ms in found
        ]

    @router.delete("/breakers/{means}/{agent_id:path}", tags=["breakers"], status_code=204)
    async def close_breaker(means: str, agent_id: str, principal: Asking) -> Response:
        """Close a breaker by hand."""
        known = {one.value: one for one in Means}
        demand(principal, Right.ADMINISTER)
        if means not in known:
            raise RefusedError("breaker.not_open", f"there are no breakers for `{means[:40]}`")
        closing = CloseBreaker(by=principal.id, agent=agent_id, means=known[means])
        await service.administer(principal, closing)
        return Response(status_code=204)

    return router


def rules(house: House, who: Who) -> APIRouter:
    """Return the addresses of what the server goes by: its policy, the clauses it meets."""
    router, service = APIRouter(), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/v1/policy", tags=["policy"])
    async def policy(principal: Asking) -> dict[str, Any]:
        """Show the policy in force."""
        del principal
        found = await service.look(_in_force)
        return {
            "name": found.name,
            "version": found.version,
            "digest": found.digest,
            "summary": found.summary,
            "relaxes": list(found.relaxes),
            "source": json.loads(found.source),
        }

    @router.get("/v1/conformance", tags=["conformance"])
    async def conformance() -> dict[str, Any]:
        """Show how many clauses of the five specifications are met; self-declared, for anybody."""
        counted = house.register()
        return {
            "declared_by": "self",
            "open_musts": counted.open_musts,
            "specifications": {
                spec: {str(status.value): number for status, number in by.items()}
                for spec, by in counted.counted().items()
            },
        }

    return router


def health(house: House, who: Who) -> APIRouter:
    """Return the addresses of how the server is."""
    router, service = APIRouter(), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/healthz", tags=["health"])
    async def healthz() -> dict[str, str]:
        """Say that the process is alive."""
        return {"status": "alive"}

    @router.get("/readyz", tags=["health"])
    async def readyz() -> shapes.Ready:
        """Say whether declarations can be judged, recorded and anchored now; 503 if not."""
        size = await service.look(lambda view: view.size())
        house.check()
        return shapes.Ready(status="ready", journal=size, unanchored=house.unanchored())

    @router.get("/metrics", tags=["health"])
    async def metrics(principal: Asking) -> Response:
        """Show the metrics, in the text form of Prometheus."""
        demand(principal, Right.SEE_ALL)
        house.telemetry.gauge("journal_unanchored", house.unanchored())
        return Response(house.telemetry.text(), media_type="text/plain; version=0.0.4")

    return router


def _in_force(view: View) -> Policy:
    found = view.policies.in_force()
    if found is None:
        raise FaultError("policy.none_in_force")
    return found


def _standing(standing: Standing) -> dict[str, Any]:
    kept = standing.kept
    answer = irl.answer(
        standing.conclusion.said,
        verdict_id=kept.id,
        timestamp=utc(kept.at_ms),
        digest=kept.intent,
        journal={"position": kept.position, "hash": f"sha256:{standing.entry_hash}"},
    )
    times = {
        "x_expires": kept.expires_ms,
        "x_redeemed": kept.redeemed_ms,
        "x_reported": kept.reported_ms,
    }
    shown = {name: None if at is None else utc(at) for name, at in times.items()}
    return answer | {"x_state": standing.state, "x_agent": kept.agent} | shown


def _permit(house: House, permitted: Permitted) -> shapes.Permit:
    content, signer = permitted.content(house.origin), house.signer()
    signature = signer.sign(signing.permit_message(content))
    return shapes.Permit(
        permit=content,
        signature={
            "key": signer.name,
            "public": signer.public_key.hex(),
            "value": signature.hex(),
        },
    )


def _agent(agent: Agent) -> shapes.AgentShown:
    return shapes.AgentShown(
        id=agent.id,
        trust=agent.trust.word,
        did=agent.did,
        added=utc(agent.added_ms),
        revoked=None if agent.revoked_ms is None else utc(agent.revoked_ms),
    )


def _person(person: Person) -> shapes.PersonShown:
    return shapes.PersonShown(
        id=person.id,
        roles=sorted(role.value for role in person.roles),
        added=utc(person.added_ms),
        revoked=None if person.revoked_ms is None else utc(person.revoked_ms),
    )
