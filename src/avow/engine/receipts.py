"""Receipts, proofs and exports of the journal, made from a view and the newest checkpoint.

Nothing is signed here: the newest note comes from whoever anchors the journal.
"""

from collections.abc import Iterator

from avow.core import checkpoint, journal, receipt
from avow.core.errors import RefusedError
from avow.core.receipt import Receipt
from avow.engine.ports import View

_PAGE = 1000


def issue(view: View, position: int, note: str, *, fields: tuple[str, ...] = ()) -> Receipt:
    """Return the receipt of an entry under a checkpoint that covers it.

    `fields` names the erasable texts the holder may see; those that were erased are left out.
    """
    signed = checkpoint.read_note(note)
    size = checkpoint.read(signed.text).size
    if not 1 <= position <= size:
        raise RefusedError("journal.no_such_entry", f"no checkpoint covers entry {position}")
    entry = view.entries(after=position - 1, most=1)[0]
    texts = [text for field in fields if (text := view.text(position, field))]
    path = tuple(view.inclusion(position, size))
    return receipt.issued(entry, note=signed, path=path, texts=texts)


def export(view: View, origin: str, *, after: int = 0) -> Iterator[bytes]:
    """Yield the lines of an export, page by page."""
    yield journal.export_header(origin)
    while found := view.entries(after=after, most=_PAGE):
        yield b"".join(map(journal.exported, found))
        after = found[-1].position
