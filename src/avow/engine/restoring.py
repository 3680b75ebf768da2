"""What restoring a backup asks for, answers, and leaves in the journal.

Entries that an anchor knows and a backup does not have are lost by restoring it. Whoever gives them
up says so, and the journal says so from then on.

Clauses: ICNLI-14.5.01.
"""

from dataclasses import dataclass

from avow.core.checkpoint import Checkpoint
from avow.engine.ports import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restored store holds; `lost` counts the entries that were given up.

    `set_aside` names the anchor file they were known by, and `key_made` whether a fresh key signs.
    """

    entries: int
    head: str
    lost: int = 0
    set_aside: str = ""
    key_made: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What a backup holds, as it was verified."""

    entries: int
    head: str
    anchored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRestored:
    """Journal that a backup was put in place of a longer journal, and which checkpoint was left."""

    by: str
    abandoned: Checkpoint

    def __call__(self, transaction: Transaction) -> int:
        """Append the entry and return its position."""
        entry = transaction.journal.append(
            {
                "abandoned": {
                    "head": self.abandoned.head,
                    "root": self.abandoned.root.hex(),
                    "signed": self.abandoned.at_ms,
                    "size": self.abandoned.size,
                },
                "at": transaction.now_ms(),
                "by": self.by,
                "kept": transaction.journal.size,
                "kind": "restored",
            }
        )
        return entry.position
