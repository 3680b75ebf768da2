"""did:key identifiers of Ed25519 keys: a public key written as a name.

Owns the spelling (base58 with the Bitcoin alphabet, multicodec 0xed01) in both directions. There is
exactly one spelling for a key; anything else is refused. Whether a key is known is the registry's.

Clauses: IRL-6.14.
"""

from avow.core.errors import MalformedError, Problem

_PREFIX = "did:key:z"
_ED25519 = b"\xed\x01"
_KEY_BYTES = 32
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_LENGTH_MAX = 64


def of(public_key: bytes) -> str:
    """Return the identifier of a key."""
    if len(public_key) != _KEY_BYTES:
        raise AssertionError("an Ed25519 key has 32 bytes")
    return _PREFIX + _base58(_ED25519 + public_key)


def key(did: str) -> bytes:
    """Return the public key that an identifier names, or raise."""
    encoded = did.removeprefix(_PREFIX)
    known = all(character in _VALUES for character in encoded)
    if not did.startswith(_PREFIX) or not known or len(encoded) > _LENGTH_MAX:
        raise _malformed(did)
    number = 0
    for character in encoded:
        number = number * 58 + _VALUES[character]
    decoded = number.to_bytes((number.bit_length() + 7) // 8)
    public_key = decoded.removeprefix(_ED25519)
    # Written again it must be the same text, or one key would have two names.
    if len(public_key) != _KEY_BYTES or _PREFIX + _base58(_ED25519 + public_key) != did:
        raise _malformed(did)
    return public_key


def _base58(data: bytes) -> str:
    number, digits = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        digits = _ALPHABET[digit] + digits
    return digits


def _malformed(did: str) -> MalformedError:
    message = f"`{did[:80]}` is not the did:key of an Ed25519 key"
    return MalformedError("identity.invalid", [Problem("", "identity.invalid", message)])
