"""The notary: signs what was committed and anchors it outside the database.

Never more than `TAIL_MAX` entries lie behind the last checkpoint, and none for much longer than a
second. Where the anchor cannot be written, entries are refused before that many are reached, and
all of them once it has failed for `_TOLERATED_S`. It works
in the writer's thread, between commits; only `has_room` may be asked from elsewhere.

Clauses: ICNLI-12.5.04.
"""

import time
from collections.abc import Callable
from typing import Protocol

from avow.core import checkpoint
from avow.core.checkpoint import Checkpoint, Note, Signed
from avow.core.errors import FaultError
from avow.core.merkle import Frontier
from avow.engine.ports import Clock, Signer

TAIL_MAX = 1000
_TAIL_DUE = 500
_WAIT_S = 1.0
_IDLE_S = 3600.0
_TOLERATED_S = 5.0
# A command writes one entry, and at times one more about a breaker.
_ENTRIES_EACH = 2


class Head(Protocol):
    """Where a journal ends."""

    @property
    def position(self) -> int:
        """Return how many entries there are."""
        ...

    @property
    def hash(self) -> str:
        """Return the hash of the last one."""
        ...

    @property
    def frontier(self) -> Frontier:
        """Return the tree over them."""
        ...


class Anchor(Protocol):
    """Where checkpoints are kept, outside the database."""

    def append(self, note: str) -> None:
        """Keep a note durably, or raise `OSError`."""
        ...


class Notary:
    """Signs and anchors checkpoints of one journal.

    `signer` is asked every time, so that a key can be exchanged while the server runs; `told` hears
    of every checkpoint: its size, its note, and whether it could be anchored.
    """

    def __init__(  # noqa: PLR0913 - all by name, and each from another place
        self,
        *,
        origin: str,
        anchored: int,
        anchor: Anchor,
        signer: Callable[[], Signer],
        clock: Clock,
        told: Callable[[int, str, bool], None] = lambda _size, _note, _good: None,
    ) -> None:
        self._origin = origin
        self._anchor = anchor
        self._signer = signer
        self._clock = clock
        self._told = told
        self._since: float | None = None
        self._failing_since: float | None = None
        self.anchored = anchored

    def has_room(self, head: Head, coming: int) -> bool:
        """Return whether so many more commands leave the unanchored tail short enough.

        Short in time as well: where anchoring has failed for a while, there is no room at all.
        """
        tail = head.position - self.anchored + coming * _ENTRIES_EACH
        return tail <= TAIL_MAX and not self.is_failing

    @property
    def is_failing(self) -> bool:
        """Return whether the anchor could not be written for longer than is tolerated."""
        since = self._failing_since
        return since is not None and time.monotonic() - since > _TOLERATED_S

    def admit(self, head: Head, coming: int) -> None:
        """Make room for so many more commands, or raise if the anchor cannot be written."""
        if not self.has_room(head, coming) and not self._attest(head):
            raise FaultError("journal.unanchored")

    def committed(self, head: Head) -> None:
        """Take note of a commit, and anchor where the tail has become long."""
        if self._since is None and head.position > self.anchored:
            self._since = time.monotonic()
        if head.position - self.anchored >= _TAIL_DUE:
            self._attest(head)

    def rest(self, head: Head) -> float:
        """Anchor what is due, and return how many seconds may pass until the next look."""
        if head.position <= self.anchored:
            return _IDLE_S
        if self._since is None:
            self._since = time.monotonic()
        left = self._since + _WAIT_S - time.monotonic()
        if left > 0:
            return left
        return _IDLE_S if self._attest(head) else _WAIT_S

    def leave(self, head: Head) -> None:
        """Anchor what is left, at the end."""
        if head.position > self.anchored:
            self._attest(head)

    def _attest(self, head: Head) -> bool:
        try:
            signer = self._signer()
            note = attested(head, self._origin, self._clock.now_ms(), signer).written()
            self._anchor.append(note)
        except Exception:  # noqa: BLE001 - whatever it was, the writer's thread goes on
            self._since = time.monotonic()
            self._failing_since = self._failing_since or self._since
            self._told(head.position, "", False)  # noqa: FBT003 - see the class
            return False
        self.anchored, self._since, self._failing_since = head.position, None, None
        self._told(head.position, note, True)  # noqa: FBT003 - see the class
        return True


def attested(head: Head, origin: str, at_ms: int, signer: Signer) -> Note:
    """Return the signed checkpoint of a journal that ends there."""
    made = Checkpoint(origin, head.position, head.frontier.root(), head.hash, at_ms)
    text = made.text()
    key_id = checkpoint.key_id(signer.name, signer.public_key)
    return Note(text, (Signed(signer.name, key_id, signer.sign(text.encode("utf-8"))),))
