"""The addresses of the journal: pages, exports, checkpoints, proofs, receipts, erasure, events.

Read-only but for the erasure of texts beside the chain. The newest checkpoint may be up to a second
behind the journal's end; who asks for a receipt of a fresh entry is kept waiting for the next one.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from avow.channels.http import shapes
from avow.channels.http.routes import House, Who
from avow.core import checkpoint
from avow.core.errors import RefusedError
from avow.core.journal import Entry, export_header, exported
from avow.core.principal import Principal, Right
from avow.engine import receipts, redeem
from avow.engine.keeping import Erase
from avow.engine.ports import View
from avow.engine.roster import demand

_PAGE = 1000
_KEEP_ALIVE_S = 5.0
_COVERED_S = 3.0
_LOOK_EVERY_S = 0.1
_DIGITS_MAX = 16
_POSITION = Query(ge=0, le=2**53)


def journal(house: House, who: Who) -> APIRouter:
    """Return the addresses of the journal's entries."""
    router, service = APIRouter(prefix="/v1/journal", tags=["journal"]), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("")
    async def page(
        principal: Asking,
        after: Annotated[int, _POSITION] = 0,
        most: Annotated[int, Query(ge=1, le=_PAGE)] = 100,
    ) -> shapes.Entries:
        """Show entries behind a position, oldest first."""
        demand(principal, Right.SEE_ALL)
        size, found = await service.look(
            lambda view: (view.size(), view.entries(after=after, most=most))
        )
        more = bool(found) and found[-1].position < size
        return shapes.Entries(
            origin=house.origin,
            size=size,
            entries=[_entry(entry) for entry in found],
            next=found[-1].position if more else None,
        )

    @router.get("/export")
    async def export(principal: Asking, after: Annotated[int, _POSITION] = 0) -> StreamingResponse:
        """Stream the journal in the form that `avow journal verify` and strangers check."""
        demand(principal, Right.SEE_ALL)
        return StreamingResponse(_export(house, after), media_type="text/plain")

    @router.post("/erase", status_code=204)
    async def erase(wanted: shapes.Erasure, principal: Asking) -> Response:
        """Erase a text beside the chain for good; the chain stays verifiable."""
        erasing = Erase(by=principal.id, position=wanted.position, field=wanted.field)
        await service.administer(principal, erasing)
        return Response(status_code=204)

    return router


def proofs(house: House, who: Who) -> APIRouter:
    """Return the addresses of what proves something to strangers."""
    router, service = APIRouter(prefix="/v1/journal", tags=["journal"]), house.service
    Asking = Annotated[Principal, Depends(who)]  # noqa: N806 - a type

    @router.get("/checkpoint")
    async def newest(principal: Asking) -> PlainTextResponse:
        """Show the newest signed checkpoint."""
        del principal
        return PlainTextResponse(_note(house))

    @router.get("/keys")
    async def keys(principal: Asking) -> PlainTextResponse:
        """Show the public keys that sign checkpoints."""
        del principal
        return PlainTextResponse(house.ring())

    @router.get("/proof")
    async def consistency(
        principal: Asking,
        first: Annotated[int, _POSITION],
        second: Annotated[int, _POSITION],
    ) -> shapes.Consistency:
        """Prove that the journal of `second` entries began with that of `first`."""
        del principal
        path = await service.look(lambda view: _consistency(view, first, second))
        return shapes.Consistency(first=first, second=second, path=[one.hex() for one in path])

    @router.get("/receipt/{what}")
    async def receipt(what: str, principal: Asking) -> Response:
        """Hand out the receipt of an entry, by position or by the id of a verdict."""
        position = await service.look(lambda view: _position(view, principal, what))
        note = await _covering(house, position)
        fields = ("declaration", "note")
        made = await service.look(lambda view: receipts.issue(view, position, note, fields=fields))
        return Response(made.written(), media_type="application/json")

    return router


