"""A bounded look at a journal: is its newest part what was written? For a doctor, not for a judge.

It recomputes the chain over the newest entries and compares the checkpoints among them. What lies
before is taken as it is stored, so this never replaces the stand-alone verifier, which starts at
the first entry.
"""

from collections.abc import Iterable

from avow.core.checkpoint import Checkpoint
from avow.core.errors import RefusedError
from avow.core.journal import hash_of
from avow.engine.ports import View

_PAGE = 1000


def newest(view: View, checkpoints: Iterable[Checkpoint], *, most: int) -> tuple[int, list[str]]:
    """Return how many entries were looked at, and what is wrong with them.

    1. The chain fits from entry to entry, without gaps, up to the size that the store names.
    2. The largest checkpoint names the entry and the tree that the store has there.
    """
    size = view.size()
    after = start = max(0, size - most)
    # 1
    while found := view.entries(after=after, most=_PAGE):
        for entry in found:
            is_next = entry.position == after + 1
            if not is_next or entry.hash != hash_of(entry.previous, entry.body):
                return after - start, [f"entry {after + 1} is not what was written"]
            after = entry.position
    if after != size:
        return after - start, [f"the store's head names {size} entries, {after} are there"]
    # 2
    last = max(checkpoints, key=lambda one: one.size, default=None)
    return size - start, [] if last is None else list(_misfits(view, last))


def _misfits(view: View, last: Checkpoint) -> Iterable[str]:
    try:
        fits = view.origin() == last.origin and view.hash_at(last.size) == last.head
    except RefusedError:
        yield f"cut off: the anchor names {last.size} entries, {view.size()} are there"
        return
    if not fits or (last.size and view.root(last.size) != last.root):
        yield f"rewritten: the anchor at {last.size} names another history"
