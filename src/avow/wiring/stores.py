"""Stores put together: a database, its journal's keys and anchor, and the writer over them.

Opening begins the journal if it has none, and refuses a journal that its anchor contradicts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from avow.adapters import policy_files
from avow.adapters.clock import SystemClock, SystemEntropy
from avow.adapters.notary import Notary
from avow.adapters.signing import keys
from avow.adapters.signing.keys import KeyFolder
from avow.adapters.store import sqlite
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore
from avow.adapters.store.work import Memory, StoreView
from avow.adapters.store.writer import Writer
from avow.clients import verifier
from avow.core import keyring
from avow.core.errors import FaultError
from avow.core.principal import Principal, Role
from avow.core.rate import Limit
from avow.core.words import Means
from avow.engine.keeping import Begin, NoteKey
from avow.engine.office import Progress
from avow.engine.ports import Command, View
from avow.engine.pulse import Pulse
from avow.engine.restoring import BackedUp
from avow.settings import Settings
from avow.wiring import copies
from avow.wiring.places import TENANT, anchor_file, data_folder, postgres_address

_SECRET_BYTES = 32
_ORIGIN_BYTES = 8
T = TypeVar("T")
_MOST = {Means.READ: "read_most", Means.DELETE: "delete_most", Means.AUTH: "auth_most"}


def database(settings: Settings) -> SqliteStore | PostgresStore:
    """Open the database that the settings name."""
    address = postgres_address(settings)
    return SqliteStore(data_folder(settings)) if address is None else PostgresStore(address)


def limits(settings: Settings) -> dict[Means, Limit]:
    """Return the breaker's limits for every kind of effect."""
    return {
        means: Limit(
            most=settings.whole(f"breaker.{_MOST.get(means, 'change_most')}"),
            window_ms=settings.whole("breaker.window_s") * 1000,
            quiet_ms=settings.whole("breaker.quiet_s") * 1000,
        )
        for means in Means
    }


def remembering(settings: Settings) -> Memory:
    """Return a fresh memory for one writer."""
    return Memory(tenant=TENANT, read_policy=policy_files.from_text, pulse=Pulse(limits(settings)))


