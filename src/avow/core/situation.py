"""The situation: everything the judge may know about the world at one moment.

Gathered once, before judging; the judge never asks for more. It is a value: the same intent in
the same situation always gets the same verdict.
"""

from dataclasses import dataclass

from avow.core.inventory import EMPTY, Inventory
from avow.core.policy import Policy
from avow.core.rate import Tripped
from avow.core.words import Signature, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known while one intent is judged.

    `registered_trust` is None for an agent nobody registered, which counts as LOW; `tripped`
    names the breakers that are open for it.
    """

    policy: Policy
    registered_trust: Trust | None = None
    signature: Signature = Signature.ABSENT
    inventory: Inventory = EMPTY
    tripped: tuple[Tripped, ...] = ()
