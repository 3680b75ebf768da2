"""The contract of `Signer`."""

from avow.adapters.signing import signer
from avow.adapters.signing.signer import Ed25519Signer


def test_a_good_signature_checks_and_a_bent_one_does_not():
    """What a key signed checks with its public key, and with nothing changed."""
    key = Ed25519Signer("name", b"s" * 32)
    signature = key.sign(b"message")
    assert signer.is_valid(key.public_key, b"message", signature)
    assert not signer.is_valid(key.public_key, b"massage", signature)
    assert not signer.is_valid(key.public_key, b"message", signature[::-1])
    assert not signer.is_valid(key.public_key[:5], b"message", signature)
    assert not signer.is_valid(Ed25519Signer("name", b"t" * 32).public_key, b"message", signature)


def test_the_secret_is_never_shown():
    """Neither text form of a signer holds its secret."""
    key = Ed25519Signer("name", b"secret-secret-secret-secret-1234")
    assert "secret" not in repr(key)
    assert "secret" not in str(key)
    assert Ed25519Signer.generate("a").public_key != Ed25519Signer.generate("a").public_key
