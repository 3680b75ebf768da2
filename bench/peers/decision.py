"""What every peer answers, whatever its own result type looks like."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the operation may go ahead, and which forbid rules said no.

    `fired` holds forbid rules only, never the permit, and its order means nothing: Cedar
    gives its reasons as a set. A peer whose `LISTS_ALL` is false names at most one rule.
    """

    allowed: bool
    fired: tuple[str, ...]
