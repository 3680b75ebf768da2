"""did:key: one name for one key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import did
from avow.core.errors import MalformedError

# From the did:key specification's Ed25519 test vectors: the name of a published key.
NAME = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
KEY = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"


@pytest.mark.clause("IRL-6.14")
def test_the_published_name():
    """A published key has its published name, in both directions."""
    assert did.of(bytes.fromhex(KEY)) == NAME
    assert did.key(NAME).hex() == KEY


@given(st.binary(min_size=32, max_size=32))
def test_there_and_back(key):
    """Every key is found again under its name, leading zeros included."""
    assert did.key(did.of(key)) == key


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "did:key:z",
        "did:web:example.com",
        NAME[:-1],
        NAME + "1",
        NAME.replace("did:key:z", "did:key:z1"),
        NAME.replace("6Mk", "6Ml"),
        NAME.replace("T", "0"),
        NAME.upper(),
        "did:key:z" + "z" * 5000,
        "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
    ],
)
def test_anything_else_is_refused(wrong):
    """Other methods, other kinds of keys, other spellings and junk are malformed."""
    with pytest.raises(MalformedError):
        did.key(wrong)


def test_a_key_of_another_length_is_our_own_bug():
    """Only keys of 32 bytes have a name."""
    with pytest.raises(AssertionError):
        did.of(b"short")
