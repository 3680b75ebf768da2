"""Verdicts and repetitions: what was concluded, and what makes the same thing known again.

Rows wait for the end of the transaction, so what it added itself is looked up in memory first.
"""

from avow.adapters.store.batch import COLUMNS, Batch
from avow.adapters.store.connection import Connection
from avow.engine.ports import Concluded, Repetition

_VERDICTS = f"SELECT {', '.join(COLUMNS['verdicts'][1:])} FROM verdicts WHERE tenant = ?"  # noqa: S608 - our own names


class VerdictReader:
    """The verdicts of one tenant, for reading."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def find(self, verdict_id: str) -> Concluded | None:
        """Return a verdict by its id."""
        rows = self._connection.rows(f"{_VERDICTS} AND id = ?", self._tenant, verdict_id)
        return Concluded(*rows[0]) if rows else None

    def waiting(
        self, principal: str, session: str, intent: str, *, now_ms: int
    ) -> Concluded | None:
        """Return the open question of that principal about that very intent, if there is one."""
        rows = self._connection.rows(
            f"{_VERDICTS} AND principal = ? AND intent = ? AND session = ? AND expires_ms > ?"
            " ORDER BY position DESC LIMIT 1",
            self._tenant,
            principal,
            intent,
            session,
            now_ms,
        )
        return Concluded(*rows[0]) if rows else None

    def said(self, digest: str) -> str | None:
        """Return what verdicts say, by its digest."""
        rows = self._connection.rows(
            "SELECT body FROM conclusions WHERE tenant = ? AND digest = ?", self._tenant, digest
        )
        return str(rows[0][0]) if rows else None


class VerdictRepository(VerdictReader):
    """The verdicts of one tenant inside a transaction.

    `known` holds the digests of conclusions that are certainly kept; it outlives the transaction.
    """

    def __init__(self, batch: Batch, tenant: str, known: set[str]) -> None:
        super().__init__(batch, tenant)
        self._batch = batch
        self._known = known
        self._fresh: dict[str, Concluded] = {}
        self.fresh_said: dict[str, str] = {}

    def add(self, concluded: Concluded) -> None:
        """Keep one verdict beside its entry."""
        self._fresh[concluded.id] = concluded
        self._batch.add("verdicts", (self._tenant, *concluded))

    def find(self, verdict_id: str) -> Concluded | None:
        """Return a verdict by its id."""
        return self._fresh.get(verdict_id) or super().find(verdict_id)

    def waiting(
        self, principal: str, session: str, intent: str, *, now_ms: int
    ) -> Concluded | None:
        """Return the open question of that principal about that very intent, if there is one."""
        for one in self._fresh.values():
            asked = (one.principal, one.session, one.intent) == (principal, session, intent)
            if asked and one.expires_ms is not None and one.expires_ms > now_ms:
                return one
        return super().waiting(principal, session, intent, now_ms=now_ms)

    def redeem(self, verdict_id: str, *, at_ms: int) -> bool:
        """Mark a verdict as redeemed; false if it was before."""
        return self._marked("redeemed_ms", verdict_id, at_ms)

    def report(self, verdict_id: str, *, at_ms: int) -> bool:
        """Mark a verdict as one whose outcome was told; false if it was before."""
        return self._marked("reported_ms", verdict_id, at_ms)

    def keep(self, digest: str, said: str) -> None:
        """Keep what verdicts say, once for all that say the same."""
        if digest in self._known or digest in self.fresh_said:
            return
        if super().said(digest) is None:
            self._batch.add("conclusions", (self._tenant, digest, said))
        self.fresh_said[digest] = said

    def said(self, digest: str) -> str | None:
        """Return what verdicts say, by its digest."""
        return self.fresh_said.get(digest) or super().said(digest)

    def mark(self) -> tuple[int, int]:
        """Return how far this transaction has come, to go back to."""
        return len(self._fresh), len(self.fresh_said)

    def back(self, mark: tuple[int, int]) -> None:
        """Forget what was added since the mark."""
        while len(self._fresh) > mark[0]:
            self._fresh.popitem()
        while len(self.fresh_said) > mark[1]:
            self.fresh_said.popitem()

    def _marked(self, column: str, verdict_id: str, at_ms: int) -> bool:
        self._batch.flush()
        self._fresh.pop(verdict_id, None)
        changed = self._connection.change(
            f"UPDATE verdicts SET {column} = ? WHERE tenant = ? AND id = ? AND {column} IS NULL",  # noqa: S608 - our own names
            at_ms,
            self._tenant,
            verdict_id,
        )
        return changed == 1


class RepetitionRepository:
    """What makes a repetition known, for one tenant inside a transaction."""

    def __init__(self, batch: Batch, tenant: str) -> None:
        self._batch = batch
        self._tenant = tenant
        self._fresh: dict[tuple[str, str, str], Repetition] = {}

    def find(self, principal: str, kind: str, repeated: str, *, now_ms: int) -> Repetition | None:
        """Return what came of it before, unless that was forgotten by now."""
        if found := self._fresh.get((principal, kind, repeated)):
            return found
        rows = self._batch.rows(
            "SELECT principal, kind, id, source, verdict, expires_ms FROM repetitions"
            " WHERE tenant = ? AND principal = ? AND kind = ? AND id = ?",
            self._tenant,
            principal,
            kind,
            repeated,
        )
        if not rows:
            return None
        found = Repetition(*rows[0])
        if found.expires_ms > now_ms:
            return found
        self._batch.change(
            "DELETE FROM repetitions WHERE tenant = ? AND principal = ? AND kind = ? AND id = ?",
            self._tenant,
            principal,
            kind,
            repeated,
        )
        return None

    def add(self, repetition: Repetition) -> None:
        """Remember it."""
        self._fresh[repetition.principal, repetition.kind, repetition.id] = repetition
        self._batch.add("repetitions", (self._tenant, *repetition))

    def forget(self, *, now_ms: int, most: int) -> int:
        """Forget up to so many that have expired; return how many."""
        return self._batch.change(
            "DELETE FROM repetitions WHERE (tenant, principal, kind, id) IN"
            " (SELECT tenant, principal, kind, id FROM repetitions WHERE expires_ms <= ? LIMIT ?)",
            now_ms,
            most,
        )

    def mark(self) -> int:
        """Return how far this transaction has come, to go back to."""
        return len(self._fresh)

    def back(self, mark: int) -> None:
        """Forget what was added since the mark."""
        while len(self._fresh) > mark:
            self._fresh.popitem()
