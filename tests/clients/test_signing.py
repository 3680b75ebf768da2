"""Signing where the record is made: Ed25519 by our own arithmetic, and the key of an agent."""

import base64
import copy
import pickle

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import avow
from avow.clients import ed25519
from avow.core import canonical, did, signing
from avow.dialects.irl import lower
from tests.records import record

# RFC 8032, section 7.1: secret, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_the_published_vectors(secret, public, message, signature):
    """The examples of RFC 8032 come out byte for byte."""
    key, text = bytes.fromhex(secret), bytes.fromhex(message)
    assert ed25519.public_key(key).hex() == public
    assert ed25519.sign(key, text).hex() == signature
    assert ed25519.is_valid(bytes.fromhex(public), text, bytes.fromhex(signature))


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_another_library_signs_alike(secret, message):
    """Keys and signatures are those that the library of the server makes of the same secret."""
    other = Ed25519PrivateKey.from_private_bytes(secret)
    assert ed25519.public_key(secret) == other.public_key().public_bytes_raw()
    assert ed25519.sign(secret, message) == other.sign(message)


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_secret_of_another_length_is_refused(size):
    """Nothing is signed with a secret that is none, and the refusal does not quote it."""
    secret = b"s" * size
    for refused in (
        lambda: ed25519.sign(secret, b""),
        lambda: ed25519.public_key(secret),
        lambda: avow.SigningKey.from_secret(secret),
    ):
        with pytest.raises(ValueError, match="32 bytes") as caught:
            refused()
        assert "sss" not in str(caught.value)


def test_what_is_signed_is_what_the_server_checks():
    """The record of a key lowers to a seal whose message the key's own did verifies."""
    key = avow.SigningKey.generate()
    declared = {**record(), "x_note": ["é", 1.0, 2], "risk": 3, "verdict": {"a": 1}}
    signed = key.sign(declared, signed_ms=1000)
    seal = lower.read(signed).seal
    assert (seal.did, seal.signed_ms) == (key.did, 1000)
    whole = {name: value for name, value in declared.items() if name not in ("risk", "verdict")}
    message = signing.message(key.did, seal.id, 1000, canonical.encode(whole))
    assert seal.message == message
    assert ed25519.is_valid(did.key(key.did), message, seal.value)
    assert base64.b64decode(signed["signature"]["value"]) == seal.value
    assert "signature" not in declared


def test_every_signature_has_an_id_of_its_own():
    """Signed twice a record has two ids, and the second signature covers what the first did."""
    key = avow.SigningKey.generate()
    once = key.sign(record())
    again = key.sign(once)
    assert once["signature"]["id"] != again["signature"]["id"]
    assert lower.read(once).seal.document == lower.read(again).seal.document


def test_the_secret_stays_where_it_is():
    """Neither a representation nor a pickle nor a copy shows it; asked for by name it is given."""
    secret = bytes(range(32))
    key = avow.SigningKey.from_secret(secret)
    assert key.reveal_secret() == secret
    assert repr(key) == str(key) == f"SigningKey({key.did}, secret=********)"
    assert secret.hex() not in repr(key)
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(key)


@pytest.mark.parametrize("odd", [float("nan"), 2**60, "\ud800", {1, 2}, {1: 2}])
def test_what_has_no_one_form_is_not_signed(odd):
    """A value that JSON spells in no or in two ways is malformed before anything is signed."""
    with pytest.raises(avow.MalformedError):
        avow.SigningKey.generate().sign({**record(), "x_odd": odd})


def test_an_endless_record_is_not_signed():
    """A structure without an end is refused, not followed."""
    endless = record()
    endless["x_self"] = endless
    with pytest.raises(avow.MalformedError):
        avow.SigningKey.generate().sign(endless)
