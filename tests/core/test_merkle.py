"""The Merkle tree against the text of RFC 6962, transcribed naively."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import merkle
from avow.core.merkle import Frontier

# Roots of the well-known test tree of the Certificate Transparency code base.
KNOWN_LEAVES = [bytes.fromhex(h) for h in ("", "00", "10", "2021", "3031", "40414243")]
KNOWN_LEAVES += [bytes.fromhex(h) for h in ("5051525354555657", "606162636465666768696a6b6c6d6e6f")]
KNOWN_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def naive(leaves):
    """MTH of RFC 6962, section 2.1, to the letter."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + naive(leaves[:k]) + naive(leaves[k:])).digest()


def leaves(count):
    return [str(number).encode() for number in range(count)]


def fetcher(data):
    def fetch(level, index):
        width = 1 << level
        assert (index + 1) * width <= len(data), "an incomplete subtree was asked for"
        return naive(data[index * width : (index + 1) * width])

    return fetch


def frontier(data):
    grown = Frontier()
    for one in data:
        grown = grown.append(merkle.leaf(one))
    return grown


@pytest.mark.clause("IRL-6.03")
def test_known_roots():
    """The roots of the published test tree, at every size."""
    for size, root in enumerate(KNOWN_ROOTS, start=1):
        assert frontier(KNOWN_LEAVES[:size]).root().hex() == root
    assert Frontier().root() == merkle.EMPTY_ROOT


def test_frontier_and_ranges_agree_with_the_text():
    """At every size up to 70 the frontier and the recursive root are the RFC's."""
    for size in range(1, 70):
        data = leaves(size)
        assert frontier(data).root() == naive(data)
        assert merkle.root_of(0, size, fetcher(data)) == naive(data)
        assert frontier(data).size == size


def test_every_inclusion_proof_up_to_forty_leaves():
    """Each leaf of each tree is proven at its place, and at no other."""
    for size in range(1, 41):
        data = leaves(size)
        root, fetch = naive(data), fetcher(data)
        for index in range(size):
            path = merkle.inclusion(index, size, fetch)
            leaf = merkle.leaf(data[index])
            assert merkle.includes(leaf, index=index, size=size, path=path, root=root)
            for other in range(size):
                if other != index:
                    assert not merkle.includes(leaf, index=other, size=size, path=path, root=root)


def test_every_consistency_proof_up_to_forty_leaves():
    """Each smaller tree is proven to be the beginning of each larger one."""
    for second in range(1, 41):
        data = leaves(second)
        for first in range(1, second + 1):
            path = merkle.consistency(first, second, fetcher(data))
            roots = {"first_root": naive(data[:first]), "second_root": naive(data)}
            assert merkle.extends(first=first, second=second, path=path, **roots)
            if first < second:
                wrong = {**roots, "first_root": naive([b"x", *data[1:first]])}
                assert not merkle.extends(first=first, second=second, path=path, **wrong)
                wrong = {**roots, "second_root": naive([*data[:-1], b"x"])}
                assert not merkle.extends(first=first, second=second, path=path, **wrong)


@given(st.integers(1, 200), st.data())
def test_a_bent_proof_proves_nothing(size, data):
    """Dropping, adding, changing or swapping elements of a proof makes it worthless."""
    content = leaves(size)
    index = data.draw(st.integers(0, size - 1))
    root = naive(content)
    path = merkle.inclusion(index, size, fetcher(content))
    leaf = merkle.leaf(content[index])
    bent = [(*path, leaf), (leaf, *path), path[:-1], path[1:], path[::-1]]
    if path:
        at = data.draw(st.integers(0, len(path) - 1))
        bent += [path[:at] + path[at + 1 :], (*path[:at], leaf, *path[at + 1 :])]
    for wrong in bent:
        if wrong != path:
            assert not merkle.includes(leaf, index=index, size=size, path=wrong, root=root)
    assert not merkle.includes(merkle.leaf(b"x"), index=index, size=size, path=path, root=root)


@given(st.integers(2, 120), st.data())
def test_a_bent_consistency_proof_proves_nothing(second, data):
    """The same for consistency: middle elements cannot be dropped."""
    content = leaves(second)
    first = data.draw(st.integers(1, second - 1))
    path = merkle.consistency(first, second, fetcher(content))
    roots = {"first_root": naive(content[:first]), "second_root": naive(content)}
    at = data.draw(st.integers(0, len(path) - 1))
    for wrong in (
        path[:at] + path[at + 1 :],
        (*path, path[0]),
        (*path[:at], b"x" * 32, *path[at + 1 :]),
    ):
        assert not merkle.extends(first=first, second=second, path=wrong, **roots)


def test_the_edges():
    """Outside the tree nothing is proven; equal trees need no path; an empty tree begins all."""
    root = naive(leaves(3))
    leaf = merkle.leaf(b"0")
    assert not merkle.includes(leaf, index=3, size=3, path=(), root=root)
    assert not merkle.includes(leaf, index=-1, size=3, path=(), root=root)
    same = {"first_root": root, "second_root": root}
    assert merkle.extends(first=3, second=3, path=(), **same)
    assert not merkle.extends(first=3, second=3, path=(root,), **same)
    assert merkle.extends(first=0, second=3, path=(), first_root=b"", second_root=root)
    assert not merkle.extends(first=0, second=3, path=(root,), first_root=b"", second_root=root)
    assert not merkle.extends(first=4, second=3, path=(), **same)
    assert not merkle.extends(first=3, second=4, path=(), **same)
    with pytest.raises(AssertionError):
        merkle.inclusion(3, 3, fetcher(leaves(3)))
    with pytest.raises(AssertionError):
        merkle.consistency(0, 3, fetcher(leaves(3)))
