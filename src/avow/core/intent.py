"""The intent: the one internal form of everything that is declared, sealed by a digest.

The digest covers meaning: agent, goal, effects, claims, the text that would run and extension
fields. It leaves out the session, the order and spacing of the source, the signature, and every
fill-in, so two spellings of one meaning have one digest.

Clauses: IRL-2.16.
"""

from dataclasses import dataclass

from avow.core import canonical, codec
from avow.core.declaration import Declaration
from avow.core.words import Inspection

DIGEST_DOMAIN = "avow-intent-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A sealed declaration; an intent that exists has a digest that fits it."""

    declaration: Declaration
    inspection: Inspection
    digest: str
    source_digest: str


def seal(
    declaration: Declaration,
    *,
    source_digest: str,
    inspection: Inspection | None = None,
) -> Intent:
    """Return the intent of a declaration.

    Without an observer, a declaration that carries runnable text is uninspectable.
    """
    if inspection is None:
        carries_text = bool(declaration.runnable)
        inspection = Inspection.UNINSPECTABLE if carries_text else Inspection.NOTHING
    meaning = codec.meaning(declaration).encode("utf-8")
    return Intent(
        declaration=declaration,
        inspection=inspection,
        digest=canonical.digest(DIGEST_DOMAIN, meaning),
        source_digest=source_digest,
    )
