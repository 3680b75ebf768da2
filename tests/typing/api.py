"""How the library is used, for the type checker only; never run."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, assert_type

import avow
from avow.clients.answers import Page, Permit, Place, RegisteredAgent
from avow.clients.receipts import ReceiptReport
from avow.clients.verifier import Report

verdict = avow.evaluate({"irl_version": "0.1"}, policy="default", trust="high")
assert_type(verdict, avow.Verdict)
assert_type(verdict.outcome, avow.Outcome)
assert_type(verdict.score, int)
assert_type(verdict.level, avow.Level)
assert_type(verdict.reasons, tuple[str, ...])
assert_type(verdict.findings, tuple[avow.Finding, ...])
assert_type(verdict.digest, str)
assert_type(verdict.allowed, bool)

signing_key = avow.SigningKey.generate()
assert_type(signing_key.did, str)
assert_type(signing_key.sign({"irl_version": "0.1"}), dict[str, Any])


def blocking() -> None:
    with avow.Client(
        "http://127.0.0.1:8800", "avow_key", signing_key=signing_key, timeout_s=3.0
    ) as client:
        answer = client.evaluate({"irl_version": "0.1"}, idempotency_key="deploy-1")
        assert_type(answer, avow.Answer)
        assert_type(answer.outcome, avow.Outcome)
        assert_type(answer.level, avow.Level)
        assert_type(answer.allowed, bool)
        assert_type(answer.requires_human, bool)
        assert_type(answer.journal, Place | None)
        assert_type(client.simulate(b"{}"), avow.Answer)
        assert_type(client.verdict(answer.verdict_id, wait_s=3), avow.Answer)
        assert_type(client.redeem(answer.verdict_id), Permit)
        assert_type(client.outcome(answer.verdict_id, "done", "as planned"), int)
        assert_type(client.agents(), tuple[RegisteredAgent, ...])
        assert_type(client.add_agent("a", "high", signing_key.did), RegisteredAgent)
        client.revoke_agent("a")
        assert_type(client.add_person("p", ["admin"]).roles, tuple[str, ...])
        client.revoke_person("p")
        assert_type(client.people()[0].id, str)
        client.close_breaker(client.breakers()[0].agent, "delete")
        assert_type(client.journal(after=3, most=10), Page)
        assert_type(client.export_journal(), Iterator[bytes])
        assert_type(client.events(after=3), Iterator[tuple[int, dict[str, Any]]])
        assert_type(client.consistency(1, 2), tuple[str, ...])
        assert_type(client.policy(), dict[str, Any])
        assert_type(client.conformance(), dict[str, Any])
        assert_type(client.ready().journal, int)
        report = avow.verify_journal(
            client.export_journal(), anchors=client.checkpoint(), keys=client.keys()
        )
        assert_type(report, Report)
        assert_type(avow.verify_journal(Path("journal.txt")), Report)
        assert_type(avow.verify_journal(b""), Report)
        checked = avow.check_receipt(client.receipt(answer.verdict_id), keys=client.keys())
        assert_type(checked, ReceiptReport)


async def asynchronous() -> None:
    async with avow.AsyncClient("http://127.0.0.1:8800", "avow_key") as client:
        answer = await client.evaluate({"irl_version": "0.1"})
        assert_type(answer, avow.Answer)
        assert_type(await client.verdict(answer.verdict_id, wait_s=3), avow.Answer)
        assert_type(await client.add_agent("a", trust="high"), RegisteredAgent)
        assert_type(client.export_journal(), AsyncIterator[bytes])
        async for position, entry in client.events():
            assert_type(position, int)
            assert_type(entry, dict[str, Any])


def wrong(client: avow.Client) -> None:
    client.evaluate(3)  # type: ignore[arg-type]
    client.verdict("v", 3)  # type: ignore[call-arg]
