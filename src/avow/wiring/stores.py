"""Stores put together: a database, its journal's keys and anchor, and the writer over them.

Opening begins the journal if it has none, and refuses a journal that its anchor contradicts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from avow.adapters import policy_files
from avow.adapters.anchor import AnchorFile
from avow.adapters.clock import SystemClock, SystemEntropy
from avow.adapters.notary import Notary
from avow.adapters.signing import keys
from avow.adapters.signing.keys import KeyFolder
from avow.adapters.store import copying
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore
from avow.adapters.store.work import Memory, StoreView
from avow.adapters.store.writer import Writer
from avow.clients import ed25519, verifier
from avow.core import checkpoint, keyring
from avow.core.errors import FaultError
from avow.core.principal import Principal, Role
from avow.core.rate import Limit
from avow.core.words import Means
from avow.engine import receipts
from avow.engine.keeping import Begin, NoteKey
from avow.engine.office import Progress
from avow.engine.ports import Command, View
from avow.engine.pulse import Pulse
from avow.settings import FIELDS, Settings

TENANT = "main"
ANCHOR = "anchor.notes"
_SECRET_BYTES = 32
_ORIGIN_BYTES = 8
T = TypeVar("T")
_MOST = {Means.READ: "read_most", Means.DELETE: "delete_most", Means.AUTH: "auth_most"}


def data_folder(settings: Settings) -> Path:
    """Return the folder of keys, anchor and the embedded database."""
    return Path(settings.text("store.data")).expanduser()


def database(settings: Settings) -> SqliteStore | PostgresStore:
    """Open the database that the settings name."""
    url = settings.text("store.url")
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresStore(url)
    return SqliteStore(data_folder(settings))


def anchor_file(settings: Settings) -> AnchorFile:
    """Return the anchor that the settings name."""
    named = settings.text("journal.anchor")
    inside = named == FIELDS["journal.anchor"].default
    return AnchorFile(data_folder(settings) / ANCHOR if inside else Path(named).expanduser())


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


class OpenStore:
    """A store that is open for writing; the `Office` of the engine."""

    def __init__(
        self,
        settings: Settings,
        told: Callable[[int, str, bool], None] = lambda _size, _note, _good: None,
    ) -> None:
        self.database = database(settings)
        self.keys = KeyFolder(data_folder(settings))
        self.anchor = anchor_file(settings)
        self._clock, self._entropy = SystemClock(), SystemEntropy()
        memory = Memory(
            tenant=TENANT,
            read_policy=policy_files.from_text,
            pulse=Pulse(limits(settings)),
        )
        try:
            self.origin = self._begun(memory)
            last = self._anchored(memory)
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

    def backup(self, folder: str, progress: Progress | None = None) -> int:
        """Write a consistent copy with anchor and public keys; return how many entries it has."""
        target = Path(folder)
        copying.backup(self.database, target, progress)
        (target / ANCHOR).write_text(self.anchor.text(), encoding="utf-8")
        (target / keys.RING).write_text(self.ring(), encoding="utf-8")
        copied = SqliteStore(target)
        try:
            return verified(copied, self.origin, self.ring(), (target / ANCHOR).read_text("utf-8"))
        finally:
            copied.close()

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
                self._exchanged(self.keys.ring())
                key = self.keys.signer()
                public = key.public_key.hex()
                writer.call(NoteKey(by="console", name=key.name, public=public, state="added"))
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
        with self.database.reader() as connection:
            return check_anchor(
                StoreView(connection, memory), self.origin, self.ring(), self.anchor.notes()
            )


@dataclass(frozen=True, slots=True)
class Anchored:
    """The last checkpoint that was anchored."""

    size: int
    note: str


def check_anchor(view: View, origin: str, ring: str, notes: list[str]) -> Anchored:
    """Return the last checkpoint by a good key of ours, or raise if the journal contradicts it."""
    good = list(verifier.read_keys(ring, lambda _: None))
    for note in reversed(notes):
        signed = checkpoint.read_note(note)
        named = checkpoint.read(signed.text)
        signers = [
            key
            for key in good
            if not key.is_compromised
            and any(
                one.key_id == checkpoint.key_id(key.name, key.public)
                and ed25519.is_valid(key.public, signed.text.encode(), one.signature)
                for one in signed.signed
            )
        ]
        if named.origin != origin or not signers:
            continue
        if named.size > view.size() or view.hash_at(named.size) != named.head:
            raise FaultError("journal.rolled_back")
        if named.size and view.root(named.size) != named.root:
            raise FaultError("journal.rolled_back")
        return Anchored(named.size, note)
    return Anchored(0, "")


def verified(store: SqliteStore | PostgresStore, origin: str, ring: str, anchors: str) -> int:
    """Return how many entries a store's journal has, or raise if it does not verify."""
    with store.reader() as connection:
        memory = Memory(tenant=TENANT, read_policy=policy_files.from_text, pulse=Pulse({}))
        pages = receipts.export(StoreView(connection, memory), origin)
        lines = (line for page in pages for line in page.splitlines(keepends=True))
        report = verifier.verify(lines, anchors=anchors, keys=ring)
    if not report.is_good:
        raise FaultError("journal.rolled_back")
    return report.entries
