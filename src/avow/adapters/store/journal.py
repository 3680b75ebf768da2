"""The journal's repository: entries appended inside a transaction, read in order, never changed.

Within a transaction entries are linked at once and written together at its end. Written once for
every database.

Clauses: IRL-6.03.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from avow.adapters.store.batch import Batch
from avow.adapters.store.connection import Connection
from avow.core import merkle
from avow.core.journal import GENESIS, Entry, Erasable, link
from avow.core.merkle import Frontier

# Levels of the tree that are stored: every fourth. The others are computed from them.
_LEVELS = 4
_HASH_BYTES = 32


class Head(NamedTuple):
    """Where the journal ends."""

    position: int
    hash: str
    frontier: Frontier


class JournalAppender:
    """The end of one tenant's journal inside a transaction; the `JournalEnd` of the engine."""

    def __init__(self, batch: Batch, tenant: str) -> None:
        self._batch = batch
        self._tenant = tenant
        self.head = head(batch, tenant)
        self.entries: list[Entry] = []

    @property
    def size(self) -> int:
        """Return how many entries there are, those of this transaction included."""
        return self.head.position

    def append(self, content: dict[str, Any], texts: Sequence[Erasable] = ()) -> Entry:
        """Link one entry to the end; its erasable texts enter the body as salted digests."""
        digests = {text.field: {"sha256": text.digest} for text in texts}
        position, before, frontier = self.head
        entry = link(position + 1, before, {**content, **digests})
        grown, completed = frontier.grown(merkle.leaf(bytes.fromhex(entry.hash)))
        add, tenant = self._batch.add, self._tenant
        add("journal_entries", (tenant, entry.position, entry.hash, entry.body))
        for text in texts:
            add("journal_texts", (tenant, entry.position, text.field, text.salt, text.text))
        for node in completed:
            if node.level % _LEVELS == 0:
                add("journal_nodes", (tenant, *node))
        self.entries.append(entry)
        self.head = Head(entry.position, entry.hash, grown)
        return entry

    def origin(self, proposed: str) -> str:
        """Return where the journal comes from; `proposed` if it has no origin yet."""
        self._batch.change(
            "INSERT INTO journal_origins (tenant, origin) VALUES (?, ?)"
            " ON CONFLICT (tenant) DO NOTHING",
            self._tenant,
            proposed,
        )
        return origin(self._batch, self._tenant)

    def hash_at(self, position: int) -> str:
        """Return the hash of an entry, of this transaction or an earlier one."""
        own = position - self.head.position + len(self.entries) - 1
        if own >= 0:
            return self.entries[own].hash
        return hash_at(self._batch, self._tenant, position)

    def text(self, position: int, field: str) -> Erasable | None:
        """Return a text beside the chain, or nothing if it was erased or never there."""
        self._batch.flush()
        return text(self._batch, self._tenant, position, field)

    def erase(self, position: int, field: str) -> bool:
        """Erase a text beside the chain for good; false if there is none."""
        self._batch.flush()
        return erase(self._batch, self._tenant, position, field)

    def mark(self) -> tuple[Head, int]:
        """Return how far this transaction has come, to go back to."""
        return self.head, len(self.entries)

    def back(self, mark: tuple[Head, int]) -> None:
        """Unlink what was appended since the mark; its rows are the batch's."""
        self.head, count = mark
        del self.entries[count:]

    def flush(self) -> None:
        """Write head and entries; called once, at the end of the transaction."""
        if not self.entries:
            return
        position, last, frontier = self.head
        self._batch.change(
            "INSERT INTO journal_heads (tenant, position, hash, frontier) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant) DO UPDATE SET position = excluded.position,"
            " hash = excluded.hash, frontier = excluded.frontier",
            self._tenant,
            position,
            last,
            b"".join(frontier.roots),
        )
        self._batch.flush()


def head(connection: Connection, tenant: str) -> Head:
    """Return where a tenant's journal ends."""
    found = connection.rows(
        "SELECT position, hash, frontier FROM journal_heads WHERE tenant = ?", tenant
    )
    if not found:
        return Head(0, GENESIS, Frontier())
    position, last, packed = found[0]
    packed = bytes(packed)
    roots = [packed[at : at + _HASH_BYTES] for at in range(0, len(packed), _HASH_BYTES)]
    return Head(position, last, Frontier(position, tuple(roots)))


def origin(connection: Connection, tenant: str) -> str:
    """Return where a tenant's journal comes from; nothing before it has begun."""
    found = connection.rows("SELECT origin FROM journal_origins WHERE tenant = ?", tenant)
    return str(found[0][0]) if found else ""


def entries(
    connection: Connection, tenant: str, *, after: int = 0, most: int = 1000
) -> list[Entry]:
    """Return up to `most` entries behind a position, in order."""
    found = connection.rows(
        "SELECT position, hash, body FROM journal_entries"
        " WHERE tenant = ? AND position > ? ORDER BY position LIMIT ?",
        tenant,
        after,
        most,
    )
    if not found:
        return []
    linked, previous = [], hash_at(connection, tenant, after)
    for position, hashed, body in found:
        linked.append(Entry(position, previous, bytes(body), hashed))
        previous = hashed
    return linked


def text(connection: Connection, tenant: str, position: int, field: str) -> Erasable | None:
    """Return a text beside the chain, or nothing if it was erased or never there."""
    found = connection.rows(
        "SELECT salt, text FROM journal_texts WHERE tenant = ? AND position = ? AND field = ?",
        tenant,
        position,
        field,
    )
    return Erasable(field, bytes(found[0][0]), found[0][1]) if found else None


def erase(connection: Connection, tenant: str, position: int, field: str) -> bool:
    """Erase a text for good; the entry keeps its digest and the chain stays verifiable."""
    return bool(
        connection.change(
            "DELETE FROM journal_texts WHERE tenant = ? AND position = ? AND field = ?",
            tenant,
            position,
            field,
        )
    )


def fetcher(connection: Connection, tenant: str) -> merkle.Fetch:
    """Return what makes proofs: the root of any complete subtree, from few stored nodes."""

    def fetch(level: int, place: int) -> bytes:
        if level == 0:
            return merkle.leaf(bytes.fromhex(hash_at(connection, tenant, place + 1)))
        if level % _LEVELS:
            return merkle.node(fetch(level - 1, place * 2), fetch(level - 1, place * 2 + 1))
        found = connection.rows(
            "SELECT hash FROM journal_nodes WHERE tenant = ? AND level = ? AND place = ?",
            tenant,
            level,
            place,
        )
        return bytes(found[0][0])

    return fetch


def hash_at(connection: Connection, tenant: str, position: int) -> str:
    """Return the hash of an entry; 64 zeros before the first."""
    if position == 0:
        return GENESIS
    found = connection.rows(
        "SELECT hash FROM journal_entries WHERE tenant = ? AND position = ?", tenant, position
    )
    return str(found[0][0])
