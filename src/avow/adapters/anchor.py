"""The anchor file: signed checkpoints, one after the other, outside the database.

Put it where whoever can change the database cannot: another disk, another owner, an append-only
mount. Several processes may append. It is thinned now and then, since a later checkpoint proves
everything an earlier one did; the newest thousand stay.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_NEWEST = 1000
_THIN_FROM = 4000
_KEEP_EVERY = 10


class AnchorFile:
    """A file of notes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._appended = 0

    def append(self, note: str) -> None:
        """Keep a note durably, or raise `OSError`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as opened:
            start = opened.seek(0, os.SEEK_END)
            try:
                opened.write(f"{note}\n".encode())
                opened.flush()
                os.fsync(opened.fileno())
            except OSError:
                # Half a note would make the whole file look tampered with.
                with contextlib.suppress(OSError):
                    os.ftruncate(opened.fileno(), start)
                raise
        self._appended += 1
        if self._appended >= _NEWEST:
            self._appended = 0
            self._thin()

    def text(self) -> str:
        """Return all notes; an empty text if there is no file."""
        try:
            # What is no text is no note either, and verification says so.
            return self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def notes(self) -> list[str]:
        """Return the notes, oldest first."""
        # A note ends with a line of signatures, and notes are set apart by a blank line; inside a
        # note one blank line stands between its text and its signatures.
        parts = self.text().split("\n\n")
        return [
            f"{text}\n\n{signed.rstrip()}\n"
            for text, signed in zip(parts[::2], parts[1::2], strict=False)
        ]

    def _thin(self) -> None:
        with self._locked():
            notes = self.notes()
            if len(notes) < _THIN_FROM:
                return
            kept = [*notes[:-_NEWEST:_KEEP_EVERY], *notes[-_NEWEST:]]
            fresh = self.path.with_suffix(".new")
            with fresh.open("wb") as written:
                written.write("".join(f"{note}\n" for note in kept).encode())
                written.flush()
                os.fsync(written.fileno())
            fresh.replace(self.path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        """Open the file and hold it against other processes, also over an exchange of the file."""
        while True:
            with self.path.open("ab") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX)
                if os.fstat(opened.fileno()).st_ino == self.path.stat().st_ino:
                    yield opened
                    return
