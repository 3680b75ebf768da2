"""Ed25519 keys, behind the port `Signer`.

Wraps `cryptography`; its errors end here. A private key is never printed: its text form is stars.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


class Ed25519Signer:
    """A key with a name, as it stands on signed notes."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.name = name
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def generate(cls, name: str) -> "Ed25519Signer":
        """Return a fresh key."""
        raw = Ed25519PrivateKey.generate().private_bytes(
            Encoding.Raw, PrivateFormat.Raw, NoEncryption()
        )
        return cls(name, raw)

    def __repr__(self) -> str:
        return f"Ed25519Signer({self.name!r}, ****)"

    @property
    def public_key(self) -> bytes:
        """Return the 32 bytes of the public key."""
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes) -> bytes:
        """Return the signature over a message."""
        return self._key.sign(message)


def is_valid(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the signature is by that key over that message; never raises."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
