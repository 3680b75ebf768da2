"""Restoring put together: a backup becomes the store, and proves itself against the anchor.

The anchor that counts is the living one, which the settings name; only where there is none is it
the one inside the backup. What the living anchor knows and the backup does not have is lost only
if that was asked for: then the anchor is set aside under another name, and the journal tells.

What a crash leaves behind either can be restored again, or is refused at the next start.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from avow.adapters.signing import keys
from avow.adapters.signing.keys import KeyFolder
from avow.adapters.store import copying, reading, sqlite
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.reading import PostgresReader
from avow.adapters.store.sqlite import SqliteStore
from avow.adapters.store.writer import Writer
from avow.clients import verifier
from avow.core import keyring
from avow.core.checkpoint import Checkpoint
from avow.core.errors import ConflictError, FaultError, MalformedError, Problem
from avow.core.keyring import KeyRing, KeyState
from avow.engine.archive import Evidence, Progress, Verified
from avow.engine.restoring import NoteRestored, Restored
from avow.settings import Settings
from avow.wiring import archives, copies
from avow.wiring.archives import Backup
from avow.wiring.places import TENANT, anchor_file, data_folder, postgres_address
from avow.wiring.stores import OpenStore, remembering

_CHUNK_BYTES = 4 * 1024 * 1024


def restore(
    settings: Settings,
    folder: Path,
    *,
    lose_entries: bool,
    progress: Progress | None = None,
) -> Restored:
    """Put a backup in place of nothing, or raise and leave everything as it was.

    1. There is room: no database in the folder, no row in the PostgreSQL database.
    2. The backup verifies by itself.
    3. The living anchor does not contradict it, unless its entries are given up.
    4. The restored journal verifies against the anchor that is then in place.
    """
    # 1
    _check_room(settings)
    # 2
    backup = _sealed(folder)
    report = copies.checked(folder, backup.verify())
    # 3
    plan = _planned(settings, backup, report)
    if plan.abandoned is not None and not lose_entries:
        raise ConflictError("backup.behind_anchor", plan.told)
    try:
        set_aside = _put_in_place(settings, backup, plan, progress or _unheard)
        key_made = _settled(settings, report.origin, plan.ring)
    except OSError as error:
        raise FaultError("store.unavailable") from error
    with contextlib.closing(OpenStore(settings)) as opened:
        opened.note()
    # 4
    now = archives.opened(settings)
    if not now.verify().is_good or now.read(lambda v: v.hash_at(report.entries)) != report.head:
        raise FaultError("journal.rolled_back")
    lost = 0 if plan.abandoned is None else max(0, plan.abandoned.size - report.entries)
    return Restored(
        entries=report.entries,
        head=report.head,
        lost=lost,
        set_aside=set_aside,
        key_made=key_made,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to be put in place; `abandoned` is the checkpoint that would be given up."""

    ring: KeyRing
    anchors: str
    has_living: bool
    abandoned: Checkpoint | None = None
    told: str = ""


def _check_room(settings: Settings) -> None:
    folder, address = data_folder(settings), postgres_address(settings)
    if address is not None:
        # Asked again of every table in the transaction that fills them.
        if _has_journal(address):
            raise _occupied("store", "there is a journal in the database already")
        return
    for name in (sqlite.FILE, f"{sqlite.FILE}-wal", f"{sqlite.FILE}-shm"):
        if (folder / name).exists():
            raise _occupied(str(folder), f"there is `{name}` in it")


def _has_journal(address: str) -> bool:
    try:
        store = PostgresReader(address)
    except MalformedError:
        return False
    with store.reader() as connection:
        return reading.head(connection, TENANT)[0] > 0


def _occupied(where: str, told: str) -> MalformedError:
    return MalformedError("backup.not_empty", [Problem(where, "backup.not_empty", told)])


def _sealed(folder: Path) -> Backup:
    """Open a backup; a data folder in use is none, because part of it lies beside its file."""
    backup = archives.of_backup(folder)
    log = folder / f"{sqlite.FILE}-wal"
    if log.exists() and log.stat().st_size:
        code, told = "backup.damaged", f"there is `{log.name}` in it: it is a data folder in use"
        raise MalformedError(code, [Problem(str(folder), code, told)])
    return backup


def _planned(settings: Settings, backup: Backup, report: Verified) -> _Plan:
    """Compare the backup with the living anchor."""
    living = archives.text_of(anchor_file(settings).path)
    kept = keyring.read(archives.text_of(data_folder(settings) / keys.RING))
    ring = _joined(kept, keyring.read(backup.ring()))
    anchors = backup.anchors()
    plan = _Plan(ring=ring, anchors=anchors, has_living=bool(living.strip()))
    if not plan.has_living:
        return plan
    both = Evidence(anchors=living + anchors, keys=ring.written())
    told = backup.verify(both).problems
    if not told:
        return plan
    newest = _newest(settings, living, ring, report.origin)
    if newest.size > report.entries:
        said = f"the anchor knows {newest.size} entries, and the backup has {report.entries}"
    else:
        said = f"the anchor at {newest.size} contradicts the backup: {told[0]}"
    return _Plan(ring=ring, anchors=anchors, has_living=True, abandoned=newest, told=said)


