"""What an effect touches: scheme, authority and path segments, compared as segments.

Owns the canonical form `SCHEME:/segment/segment` or `SCHEME://authority/segment`, equality and
ancestry. It knows no scheme's meaning and never compares prefixes of strings, which is how
`/data` and `/data-old` come to be taken for parent and child.

Clauses: IRL-2.06.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

UNNAMED_SCHEME = "RESOURCE"
_NOWHERE = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class Resource:
    """One named thing; two spellings of the same thing are equal."""

    scheme: str
    authority: str
    segments: tuple[str, ...]

    def __str__(self) -> str:
        authority = f"//{self.authority}" if self.authority else ""
        return f"{self.scheme}:{authority}/{'/'.join(self.segments)}"

    @property
    def is_broad(self) -> bool:
        """Return whether this names a root or a wildcard, so more than one thing."""
        named = (self.authority, *self.segments)
        return not any(named) or any("*" in part for part in named)

    def and_above(self) -> Iterator["Resource"]:
        """Yield this resource and everything above it, up to the root of its scheme."""
        for length in range(len(self.segments), -1, -1):
            yield Resource(self.scheme, self.authority, self.segments[:length])

    def contains(self, other: "Resource") -> bool:
        """Return whether `other` is this resource or lies below it."""
        return (
            self.scheme == other.scheme
            and self.authority == other.authority
            and self.segments == other.segments[: len(self.segments)]
        )


def read(text: str) -> Resource:
    """Return the resource that a free target text names, as `volume:prod-db-main` does.

    Total: every text names something. Empty and `.` segments and outer blanks vanish, `..` removes
    its parent and never climbs above the root, schemes and authorities do not depend on letter
    case, and the text is brought to Unicode form C. Without a scheme it gets the scheme RESOURCE.
    """
    text = unicodedata.normalize("NFC", text).strip()
    scheme, colon, rest = text.partition(":")
    if not colon or not scheme or "/" in scheme:
        scheme, rest = UNNAMED_SCHEME, text.lstrip(":")
    authority = ""
    if rest.startswith("//"):
        authority, _, rest = rest[2:].partition("/")
    authority = "" if authority.strip() in _NOWHERE else authority.strip().lower()
    return Resource(scheme.strip().upper(), authority, _walked(rest))


def _walked(path: str) -> tuple[str, ...]:
    segments: list[str] = []
    for segment in path.split("/"):
        name = segment.strip()
        if name == "..":
            del segments[-1:]
        elif name not in _NOWHERE:
            segments.append(name)
    return tuple(segments)