class OpenStore:
    """A store that is open for writing; the `Office` of the engine."""

    def __init__(
        self,
        settings: Settings,
        told: Callable[[int, str, bool], None] = lambda _size, _note, _good: None,
    ) -> None:
        self.keys = KeyFolder(data_folder(settings))
        self.anchor = anchor_file(settings)
        _check_there(settings, self.ring(), self.anchor.notes())
        self.database = database(settings)
        self._clock, self._entropy = SystemClock(), SystemEntropy()
        memory = remembering(settings)
        try:
            # Checked before anything is written. Begun with a memory of its own: every writer
            # counts the newest entries, and counted twice they would open breakers too soon.
            last = self._anchored(memory)
            self.origin = self._begun(remembering(settings))
            self.latest = last.note
            self.notary = Notary(
                origin=self.origin,
                anchored=last.size,
                anchor=self.anchor,
                signer=self.keys.signer,
                clock=self._clock,
                told=self._attested(told),
            )
            self.writer = Writer(self.database, memory, self.notary)
            if not last.size:
                # From its first moment on something outside the database vouches for the journal.
                self.writer.anchor_now()
        except BaseException:
            self.database.close()
            raise

    def call(self, command: Command[T]) -> T:
        """Execute a command and return its answer once it is committed."""
        return self.writer.call(command)

    def read(self, query: Callable[[View], T]) -> T:
        """Run a query on one consistent state."""
        return self.writer.read(query)

    def who(self) -> Principal:
        """Return the principal that acts: whoever has the machine acts as an admin."""
        return Principal("console", frozenset({Role.ADMIN}))

    def draw(self, size_bytes: int) -> bytes:
        """Return fresh entropy."""
        return self._entropy.draw(size_bytes)

    def note(self) -> str:
        """Return a checkpoint signed over the journal as it is now; it is anchored too."""
        self.writer.anchor_now()
        return self.latest

    def anchors(self) -> str:
        """Return the text of the anchor file."""
        return self.anchor.text()

    def ring(self) -> str:
        """Return the public keys that sign checkpoints, as a text."""
        return self.keys.ring().written()

    def rotate(self, *, compromised: bool) -> str:
        """Exchange the signing key, journal it, and return the line of the new one.

        A checkpoint by the old key is made before, unless it is compromised, and one by the new key
        after, so that everything up to here is covered by a key that is good.
        """
        old = self.keys.signer()
        if not compromised:
            self.writer.anchor_now()
        state = "compromised" if compromised else "retired"
        by = self.who().id
        size = self.call(NoteKey(by=by, name=old.name, public=old.public_key.hex(), state=state))
        ring = self.keys.ring()
        if compromised:
            ring = keyring.compromised(ring, public=old.public_key, size=size)
        line = self._exchanged(ring)
        new = self.keys.signer()
        self.call(NoteKey(by=by, name=new.name, public=new.public_key.hex(), state="added"))
        self.writer.anchor_now()
        return line

    def backup(self, folder: str, progress: Progress | None = None) -> BackedUp:
        """Write a consistent copy with anchor and public keys, and tell what it holds."""
        # So that the copy is anchored as far as it can be.
        self.writer.anchor_now()
        return copies.write_backup(
            self.database, Path(folder), anchor=self.anchor, ring=self.ring, progress=progress
        )

    def close(self) -> None:
        """Finish and close."""
        self.writer.close()
        self.database.close()

    def _attested(self, told: Callable[[int, str, bool], None]) -> Callable[[int, str, bool], None]:
        def heard(size: int, note: str, good: bool) -> None:  # noqa: FBT001 - the notary's own
            if good:
                self.latest = note
            told(size, note, good)

        return heard

    def _begun(self, memory: Memory) -> str:
        """Begin the journal and its key where there is none; return the origin."""
        writer = Writer(self.database, memory)
        try:
            proposed = f"avow/{self._entropy.draw(_ORIGIN_BYTES).hex()}"
            begin = Begin(origin=proposed, version=metadata.version("avow"))
            self.origin = writer.call(begin)
            if not self.keys.exists():
                before = self.keys.ring()
                self._exchanged(before)
                # The fresh key, and those it retires: the keys of a folder that was restored.
                for key in self.keys.ring().keys:
                    if key not in before.keys:
                        state = key.content()["state"]
                        public = key.public.hex()
                        writer.call(
                            NoteKey(by="console", name=key.name, public=public, state=state)
                        )
        finally:
            writer.close()
        return self.origin

    def _exchanged(self, ring: keyring.KeyRing) -> str:
        secret = self._entropy.draw(_SECRET_BYTES)
        made = keys.fresh(self.origin, secret)
        grown = keyring.rotated(ring, name=made.name, public=made.public_key)
        self.keys.exchange(made, secret, grown)
        return grown.keys[-1].written()

    def _anchored(self, memory: Memory) -> "Anchored":
        """Return the last checkpoint, or raise if the journal is not the one it was made over."""
        # Read before the journal: one made meanwhile must not look like a journal cut off.
        notes, ring = self.anchor.notes(), self.ring()
        with self.database.reader() as connection:
            return check_anchor(StoreView(connection, memory), ring, notes)


@dataclass(frozen=True, slots=True)
class Anchored:
    """The last checkpoint that was anchored."""

    size: int
    note: str


def check_anchor(view: View, ring: str, notes: list[str]) -> Anchored:
    """Return the largest checkpoint by a good key of ours, or raise if the journal contradicts it.

    The largest and not the last: where two processes anchor, a smaller one may come in later. One
    of another origin contradicts it too: our keys sign for one journal, and this is not that one.
    """
    good = [key for key in verifier.read_keys(ring, lambda _: None) if not key.is_compromised]
    for named, note in sorted(_read(notes), key=lambda one: one[0].size, reverse=True):
        if not verifier.signers(named, good):
            continue
        if named.origin != view.origin() or named.size > view.size():
            raise FaultError("journal.rolled_back")
        if named.size and (view.hash_at(named.size), view.root(named.size)) != (
            named.head,
            named.root,
        ):
            raise FaultError("journal.rolled_back")
        return Anchored(named.size, note)
    if notes:
        # Somebody anchored here with a key we do not have: the ring is gone, or it is not ours.
        raise FaultError("journal.rolled_back")
    return Anchored(0, "")


def _check_there(settings: Settings, ring: str, notes: list[str]) -> None:
    """Raise if the database file is gone that a checkpoint of ours was made over.

    Opening would make a new one, and the journal would begin anew as if nothing had been.
    """
    file = data_folder(settings) / sqlite.FILE
    if postgres_address(settings) is None and not file.exists():
        ours = list(verifier.read_keys(ring, lambda _: None))
        if any(verifier.signers(named, ours) for named, _ in _read(notes)):
            raise FaultError("journal.rolled_back")


def _read(notes: list[str]) -> Iterator[tuple[verifier.Anchor, str]]:
    """Yield the checkpoints among notes; what is none, `avow journal verify` tells."""
    for note in notes:
        for named in verifier.read_anchors(note, lambda _: None):
            yield named, note
