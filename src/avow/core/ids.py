"""Identifiers: ULIDs made from a time and entropy that the caller brings.

Owns the alphabet and the layout (48 bits of milliseconds, 80 bits of entropy, Crockford base 32,
26 characters). Knows no clock and no random source.
"""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(120, -1, -10)
ENTROPY_BYTES = 10


def ulid(now_ms: int, entropy: bytes) -> str:
    """Return the ULID of a moment; the same arguments always give the same id."""
    if not 0 <= now_ms < 1 << 48 or len(entropy) != ENTROPY_BYTES:
        raise AssertionError("a ULID takes 48 bits of time and 80 bits of entropy")
    number = (now_ms << 80) | int.from_bytes(entropy)
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


def verdict_id(now_ms: int, entropy: bytes) -> str:
    """Return an id for one verdict."""
    return f"ver_{ulid(now_ms, entropy)}"