def events(house: House, who: Who) -> APIRouter:
    """Return the address of events."""
    router = APIRouter(tags=["events"])

    @router.get("/v1/events")
    async def follow(
        asked: Request, after: Annotated[int | None, _POSITION] = None
    ) -> StreamingResponse:
        """Stream entries as server-sent events, from now on or behind a position.

        Ids are positions of the journal; `Last-Event-ID` goes before `after`.
        """
        house.streams.check((await who(asked)).id)
        last = _digits(asked.headers.get("last-event-id", ""))
        start = after if last is None else last
        if start is None:
            start = await house.service.look(lambda view: view.size())
        return StreamingResponse(_events(house, who, asked, start), media_type="text/event-stream")

    return router


async def _events(house: House, who: Who, asked: Request, after: int) -> AsyncIterator[bytes]:
    """Yield entries as they come; who was revoked meanwhile is shown nothing more."""
    principal_id = (await who(asked)).id
    with house.streams.opened(principal_id):
        async for part in _followed(house, who, asked, after):
            yield part


async def _followed(house: House, who: Who, asked: Request, after: int) -> AsyncIterator[bytes]:
    service = house.service
    yield b"retry: 2000\n\n"
    while not (service.hub.is_stopping or await asked.is_disconnected()):
        try:
            principal = await who(asked)
        except RefusedError as error:
            yield f"event: closed\ndata: {json.dumps({'code': error.code})}\n\n".encode()
            return
        heard, since = service.hub.heard(), after
        found = await service.look(lambda view: view.entries(after=since, most=500))  # noqa: B023 - awaited at once
        for entry in found:
            after = entry.position
            if _visible(principal, entry):
                data = entry.body.decode("utf-8")
                yield f"id: {after}\nevent: entry\ndata: {data}\n\n".encode()
        if not found and not await service.hub.next(heard, _KEEP_ALIVE_S):
            yield b": alive\n\n"
        # Many may follow, and each look costs a connection: not at every commit.
        await asyncio.sleep(_LOOK_EVERY_S)


def _visible(principal: Principal, entry: Entry) -> bool:
    if principal.may(Right.SEE_ALL):
        return True
    return bool(json.loads(entry.body).get("principal") == principal.id)


async def _export(house: House, after: int) -> AsyncIterator[bytes]:
    yield export_header(house.origin)
    while True:
        since = after
        found = await house.service.look(lambda view: view.entries(after=since, most=_PAGE))  # noqa: B023 - awaited at once
        if not found:
            return
        yield b"".join(map(exported, found))
        after = found[-1].position


def _note(house: House) -> str:
    note = house.note()
    if not note:
        raise RefusedError("journal.no_such_entry", "no checkpoint was signed yet")
    return note


async def _covering(house: House, position: int) -> str:
    """Return a checkpoint that covers an entry, waiting for the next one if need be."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _COVERED_S
    if _size(house.note()) < position:
        # Another process may have written it: whoever writes next sees the journal's end.
        await house.service.do(lambda transaction: transaction.journal.size)
    while True:
        note = house.note()
        if _size(note) >= position:
            return note
        if loop.time() > until:
            raise RefusedError(
                "journal.no_such_entry", f"no checkpoint covers entry {position} yet"
            )
        await asyncio.sleep(0.1)


def _size(note: str) -> int:
    return checkpoint.read(checkpoint.read_note(note).text).size if note else 0


def _position(view: View, principal: Principal, what: str) -> int:
    if what.startswith("ver_"):
        return redeem.owned(view, principal, what).position
    demand(principal, Right.SEE_ALL)
    position = _digits(what) or 0
    if not 1 <= position <= view.size():
        raise RefusedError("journal.no_such_entry", f"there is no entry `{what[:40]}`")
    return position


def _digits(text: str) -> int | None:
    """Return the position that a text writes, or nothing."""
    plain = text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
    return int(text) if plain else None


def _consistency(view: View, first: int, second: int) -> list[bytes]:
    if not 0 < first <= second <= view.size():
        told = f"the journal has {view.size()} entries"
        raise RefusedError("journal.no_such_entry", told)
    return view.consistency(first, second)


def _entry(entry: Entry) -> shapes.EntryShown:
    body: dict[str, Any] = json.loads(entry.body)
    return shapes.EntryShown(
        position=entry.position, hash=entry.hash, previous=entry.previous, body=body
    )
