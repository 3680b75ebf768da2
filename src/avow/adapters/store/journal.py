"""The journal's repository: entries appended inside a transaction, read in order, never changed.

Within a transaction entries are linked at once and written together at its end; undoing a part of
the transaction takes its entries back. Written once for every database.

Clauses: IRL-6.03.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from avow.adapters.store.connection import Connection
from avow.core import merkle
from avow.core.journal import GENESIS, Entry, Erasable, link
from avow.core.merkle import Frontier, Node

# Levels of the tree that are stored: every fourth. The others are computed from them.
_LEVELS = 4
_HASH_BYTES = 32


class Head(NamedTuple):
    """Where the journal ends."""

    position: int
    hash: str
    frontier: Frontier


class JournalAppender:
    """The end of one tenant's journal inside a transaction."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant
        self.head = head(connection, tenant)
        self._entries: list[Entry] = []
        self._texts: list[tuple[int, Erasable]] = []
        self._nodes: list[Node] = []

    def append(self, content: dict[str, Any], texts: Sequence[Erasable] = ()) -> Entry:
        """Link one entry to the end; its erasable texts enter the body as salted digests."""
        digests = {text.field: {"sha256": text.digest} for text in texts}
        position, before, frontier = self.head
        entry = link(position + 1, before, {**content, **digests})
        grown, completed = frontier.grown(merkle.leaf(bytes.fromhex(entry.hash)))
        self._entries.append(entry)
        self._texts += [(entry.position, text) for text in texts]
        self._nodes += [node for node in completed if node.level % _LEVELS == 0]
        self.head = Head(entry.position, entry.hash, grown)
        return entry

    @contextlib.contextmanager
    def part(self) -> Iterator[None]:
        """Run a part of the transaction: if it raises, its rows and its entries are taken back."""
        kept = (self.head, len(self._entries), len(self._texts), len(self._nodes))
        self._connection.change("SAVEPOINT part")
        try:
            yield
        except BaseException:
            self.head, entries, texts, nodes = kept
            del self._entries[entries:], self._texts[texts:], self._nodes[nodes:]
            self._connection.change("ROLLBACK TO part")
            raise
        finally:
            self._connection.change("RELEASE part")

    def flush(self) -> None:
        """Write what was appended; called once, at the end of the transaction."""
        if not self._entries:
            return
        write, tenant = self._connection.batch, self._tenant
        write(
            "INSERT INTO journal_entries (tenant, position, hash, body) VALUES (?, ?, ?, ?)",
            [(tenant, entry.position, entry.hash, entry.body) for entry in self._entries],
        )
        write(
            "INSERT INTO journal_texts (tenant, position, field, salt, text)"
            " VALUES (?, ?, ?, ?, ?)",
            [(tenant, at, text.field, text.salt, text.text) for at, text in self._texts],
        )
        write(
            "INSERT INTO journal_nodes (tenant, level, place, hash) VALUES (?, ?, ?, ?)",
            [(tenant, *node) for node in self._nodes],
        )
        position, last, frontier = self.head
        self._connection.change(
            "INSERT INTO journal_heads (tenant, position, hash, frontier) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant) DO UPDATE SET position = excluded.position,"
            " hash = excluded.hash, frontier = excluded.frontier",
            tenant,
            position,
            last,
            b"".join(frontier.roots),
        )


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
    linked, previous = [], _hash_at(connection, tenant, after)
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
            return merkle.leaf(bytes.fromhex(_hash_at(connection, tenant, place + 1)))
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


def _hash_at(connection: Connection, tenant: str, position: int) -> str:
    if position == 0:
        return GENESIS
    found = connection.rows(
        "SELECT hash FROM journal_entries WHERE tenant = ? AND position = ?", tenant, position
    )
    return str(found[0][0])
