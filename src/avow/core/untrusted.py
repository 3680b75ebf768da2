"""Text that came from an agent, a tool or a stranger: shown, never obeyed.

Owns the one way such text is made visible. `show` is injective: two different texts never look
alike, and nothing invisible, reordering or line-breaking survives it. It does not know any
channel's markup; a channel escapes the result once more in its own way.
"""

import re
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
_ALL_PLAIN = re.compile(r"(?:[!-\[\]-~]+ ?)*\Z")


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
    if _ALL_PLAIN.match(text):
        return text
    shown: list[str] = []
    for index, character in enumerate(text):
        after_space = index > 0 and text[index - 1] == " "
        shown.append(_visible(character, after_space=after_space))
    return "".join(shown)


def _visible(character: str, *, after_space: bool) -> str:
    short = _SHORT.get(character)
    if short is not None:
        return short
    hidden = not character.isprintable() or ord(character) in _DRAWN_AS_NOTHING
    # A run of blanks can push the end of a line out of sight, so only the first one is bare.
    if hidden or (character == " " and after_space):
        return f"\\u{{{ord(character):x}}}"
    return character
