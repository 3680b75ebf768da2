"""The archive: a journal as it lies there, opened for reading only, and what checking it found.

An archive makes nothing, mends nothing and refuses nothing: it can be opened where an office would
refuse, which is when somebody most needs to look. What reports say is the stand-alone verifier's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from avow.engine.ports import View

T = TypeVar("T")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a journal is checked against; where a text is not given, the data folder's is taken."""

    anchors: str | None = None
    keys: str | None = None


class KeyNoted(Protocol):
    """What a journal itself says of a key, at a position."""

    @property
    def position(self) -> int:
        """Return where it says so."""
        ...

    @property
    def name(self) -> str:
        """Return the name under which the key signs."""
        ...

    @property
    def public(self) -> str:
        """Return the key in hex."""
        ...

    @property
    def state(self) -> str:
        """Return added, retired or compromised."""
        ...


class Verified(Protocol):
    """What verification found; good means that nothing is wrong, not that all is anchored."""

    @property
    def origin(self) -> str:
        """Return where the journal comes from."""
        ...

    @property
    def entries(self) -> int:
        """Return how many entries fit, from the first on."""
        ...

    @property
    def head(self) -> str:
        """Return the hash of the last of them."""
        ...

    @property
    def anchors_good(self) -> int:
        """Return how many checkpoints were confirmed."""
        ...

    @property
    def anchored(self) -> int:
        """Return the size of the largest confirmed checkpoint."""
        ...

    @property
    def distrusted(self) -> int:
        """Return how many checkpoints only a compromised key signed."""
        ...

    @property
    def unanchored(self) -> int:
        """Return how many entries lie behind the last confirmed checkpoint."""
        ...

    @property
    def unanchored_from(self) -> int:
        """Return the first of them, or 0."""
        ...

    @property
    def keys(self) -> Sequence[KeyNoted]:
        """Return the journal's own record of its keys."""
        ...

    @property
    def breaks(self) -> Sequence[str]:
        """Return what rested on a compromised key alone."""
        ...

    @property
    def notices(self) -> Sequence[str]:
        """Return what a reader should know."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Return what is wrong, and where."""
        ...

    @property
    def is_good(self) -> bool:
        """Return whether nothing is wrong."""
        ...


class ReceiptChecked(Protocol):
    """What a receipt shows; only `problems` counts unless it is good."""

    @property
    def origin(self) -> str:
        """Return the journal it is of."""
        ...

    @property
    def position(self) -> int:
        """Return the position of the entry."""
        ...

    @property
    def size(self) -> int:
        """Return the size of the journal when the checkpoint was signed."""
        ...

    @property
    def at_ms(self) -> int:
        """Return when the checkpoint was signed."""
        ...

    @property
    def entry_hash(self) -> str:
        """Return the hash of the entry."""
        ...

    @property
    def signed_by(self) -> Sequence[str]:
        """Return the trusted keys that signed the checkpoint."""
        ...

    @property
    def texts(self) -> dict[str, str]:
        """Return the texts beside the entry that fit it."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Return what is wrong."""
        ...

    @property
    def is_good(self) -> bool:
        """Return whether everything fits."""
        ...


class Archive(Protocol):
    """A journal opened for reading; every call sees the state of its own moment."""

    def read(self, query: Callable[[View], T]) -> T:
        """Run a query on one consistent state."""
        ...

    def export(self, *, after: int = 0, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the lines of an export, page by page, all of one state."""
        ...

    def verify(
        self, evidence: Evidence | None = None, progress: Progress | None = None
    ) -> Verified:
        """Verify all of it: chain, checkpoints, the head as stored, and the texts beside it."""
        ...


Verify = Callable[[Iterable[bytes], Evidence], Verified]
