"""Journals for tests, written with the product's own code, and ways to tamper with them."""

import json
import random

from avow.adapters.signing.signer import Ed25519Signer
from avow.core import checkpoint, journal, keyring, merkle
from avow.core.checkpoint import Checkpoint, Note, Signed
from avow.core.keyring import KeyRing

ORIGIN = "avow.example/main"
SIGNER = Ed25519Signer("avow.example", b"k" * 32)
NEXT = Ed25519Signer("avow.example", b"n" * 32)


def ring(*signers, stolen=None, at=0):
    """Return the text of a ring to which these keys were rotated, one perhaps compromised."""
    made = KeyRing()
    for signer in signers:
        made = keyring.rotated(made, name=signer.name, public=signer.public_key)
    if stolen is not None:
        made = keyring.compromised(made, public=stolen.public_key, size=at)
    return made.written()


KEYS = ring(SIGNER)


def contents(count):
    return [{"kind": "verdict", "at": number, "note": f"entry {number}"} for number in range(count)]


def written(listed):
    """Return the export lines of these contents, linked."""
    lines, previous = [journal.export_header(ORIGIN)], journal.GENESIS
    for position, content in enumerate(listed, start=1):
        entry = journal.link(position, previous, content)
        lines.append(journal.exported(entry))
        previous = entry.hash
    return lines


def anchor(lines, size, signer=SIGNER, origin=ORIGIN, also=()):
    """Return a signed checkpoint over the first entries of an export."""
    hashes = [line.split(b" ", 2)[1].decode() for line in lines[1 : size + 1]]
    frontier = merkle.Frontier()
    for one in hashes:
        frontier = frontier.append(merkle.leaf(bytes.fromhex(one)))
    head = hashes[-1] if hashes else journal.GENESIS
    return noted(Checkpoint(origin, size, frontier.root(), head, 5), signer, *also)


def noted(named, *signers):
    """Return a checkpoint as a note with these signatures, whatever it names."""
    text = named.text()
    signed = [
        Signed(one.name, checkpoint.key_id(one.name, one.public_key), one.sign(text.encode()))
        for one in signers
    ]
    return Note(text, tuple(signed)).written()


def fetcher(lines):
    """Return what makes proofs over an export."""
    leaves = [merkle.leaf(bytes.fromhex(line.split(b" ", 2)[1].decode())) for line in lines[1:]]

    def fetch(level, place):
        if level == 0:
            return leaves[place]
        return merkle.node(fetch(level - 1, place * 2), fetch(level - 1, place * 2 + 1))

    return fetch


def tampered(lines, source: random.Random):
    """Return the export tampered with in a random way, and the first position that was touched."""
    body, count = list(lines[1:]), len(lines) - 1
    at = source.randrange(count)
    match source.randrange(8):
        case 0:  # a byte of a body
            position, hashed, text = body[at].split(b" ", 2)
            spot = source.randrange(len(text) - 1)
            text = text[:spot] + bytes([text[spot] ^ (1 << source.randrange(7))]) + text[spot + 1 :]
            body[at] = b" ".join([position, hashed, text])
        case 1:  # a byte of a hash
            position, hashed, text = body[at].split(b" ", 2)
            spot = source.randrange(64)
            other = b"0" if hashed[spot : spot + 1] != b"0" else b"1"
            body[at] = b" ".join([position, hashed[:spot] + other + hashed[spot + 1 :], text])
        case 2:  # an entry is gone
            del body[at]
            if at == count - 1:
                return [lines[0], *body], count
        case 3:  # an entry twice
            body.insert(at, body[at])
        case 4:  # two entries in another order
            other = source.choice([n for n in range(count) if n != at])
            body[at], body[other] = body[other], body[at]
            at = min(at, other)
        case 5:  # the end is cut off
            body = body[:at]
        case 6:  # an entry nobody made, with every hash behind it made to fit
            listed = contents(count)
            listed.insert(at, {"kind": "verdict", "note": "nobody made it"})
            body = written(listed)[1:]
        case _:  # all rewritten from there, with every hash made to fit
            listed = contents(count)
            listed[at]["note"] = "another story"
            body = written(listed)[1:]
    return [lines[0], *body], at + 1


def parsed(line):
    return json.loads(line.split(b" ", 2)[2])
