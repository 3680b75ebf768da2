"""Do the peers judge alike? `python -m bench.peers.check` exits 1 when they do not.

A comparison of speed means nothing between engines that answer differently, so every peer is
run on the dangerous and on the harmless record. Peers that list every rule must list the same
rules; a peer that names only one must name one of those; all must reach the same decision.
"""

import sys
from types import ModuleType
from typing import Final

from bench.peers import available, rules
from bench.peers.decision import Decision

# Written down rather than taken from a peer: agreeing on a wrong answer is no agreement.
EXPECTED: Final[dict[str, Decision]] = {
    "record": Decision(
        allowed=False,
        fired=(
            "delete-in-production",
            "irreversible-in-production-below-high-trust",
            "affects-backups",
            "delete-without-rollback",
            "permanent-and-irreversible",
        ),
    ),
    "harmless": Decision(allowed=True, fired=()),
}


def _agrees(peer: ModuleType, got: Decision, want: Decision) -> bool:
    fired, expected = set(got.fired), set(want.fired)
    if peer.LISTS_ALL:
        same = fired == expected
    else:
        # One of the rules when there are any, none when there are none.
        same = fired <= expected and bool(fired) == bool(expected)
    return same and got.allowed == want.allowed


def main() -> int:
    """Run every peer on both records and print what each said."""
    bodies = {"record": rules.record(), "harmless": rules.harmless()}
    failures = 0
    for peer in available():
        judge = peer.build()
        for name, want in EXPECTED.items():
            got = judge(bodies[name])
            ok = _agrees(peer, got, want)
            failures += not ok
            verdict = "allow" if got.allowed else "deny"
            listed = ", ".join(got.fired) or "-"
            mark = "ok " if ok else "BAD"
            print(f"{mark} {peer.NAME:<11} {peer.VERSION:<14} {name:<9} {verdict:<6} {listed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
