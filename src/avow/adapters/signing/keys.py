"""The keys of a journal, in a folder: one that signs, readable by its owner only, and the ring.

The signing key is read again when its file changes, so that it can be exchanged while a server
runs. It never leaves this module but as a `Signer`, whose text form is stars.
"""

import contextlib
import os
from pathlib import Path

from avow.adapters.signing.signer import Ed25519Signer
from avow.core import keyring
from avow.core.errors import FaultError
from avow.core.keyring import KeyRing

SECRET, RING = "journal.key", "journal.keys"
_SECRET_HEX = 64


class KeyFolder:
    """A data folder, as far as its keys go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[int, int] | None = None
        self._signer: Ed25519Signer | None = None

    @property
    def ring_path(self) -> Path:
        """Return where the public keys stand, to be passed on."""
        return self._folder / RING

    def signer(self) -> Ed25519Signer:
        """Return the key that signs now, or raise `FaultError` if there is none."""
        path = self._folder / SECRET
        try:
            found = path.stat()
            if self._signer is None or self._seen != (found.st_mtime_ns, found.st_ino):
                name, secret = path.read_text(encoding="ascii").split()
                self._signer = Ed25519Signer(name, bytes.fromhex(secret))
                self._seen = (found.st_mtime_ns, found.st_ino)
        except (OSError, ValueError) as error:
            raise FaultError("store.unavailable") from error
        return self._signer

    def exists(self) -> bool:
        """Return whether there is a signing key."""
        return (self._folder / SECRET).exists()

    def ring(self) -> KeyRing:
        """Return the public keys; an empty ring if there are none yet."""
        try:
            return keyring.read(self.ring_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return KeyRing()

    def exchange(self, fresh: Ed25519Signer, secret: bytes, ring: KeyRing) -> None:
        """Put a key in place; the ring goes first, so that no signature ever lacks its key."""
        self._folder.mkdir(parents=True, exist_ok=True)
        replaced(self.ring_path, ring.written().encode("utf-8"), 0o644)
        line = f"{fresh.name} {secret.hex()}\n"
        replaced(self._folder / SECRET, line.encode("ascii"), 0o600)
        self._signer = None


def fresh(name: str, secret: bytes) -> Ed25519Signer:
    """Return the signer of a secret."""
    return Ed25519Signer(name, secret)


def replaced(path: Path, content: bytes, mode: int) -> None:
    """Write a file under another name and put it in place at once, durably."""
    temporary = path.with_name(f"{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
