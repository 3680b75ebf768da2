"""What the doctor looks at in a store, gathered; nothing there is changed.

Without a data folder only the library is looked at.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from avow import settings as settings_module
from avow.adapters.notary import TAIL_MAX
from avow.adapters.signing import keys
from avow.adapters.store.sqlite import FILE, VERSION_LEAST, library_version
from avow.clients import verifier
from avow.core.checkpoint import Checkpoint
from avow.engine import doctor, sampling
from avow.engine.archive import Progress
from avow.engine.doctor import Check, Premises, Rehearsal
from avow.settings import FIELDS, Settings
from avow.wiring.places import anchor_file, data_folder, postgres_address

NEWEST = 100_000
# The copy, the restored copy, and what is staged in between.
_ROOM = 3


def checks(settings: Settings, progress: Progress | None = None) -> Iterator[Check]:
    """Yield the checks of the store that the settings name."""
    yield doctor.check_library("SQLite library", library_version(), VERSION_LEAST)
    premises = _premises(settings)
    yield from doctor.check_premises(premises)
    has_file = (data_folder(settings) / FILE).exists()
    has_anchor = anchor_file(settings).path.exists()
    if has_file or has_anchor or postgres_address(settings) is not None:
        yield from _journal(settings, progress)


def _premises(settings: Settings) -> Premises:
    folder, anchor = data_folder(settings), anchor_file(settings).path
    secret = folder / keys.SECRET
    return Premises(
        folder=str(folder),
        is_there=folder.is_dir(),
        is_writable=os.access(folder, os.W_OK | os.X_OK),
        key_mode=secret.stat().st_mode & 0o777 if secret.exists() else None,
        anchor=str(anchor),
        anchor_inside=anchor.resolve().is_relative_to(folder.resolve()),
    )


def _journal(settings: Settings, progress: Progress | None) -> Iterator[Check]:
    looked: dict[str, int] = {}

    def sampled() -> tuple[str, list[str]]:
        # Imported here: the drivers take a moment to load, and most examinations need none.
        from avow.wiring import archives  # noqa: PLC0415 - see above

        archive = archives.opened(settings)
        # Before the journal: a checkpoint made meanwhile must not look like a journal cut off.
        checkpoints = list(_checkpoints(archive.anchors(), archive.ring()))
        looked["anchored"] = max((one.size for one in checkpoints), default=0)
        size = archive.read(lambda view: view.size())
        looked["size"] = size
        if size <= NEWEST:
            report = archive.verify(progress=progress)
            return f"all {report.entries} entries verified", list(report.problems)
        count, problems = archive.read(lambda view: sampling.newest(view, checkpoints, most=NEWEST))
        return f"the newest {count} of {size} entries fit", problems

    verified = doctor.check_journal("journal", sampled)
    yield verified
    if "size" not in looked:
        return
    yield doctor.check_unanchored(max(0, looked["size"] - looked["anchored"]), TAIL_MAX)
    if verified.state is doctor.State.BAD:
        return
    yield doctor.check_breakers(_breakers(settings))
    yield doctor.check_rehearsal(lambda: _rehearsed(settings, progress))


def _checkpoints(anchors: str, ring: str) -> Iterator[Checkpoint]:
    """Yield the checkpoints that a key of the ring signed, the largest first."""
    held = [key for key in verifier.read_keys(ring, lambda _: None) if not key.is_compromised]
    found = verifier.read_anchors(anchors, lambda _: None)
    for one in sorted(found, key=lambda each: each.size, reverse=True):
        if verifier.signers(one, held):
            yield Checkpoint(one.origin, one.size, one.root, one.head, one.at_ms)
            return


def _breakers(settings: Settings) -> list[tuple[str, str]]:
    from avow.wiring import archives  # noqa: PLC0415 - the same

    found = archives.opened(settings).read(lambda view: view.breakers.listed())
    return [(agent, means.value) for agent, means, _ in found]


def _rehearsed(settings: Settings, progress: Progress | None) -> Rehearsal | str:
    """Make a backup, restore it elsewhere, and compare; or tell why there is no room for it."""
    from avow.wiring import archives, copies, restoring  # noqa: PLC0415 - the same

    archive = archives.opened(settings)
    with tempfile.TemporaryDirectory(prefix="avow-rehearsal-") as name:
        file = data_folder(settings) / FILE
        need = file.stat().st_size * _ROOM if file.exists() else 0
        if shutil.disk_usage(name).free < need:
            return f"not tried: the temporary folder has no room for {need} bytes"
        copy, target = Path(name) / "backup", Path(name) / "data"
        made = copies.write_backup(
            archive.store, copy, anchor=anchor_file(settings), ring=archive.ring, progress=progress
        )
        elsewhere = settings_module.flagged(
            settings,
            {
                "store.data": str(target),
                "store.url": FIELDS["store.url"].default,
                "journal.anchor": FIELDS["journal.anchor"].default,
            },
        )
        restoring.restore(elsewhere, copy, lose_entries=False, progress=progress)
        restored = archives.opened(elsewhere)
        head = restored.read(lambda view: view.hash_at(made.entries))
        return Rehearsal(entries=made.entries, head=made.head, restored_head=head)
