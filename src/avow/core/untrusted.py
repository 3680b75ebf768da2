"""Text that came from an agent, a tool or a stranger: shown, never obeyed.

Owns the one way such text is made visible. `show` is injective: two different texts never come out
the same, and nothing invisible, reordering or line-breaking survives it. Letters that merely look
alike stay what they are. It does not know any channel's markup; a channel escapes once more.
"""

import unicodedata
from dataclasses import dataclass

# Printable by Unicode category, yet drawn as nothing or as blank: variation selectors, fillers,
# the combining grapheme joiner, the braille blank.
_DRAWN_AS_NOTHING = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    ]
)
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A text whose author is not trusted; `str()` gives the visible form, `raw` the bytes kept."""

    raw: str = ""

    def __str__(self) -> str:
        return show(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)


def show(text: str) -> str:
    r"""Return `text` with everything that cannot be seen written out, as in `\u{200b}`."""
    if text.isascii() and text.isprintable() and "  " not in text and "\\" not in text:
        return text
    return "".join(map(_visible, text, f"x{text}"))


def _visible(character: str, before: str) -> str:
    """Return one character as it is shown after the one before it."""
    short = _SHORT.get(character)
    if short is not None:
        return short
    hidden = not character.isprintable() or ord(character) in _DRAWN_AS_NOTHING
    # A run of blanks pushes the end of a line out of sight, and a pile of accents covers the lines
    # above and below: only the first of each is bare.
    piled = character == " " == before
    piled = piled or (unicodedata.combining(character) and unicodedata.combining(before)) != 0
    return f"\\u{{{ord(character):x}}}" if hidden or piled else character
