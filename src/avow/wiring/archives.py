"""Archives put together: a database opened for reading, with the anchor and key ring beside it.

Nothing here writes. The verifier is the one a stranger runs; what it cannot see in an export is
checked beside it: the head as it is stored, the texts beside the chain, and that a checkpoint is
there at all.

Clauses: IRL-6.03, ICNLI-12.5.02.
"""

import contextlib
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from avow.adapters import policy_files
from avow.adapters.anchor import AnchorFile
from avow.adapters.notary import TAIL_MAX
from avow.adapters.signing import keys
from avow.adapters.store import reading
from avow.adapters.store.connection import Connection
from avow.adapters.store.reading import Line, PostgresReader, SqliteReader
from avow.adapters.store.sqlite import FILE
from avow.adapters.store.work import Memory, StoreView
from avow.clients import receipts as receipt_checks
from avow.clients import verifier
from avow.clients.receipts import ReceiptReport
from avow.clients.verifier import Report
from avow.core import checkpoint
from avow.core.errors import FaultError, MalformedError, Problem
from avow.core.journal import Erasable, export_header
from avow.engine.archive import Evidence, Progress
from avow.engine.ports import View
from avow.engine.pulse import Pulse
from avow.settings import Settings
from avow.wiring.places import ANCHOR, TENANT, anchor_file, data_folder, postgres_address

T = TypeVar("T")
S = TypeVar("S", bound=SqliteReader | PostgresReader)
_PAGE = 1000
_NOTHING_GIVEN = Evidence()
# How a body names an erasable text; quotes inside a text are escaped, so nothing else looks so.
_ERASABLE = re.compile(rb'"([a-z_]+)":\{"sha256":"[0-9a-f]{64}"\}')


