"""The Merkle tree of RFC 6962 over the journal's entries: roots, proofs, and checking them.

Owns the tree's arithmetic. A `Frontier` is all a writer keeps: the roots of the complete subtrees
on the right edge, one for each bit of the size. Proofs are made from a function that fetches the
root of a complete aligned subtree, so where those are stored is somebody else's business.

Clauses: IRL-6.03.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

EMPTY_ROOT = hashlib.sha256(b"").digest()

# Gives the root of the complete subtree of 2^level leaves that starts at leaf index * 2^level.
Fetch = Callable[[int, int], bytes]


def leaf(data: bytes) -> bytes:
    """Return the hash of one leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Node(NamedTuple):
    """The root of a complete subtree: 2^level leaves, the `place`-th of its level."""

    level: int
    place: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Frontier:
    """The right edge of a tree: `roots` from the largest complete subtree to the smallest."""

    size: int = 0
    roots: tuple[bytes, ...] = ()

    def append(self, leaf_hash: bytes) -> "Frontier":
        """Return the frontier with one more leaf."""
        return self.grown(leaf_hash)[0]

    def grown(self, leaf_hash: bytes) -> "tuple[Frontier, tuple[Node, ...]]":
        """Return the frontier with one more leaf, and the nodes that this leaf completed."""
        roots, rest, value = list(self.roots), self.size, leaf_hash
        completed: list[Node] = []
        while rest & 1:
            value, rest = node(roots.pop(), value), rest >> 1
            completed.append(Node(len(completed) + 1, rest, value))
        return Frontier(self.size + 1, (*roots, value)), tuple(completed)

    def root(self) -> bytes:
        """Return the root of the whole tree."""
        if not self.roots:
            return EMPTY_ROOT
        *rest, root = self.roots
        for left in reversed(rest):
            root = node(left, root)
        return root


def root_of(start: int, end: int, fetch: Fetch) -> bytes:
    """Return the root over the leaves from `start` up to but not including `end`."""
    size = end - start
    if size & (size - 1) == 0 and start % size == 0:
        return fetch(size.bit_length() - 1, start // size)
    split = start + _largest_power_below(size)
    return node(root_of(start, split, fetch), root_of(split, end, fetch))


def inclusion(index: int, size: int, fetch: Fetch) -> tuple[bytes, ...]:
    """Return the audit path of one leaf in the tree of that size, from the leaf upward."""
    if not 0 <= index < size:
        raise AssertionError("the leaf lies outside the tree")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        split = start + _largest_power_below(end - start)
        if index < split:
            path.append(root_of(split, end, fetch))
            end = split
        else:
            path.append(root_of(start, split, fetch))
            start = split
    return tuple(reversed(path))


def consistency(first: int, second: int, fetch: Fetch) -> tuple[bytes, ...]:
    """Return the proof that the tree of size `first` is the beginning of the one of `second`."""
    if not 0 < first <= second:
        raise AssertionError("the first tree is not inside the second")
    path: list[bytes] = []
    start, end, whole = 0, second, True
    while end != first:
        split = start + _largest_power_below(end - start)
        if first <= split:
            path.append(root_of(split, end, fetch))
            end = split
        else:
            path.append(root_of(start, split, fetch))
            start, whole = split, False
    if not whole:
        path.append(root_of(start, end, fetch))
    return tuple(reversed(path))


def includes(
    leaf_hash: bytes, *, index: int, size: int, path: tuple[bytes, ...], root: bytes
) -> bool:
    """Return whether the path proves that the leaf stands at `index` in the tree of that root.

    1. The index lies inside the tree.
    2. Walking up the path, with as many steps as the tree has levels there, gives the root.
    """
    if not 0 <= index < size:
        return False
    sides = _sides(index, size - 1, len(path))
    if sides is None:
        return False
    here = leaf_hash
    for sibling, is_left in zip(path, sides, strict=True):
        here = node(sibling, here) if is_left else node(here, sibling)
    return here == root


def extends(
    *, first: int, second: int, first_root: bytes, second_root: bytes, path: tuple[bytes, ...]
) -> bool:
    """Return whether the path proves that the second tree only adds to the first.

    1. Equal sizes need equal roots and no path; an empty first tree is part of anything.
    2. Otherwise the path, walked up, gives both roots at once.
    """
    if not 0 <= first <= second:
        return False
    if first == second:
        return not path and first_root == second_root
    if first == 0 or not path:
        return first == 0 and not path
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    # A first tree that is one complete subtree is its own starting point.
    start, *siblings = path if at else (first_root, *path)
    sides = _sides(at, last, len(siblings))
    if sides is None:
        return False
    old = new = start
    for sibling, is_left in zip(siblings, sides, strict=True):
        old = node(sibling, old) if is_left else old
        new = node(sibling, new) if is_left else node(new, sibling)
    return old == first_root and new == second_root


def _sides(at: int, last: int, steps: int) -> list[bool] | None:
    """Return for each step upward whether the sibling stands on the left.

    `at` is where the walk starts and `last` the end of that level; None if the walk does not end
    at the root after exactly that many steps.
    """
    sides = []
    for _ in range(steps):
        if last == 0:
            return None
        is_left = bool(at & 1) or at == last
        sides.append(is_left)
        while is_left and at and not at & 1:
            at, last = at >> 1, last >> 1
        at, last = at >> 1, last >> 1
    return sides if last == 0 else None


def _largest_power_below(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)
