"""Ed25519 with the standard library alone, after RFC 8032: checking signatures, and making them.

For the stand-alone verifier, so that a stranger needs nothing but Python. Checking needs no secret
and so no constant time, and it is strict: a scalar that is not reduced, a point that is not on the
curve and points of small order are refused. It is slow (milliseconds) and meant for checkpoints, of
which there are few.

Signing is for agents that hold a key of their own. It is *not* constant-time: whoever can measure
it closely, on a machine that others share, may learn the secret. There a signing service or a
hardware key is the better place. The secret is neither kept nor logged here.

Clauses: IRL-6.14.
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


def sign(secret: bytes, message: bytes) -> bytes:
    """Return the signature of a message by the secret of 32 bytes; see above about shared machines.

    The same secret and message always give the same signature: no randomness is needed or used.
    """
    scalar, prefix = _expanded(secret)
    public = _encoded(_times(scalar, _BASE))
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % _ORDER
    commitment = _encoded(_times(nonce, _BASE))
    hashed = hashlib.sha512(commitment + public + message).digest()
    challenge = int.from_bytes(hashed, "little") % _ORDER
    return commitment + ((nonce + challenge * scalar) % _ORDER).to_bytes(32, "little")


def public_key(secret: bytes) -> bytes:
    """Return the public key that belongs to a secret of 32 bytes."""
    return _encoded(_times(_expanded(secret)[0], _BASE))


def _expanded(secret: bytes) -> tuple[int, bytes]:
    """Return the scalar and the prefix that a secret stands for (section 5.1.5)."""
    if len(secret) != KEY_BYTES:
        raise ValueError(f"the secret of an Ed25519 key has {KEY_BYTES} bytes")
    hashed = hashlib.sha512(secret).digest()
    scalar = int.from_bytes(hashed[:32], "little") & (1 << 254) - _COFACTOR | 1 << 254
    return scalar, hashed[32:]


def _encoded(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


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
