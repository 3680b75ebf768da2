"""The office: a store opened for administration and audit, without a server.

What a command line on the machine works with. Commands go through the same writer and the same
journal as those of a server, which may run on the same store meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from avow.core.principal import Principal
from avow.engine.ports import Command, View
from avow.engine.restoring import BackedUp

T = TypeVar("T")
Progress = Callable[[int, int], None]


class Office(Protocol):
    """An open store; to be closed after use."""

    origin: str

    def call(self, command: Command[T]) -> T:
        """Execute a command and return its answer once it is committed."""
        ...

    def read(self, query: Callable[[View], T]) -> T:
        """Run a query on one consistent state."""
        ...

    def who(self) -> Principal:
        """Return the principal that acts: whoever has the machine acts as an admin."""
        ...

    def draw(self, size_bytes: int) -> bytes:
        """Return fresh entropy."""
        ...

    def note(self) -> str:
        """Return a checkpoint signed over the journal as it is now; it is anchored too."""
        ...

    def anchors(self) -> str:
        """Return the text of the anchor file."""
        ...

    def ring(self) -> str:
        """Return the public keys that sign checkpoints, as a text."""
        ...

    def rotate(self, *, compromised: bool) -> str:
        """Exchange the signing key, journal it, and return the line of the new one."""
        ...

    def backup(self, folder: str, progress: Progress | None = None) -> BackedUp:
        """Write a consistent copy with anchor and public keys, and tell what it holds."""
        ...

    def close(self) -> None:
        """Finish and close."""
        ...


@dataclass(frozen=True, slots=True)
class Welcome:
    """What a server that has started tells the person who started it."""

    address: str
    data: str
    store: str
    policy: str
    entries: int
    admin_key: str
