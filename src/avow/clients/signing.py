"""The signing key of an agent: records are signed where they are made, and the secret stays there.

Owns what is signed and how it is written into a record. It knows no server: whether the key counts
is decided by the registry of the server, which knows the agent's `did`. The secret appears in no
representation, message or log; on machines that others share see `avow.clients.ed25519`.

Clauses: IRL-6.14.
"""

import base64
import secrets
import time
from typing import Any

from avow.clients import ed25519
from avow.core import canonical, did, signing
from avow.core.errors import MalformedError, Problem

# The groups of a record that the engine computes are never signed, and nor is the signature.
_UNSIGNED = frozenset({"risk", "verdict", "signature"})
_ID_BYTES = 16


class SigningKey:
    """An Ed25519 key of an agent. Register `did` with the agent, and give the key to a client."""

    __slots__ = ("_did", "_secret")

    def __init__(self, secret: bytes) -> None:
        self._secret = bytes(secret)
        self._did = did.of(ed25519.public_key(self._secret))

    @classmethod
    def generate(cls) -> "SigningKey":
        """Return a fresh key, from the entropy of the system."""
        return cls(secrets.token_bytes(ed25519.KEY_BYTES))

    @classmethod
    def from_secret(cls, secret: bytes) -> "SigningKey":
        """Return the key of a secret of 32 bytes, or raise `ValueError`."""
        return cls(secret)

    @property
    def did(self) -> str:
        """Return the name of the public key, as it is registered with an agent."""
        return self._did

    def reveal_secret(self) -> bytes:
        """Return the 32 bytes of the secret, to be kept where only this agent can read them."""
        return self._secret

    def sign(self, record: dict[str, Any], *, signed_ms: int | None = None) -> dict[str, Any]:
        """Return the record with a fresh `signature`, under an id that is used this once.

        An earlier signature is replaced. A signature is accepted once and only for some minutes
        around its time, which is now unless `signed_ms` says otherwise.
        """
        name, seal_id = self._did, secrets.token_hex(_ID_BYTES)
        at_ms = time.time_ns() // 1_000_000 if signed_ms is None else signed_ms
        whole = {key: value for key, value in record.items() if key not in _UNSIGNED}
        message = signing.message(name, seal_id, at_ms, _canonical(whole))
        value = base64.b64encode(ed25519.sign(self._secret, message)).decode("ascii")
        seal = {"did": name, "id": seal_id, "signed_ms": at_ms, "value": value}
        return {**record, "signature": seal}

    def __repr__(self) -> str:
        return f"SigningKey({self._did}, secret=********)"

    def __reduce__(self) -> str:
        # Copied into a pickle, a cache or another process the secret would be in plain sight.
        raise TypeError("a signing key is not pickled: use `reveal_secret` where it must be kept")


def _canonical(whole: dict[str, Any]) -> bytes:
    try:
        return canonical.encode(whole)
    except (ValueError, RecursionError):
        message = "the record holds something that JSON has no one form for"
        problem = Problem("", "declaration.not_json", message)
    raise MalformedError("declaration.unreadable", [problem])