def _newest(settings: Settings, living: str, ring: KeyRing, origin: str) -> Checkpoint:
    """Return the largest checkpoint of an anchor that does not rest on a compromised key.

    One by a key that nobody knows any more counts here: it is better to ask once too often.
    """
    held = list(verifier.read_keys(ring.written(), lambda _: None))
    found = [
        one
        for one in verifier.read_anchors(living, lambda _: None)
        if not (by := verifier.signers(one, held)) or any(not key.is_compromised for key in by)
    ]
    others = {one.origin for one in found} - {origin}
    if others:
        told = f"the anchor is of `{min(others)}`, and the backup of `{origin}`"
        raise ConflictError("backup.other_journal", told)
    if not found:
        path = str(anchor_file(settings).path)
        problem = Problem(path, "checkpoint.invalid", "it holds something that is no checkpoint")
        raise MalformedError("checkpoint.invalid", [problem])
    last = max(found, key=lambda one: one.size)
    return Checkpoint(last.origin, last.size, last.root, last.head, last.at_ms)


def _put_in_place(settings: Settings, backup: Backup, plan: _Plan, progress: Progress) -> str:
    """Put ring, anchor and database in place; return under which name the old anchor lies.

    The old anchor goes last: until then it refuses every start on a journal it contradicts.
    """
    folder, anchor = data_folder(settings), anchor_file(settings).path
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    anchor.parent.mkdir(parents=True, exist_ok=True)
    copies.durable(folder / keys.RING, plan.ring.written())
    if not plan.has_living:
        copies.durable(anchor, plan.anchors)
    with _staged(settings, backup, plan, progress) as stage:
        address = postgres_address(settings)
        if address is None:
            # A link and not a renaming: it fails where a file has appeared meanwhile.
            os.link(stage / sqlite.FILE, folder / sqlite.FILE)
        else:
            with contextlib.closing(PostgresStore(address)) as store:
                copying.restore(stage, store, progress)
    if plan.abandoned is None:
        return ""
    moved = _set_aside(anchor)
    copies.durable(anchor, plan.anchors)
    return str(moved)


@contextlib.contextmanager
def _staged(settings: Settings, backup: Backup, plan: _Plan, progress: Progress) -> Iterator[Path]:
    """Give a folder with a copy of the backup, brought up to date and complete."""
    folder = data_folder(settings)
    with tempfile.TemporaryDirectory(prefix="restoring-", dir=folder) as name:
        stage = Path(name)
        _copied(backup.store.path, stage / sqlite.FILE, progress)
        with contextlib.closing(SqliteStore(stage)) as store:
            if plan.abandoned is not None:
                with contextlib.closing(Writer(store, remembering(settings))) as writer:
                    writer.call(NoteRestored(by="console", abandoned=plan.abandoned))
        sqlite.seal(stage / sqlite.FILE)
        with (stage / sqlite.FILE).open("rb") as opened:
            os.fsync(opened.fileno())
        yield stage


def _copied(source: Path, target: Path, progress: Progress) -> None:
    total, done = source.stat().st_size, 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as read, os.fdopen(handle, "wb") as written:
        while chunk := read.read(_CHUNK_BYTES):
            written.write(chunk)
            done += len(chunk)
            progress(done, max(done, total))


def _settled(settings: Settings, origin: str, ring: KeyRing) -> bool:
    """Keep a signing key that is still in use; set any other aside. Return if one is to be made."""
    folder = data_folder(settings)
    if not (folder / keys.SECRET).exists():
        return True
    signer = KeyFolder(folder).signer()
    in_use = {key.public for key in ring.keys if key.state is KeyState.IN_USE}
    if signer.name == origin and signer.public_key in in_use:
        return False
    _set_aside(folder / keys.SECRET)
    return True


def _set_aside(path: Path) -> Path:
    """Give a file another name, and never one that is taken."""
    number = 1
    while (moved := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    return path.rename(moved)


def _joined(living: KeyRing, copied: KeyRing) -> KeyRing:
    """Return both rings as one; what became of a key can only be worse than either says."""
    order = list(KeyState)
    found = {key.public: key for key in copied.keys}
    joined = [
        max(key, found.pop(key.public, key), key=lambda one: order.index(one.state))
        for key in living.keys
    ]
    return KeyRing((*joined, *found.values()))


def _unheard(_done: int, _total: int) -> None:
    """Hear of progress and do nothing."""