class OpenArchive(Generic[S]):
    """The `Archive` of the engine."""

    def __init__(self, store: S, *, anchor: AnchorFile, ring: Path) -> None:
        self.store = store
        self._anchor = anchor
        self._ring = ring

    def read(self, query: Callable[[View], T]) -> T:
        """Run a query on one consistent state."""
        with self.store.reader() as connection:
            return query(_view(connection))

    def export(self, *, after: int = 0, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the lines of an export, page by page, all of one state."""
        tell = progress or _unheard
        with self.store.reader() as connection:
            size, _, origin = reading.head(connection, TENANT)
            yield export_header(origin)
            while found := reading.lines(connection, TENANT, after=after, most=_PAGE):
                yield b"".join(map(_exported, found))
                after = found[-1].position
                tell(after, size)

    def anchors(self) -> str:
        """Return the text of the anchor file as it is."""
        return text_of(self._anchor.path)

    def ring(self) -> str:
        """Return the text of the key ring as it is."""
        return text_of(self._ring)

    def verify(self, evidence: Evidence | None = None, progress: Progress | None = None) -> Report:
        """Verify all of it: chain, checkpoints, the head as stored, and the texts beside it."""
        given = evidence or _NOTHING_GIVEN
        # Before the journal: a checkpoint made meanwhile must not look like a journal cut off.
        anchors = self.anchors() if given.anchors is None else given.anchors
        ring = self.ring() if given.keys is None else given.keys
        walk = _Walk(progress or _unheard)
        try:
            with self.store.reader() as connection:
                size, head, origin = reading.head(connection, TENANT)
                if given.anchors is None:
                    anchors += since(anchors, self._anchor, size)
                lines = walk.lines(connection, origin, size)
                report = verifier.verify(lines, anchors=anchors, keys=ring)
        except FaultError as error:
            if not reading.is_damage(error):
                raise
            return Report(problems=["the store is damaged and cannot be read at all"])
        for told in walk.problems:
            report.problem(told)
        if report.is_good and (report.entries, report.head) != (size, head):
            report.problem(f"the store's head names {size} entries, {report.entries} are there")
        for told in walk.notices():
            report.notice(told)
        _check_tail(report, is_shared=isinstance(self.store, PostgresReader))
        return report


Backup = OpenArchive[SqliteReader]


def opened(settings: Settings) -> OpenArchive[SqliteReader | PostgresReader]:
    """Open the archive that the settings name, or raise if there is none."""
    address, folder = postgres_address(settings), data_folder(settings)
    anchor = anchor_file(settings)
    if address is None and not (folder / FILE).exists() and text_of(anchor.path).strip():
        # Not the same as nothing yet: there was a journal, and its database is gone.
        raise FaultError("journal.rolled_back")
    store = SqliteReader(folder) if address is None else PostgresReader(address)
    return OpenArchive(store, anchor=anchor, ring=folder / keys.RING)


def of_backup(folder: Path) -> Backup:
    """Open a backup, which has its anchor and its key ring beside it, or raise if there is none."""
    return OpenArchive(
        SqliteReader(folder), anchor=AnchorFile(folder / ANCHOR), ring=folder / keys.RING
    )


def since(before: str, anchor: AnchorFile, size: int) -> str:
    """Return the checkpoints that came in since, and that a state of that size must hold."""
    try:
        fresh = [note for note in anchor.notes() if note not in before and _size(note) <= size]
    except (MalformedError, ValueError):
        return ""  # the verifier tells what is wrong with the file
    return "".join(f"{note}\n" for note in fresh)


def verify_export(settings: Settings, lines: Iterable[bytes], evidence: Evidence) -> Report:
    """Verify an export; the data folder's anchor and ring count where they are of its journal."""
    notes = _Notes()
    source = iter(lines)
    first = next(source, b"")
    own = _own_evidence(settings, first.partition(b" ")[2].strip().decode("utf-8", "replace"))
    anchors = own.anchors if evidence.anchors is None else evidence.anchors
    ring = own.keys if evidence.keys is None else evidence.keys
    report = verifier.verify(_chained(first, source, notes), anchors=anchors or "", keys=ring or "")
    for told in notes.restored:
        report.notice(told)
    if report.is_good and report.entries and not report.anchored:
        report.notice("no checkpoint was at hand: only the chain was checked")
    return report


def check_receipt(settings: Settings, text: str, ring: str | None) -> ReceiptReport:
    """Check a receipt with the key ring given, or else with the data folder's."""
    given = text_of(data_folder(settings) / keys.RING) if ring is None else ring
    return receipt_checks.check(text, keys=given)


def text_of(path: Path) -> str:
    """Return the text of a file for the verifier, which tells what is wrong with it; or nothing."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        told = (error.strerror or "cannot be read").lower()
        problem = Problem(str(path), "input.unreadable", told)
        raise MalformedError("input.unreadable", [problem]) from None


class _Notes:
    """What entries tell beside the chain: restorations, and erasures of texts."""

    def __init__(self) -> None:
        self.restored: list[str] = []
        self.erased: set[tuple[int, str]] = set()

    def heard(self, position: int, body: bytes) -> None:
        """Take note of an entry, if it tells of something."""
        if b'"kind":"restored"' in body or b'"kind":"erasure"' in body:
            self._read(position, body)

    def _read(self, position: int, body: bytes) -> None:
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            return
        match said:
            case {"kind": "restored", "abandoned": {"size": size, "root": root}, "kept": kept}:
                self.restored.append(
                    f"entry {position} tells that a backup of {kept} entries was put in place of"
                    f" {size}; the checkpoint with the root {root} was abandoned"
                )
            case {"kind": "erasure", "entry": int(entry), "field": str(field)}:
                self.erased.add((entry, field))
            case _:
                pass


class _Walk:
    """The lines of a stored journal for the verifier, with what it cannot see noted beside them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._notes = _Notes()
        self._missing: set[tuple[int, str]] = set()
        self.problems: list[str] = []

    def lines(self, connection: Connection, origin: str, size: int) -> Iterator[bytes]:
        """Yield the lines of an export, up to where the store is damaged."""
        yield export_header(origin)
        after = 0
        while True:
            try:
                found = reading.lines(connection, TENANT, after=after, most=_PAGE)
                self._check_texts(connection, found)
            except FaultError as error:
                if not reading.is_damage(error):
                    raise
                # Somewhere in this page: what can still be read is, to tell where it ends.
                after = yield from self._singly(connection, after)
                self.problems.append(f"the store is damaged behind entry {after}")
                return
            if not found:
                return
            for line in found:
                self._notes.heard(line.position, line.body)
                yield _exported(line)
            after = found[-1].position
            self._progress(after, max(after, size))

    def notices(self) -> list[str]:
        """Return what a reader should know, once the walk is over."""
        gone = sorted(self._missing - self._notes.erased)
        told = [
            f"the text `{field}` of entry {position} is gone, and no entry says that it was erased"
            for position, field in gone
        ]
        return self._notes.restored + told

    def _singly(self, connection: Connection, after: int) -> Generator[bytes, None, int]:
        with contextlib.suppress(FaultError):
            while found := reading.lines(connection, TENANT, after=after, most=1):
                yield _exported(found[0])
                after = found[0].position
        return after

    def _check_texts(self, connection: Connection, found: list[Line]) -> None:
        if not found:
            return
        bodies = {line.position: line.body for line in found}
        first, last = found[0].position, found[-1].position
        kept = reading.texts(connection, TENANT, after=first - 1, upto=last)
        for one in kept:
            digest = Erasable(one.field, one.salt, one.text).digest
            named = f'"{one.field}":{{"sha256":"{digest}"}}'.encode()
            if named not in bodies.get(one.position, b""):
                self.problems.append(
                    f"the text `{one.field}` beside entry {one.position} is not what was written"
                )
        there = {(one.position, one.field) for one in kept}
        named_texts = {
            (line.position, field.decode("ascii"))
            for line in found
            for field in _ERASABLE.findall(line.body)
        }
        self._missing |= named_texts - there


def _check_tail(report: Report, *, is_shared: bool) -> None:
    """Tell of a journal that too little vouches for: where evidence is missing, it is not good."""
    if report.entries and not report.anchored:
        report.problem("no good checkpoint of this journal is at hand: only its own chain fits")
    elif report.unanchored > TAIL_MAX:
        told = f"{report.unanchored} entries lie behind the last checkpoint"
        if is_shared:
            # Each node anchors what it has seen, and one that rests sees nothing.
            report.notice(f"{told}; other nodes may have anchored them elsewhere")
        else:
            report.problem(f"{told}, and a writer leaves no more than {TAIL_MAX}")


def _own_evidence(settings: Settings, origin: str) -> Evidence:
    anchors = text_of(anchor_file(settings).path)
    named = {anchor.origin for anchor in verifier.read_anchors(anchors, lambda _: None)}
    if origin not in named:
        return Evidence(anchors="", keys="")
    return Evidence(anchors=anchors, keys=text_of(data_folder(settings) / keys.RING))


def _chained(first: bytes, rest: Iterator[bytes], notes: _Notes) -> Iterator[bytes]:
    """Yield the lines of one export, or of its parts in order; each part repeats the first line."""
    yield first
    for number, line in enumerate((line for line in rest if line != first), start=1):
        notes.heard(number, line.rstrip(b"\n").split(b" ", 2)[-1])
        yield line


def _exported(line: Line) -> bytes:
    return b"%d %s %s\n" % (line.position, line.hash.encode("utf-8", "replace"), line.body)


def _size(note: str) -> int:
    return checkpoint.read(checkpoint.read_note(note).text).size


def _view(connection: Connection) -> StoreView:
    # Nothing is counted here, so the pulse needs no limits.
    memory = Memory(tenant=TENANT, read_policy=policy_files.from_text, pulse=Pulse({}))
    return StoreView(connection, memory)


def _unheard(_done: int, _total: int) -> None:
    """Hear of progress and do nothing."""
