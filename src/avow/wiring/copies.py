"""Backups put together: the copy of a database with the anchor and the public keys beside it.

The key that signs is never part of a backup: whoever finds one can read the journal, and cannot
sign for it.
"""

from collections.abc import Callable
from pathlib import Path

from avow.adapters.anchor import AnchorFile
from avow.adapters.signing import keys
from avow.adapters.store import copying
from avow.core.errors import MalformedError, Problem
from avow.engine.archive import Progress, Verified
from avow.engine.restoring import BackedUp
from avow.wiring import archives
from avow.wiring.places import ANCHOR


def write_backup(
    store: copying.Store,
    folder: Path,
    *,
    anchor: AnchorFile,
    ring: Callable[[], str],
    progress: Progress | None = None,
) -> BackedUp:
    """Write a backup of one state into an empty folder, and raise if the copy does not verify.

    Others may write meanwhile. The anchor is read before the copy is made, since it must not know
    more than the copy; what came in while copying is added as far as the copy holds it.
    """
    anchors, public = anchor.text(), ring()
    copying.backup(store, folder, progress)
    size = archives.of_backup(folder).read(lambda view: view.size())
    durable(folder / ANCHOR, anchors + archives.since(anchors, anchor, size))
    durable(folder / keys.RING, public)
    report = checked(folder, archives.of_backup(folder).verify())
    return BackedUp(entries=report.entries, head=report.head, anchored=report.anchored)


def checked(folder: Path, report: Verified) -> Verified:
    """Return the report of a backup, or raise with every problem in it."""
    if not report.is_good:
        code = "backup.damaged"
        raise MalformedError(code, [Problem(str(folder), code, told) for told in report.problems])
    return report


def durable(path: Path, text: str) -> None:
    """Write a small file so that it is whole or not there, and on the disk on return."""
    keys.replaced(path, text.encode("utf-8"), 0o644)
