"""Checking Ed25519 signatures with the standard library alone, after RFC 8032.

For the stand-alone verifier, so that a stranger needs nothing but Python. It only checks, which
needs no secret and so no constant time, and it is strict: a scalar that is not reduced, a point
that is not on the curve and points of small order are refused. It is slow (milliseconds) and meant
for checkpoints, of which there are few.
"""

import hashlib
from functools import lru_cache

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_COFACTOR = 8
KEY_BYTES = 32
SIGNATURE_BYTES = 64

# A point in extended homogeneous coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.
_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


@lru_cache(maxsize=1024)
def is_valid(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the signature is by that key over that message.

    1. Key and signature have their lengths, and the scalar is reduced.
    2. Key and commitment are points of the curve, and not of small order.
    3. The equation of RFC 8032, section 5.1.7 holds.
    """
    # 1
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    # 2
    key, commitment = _point(public_key), _point(signature[:32])
    if scalar >= _ORDER or key is None or commitment is None:
        return False
    if _is_small(key) or _is_small(commitment):
        return False
    # 3
    hashed = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(hashed, "little") % _ORDER
    return _equal(_times(scalar, _BASE), _sum(commitment, _times(challenge, key)))


def _point(encoded: bytes) -> _Point | None:
    """Return the point that 32 bytes encode, or None if there is none."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= _P:
        return None
    x = _x_of(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


def _x_of(y: int, sign: int) -> int | None:
    squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if squared == 0:
        return None if sign else 0
    x = pow(squared, (_P + 3) // 8, _P)
    if (x * x - squared) % _P:
        x = x * _ROOT_OF_MINUS_1 % _P
    if (x * x - squared) % _P:
        return None
    return _P - x if x & 1 != sign else x


def _sum(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _times(factor: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while factor:
        if factor & 1:
            total = _sum(total, point)
        point = _sum(point, point)
        factor >>= 1
    return total


def _equal(one: _Point, other: _Point) -> bool:
    same_x = (one[0] * other[2] - other[0] * one[2]) % _P == 0
    return same_x and (one[1] * other[2] - other[1] * one[2]) % _P == 0


def _is_small(point: _Point) -> bool:
    return _equal(_times(_COFACTOR, point), _NEUTRAL)


def _base() -> _Point:
    y = 4 * pow(5, -1, _P) % _P
    x = _x_of(y, 0) or 0  # it lies on the curve, and not at zero
    return (x, y, 1, x * y % _P)


_BASE = _base()
